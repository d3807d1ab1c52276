// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_REFLECTOR_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_REFLECTOR_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ratelimit/jitter.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/source.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// Reflector
//
// The base of an informer, and its loop: lists, watches, watches again after a
// break, and lists again if that is not possible. It follows the Reflector of
// client-go's tools/cache. It knows no objects: see `ListerWatcher` for the
// meaning of versions and errors.
//
// A watch that ends or breaks is begun again at once, as in client-go: the
// server has accepted it. But if that was within a second and the version is
// still the same, it counts as an error, so that such a server is not asked
// without a pause. client-go asks again at once if there was any event, also a
// repeated one. And no more than ten watches are begun again at once, and then
// five per second, which is how often client-go's client sends requests.
//
// `Informer` documents `Start()`, `Stop()`, `HasSynced()`, `AwaitSync()` and
// `Healthy()`.
//
// Thread-safe. Does not throw.
class Reflector {
 public:
  // `name` is the informer's name. `jitter` varies the delays of `backoff`.
  // `log_sink` may be null. `clock` and `log_sink` must outlive the object.
  Reflector(absl::string_view name, Clock* clock, LogSink* log_sink,
            const RestartBackoff& backoff, std::unique_ptr<Jitter> jitter);

  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  absl::Status Start();
  void Stop();
  bool HasSynced() const;
  bool AwaitSync(absl::Duration timeout) const;
  absl::Status Healthy() const;

  const std::string& name() const { return name_; }

  // The log of the informer's errors.
  ErrorLog& errors() { return errors_; }

  // Makes a thread call `TellAgain()` a second later, unless the reflector has
  // been stopped.
  void TellAgainLater();

 protected:
  // The derived class calls `Stop()` before it is destroyed.
  ~Reflector() = default;

 private:
  // Lists all objects and hands them over. `*version` is the least version of
  // the list, and becomes that of what has been handed over, also if there is
  // an error: empty if only the newest state is certainly not older.
  virtual absl::Status List(std::string* version) = 0;

  // Begins to watch.
  virtual absl::Status BeginWatch(const std::string& version) = 0;

  // Waits for the next event, and hands it over. Returns the version after the
  // event, or nothing if the watch has ended.
  virtual absl::StatusOr<std::optional<std::string>> Next() = 0;

  // Makes the functions above return. Called from another thread.
  virtual void Interrupt() = 0;

  // Tells the handlers of a change of `Healthy()`. Does not throw.
  virtual void OnHealth() = 0;

  // Makes the calls of handlers that must be made again. Does not throw.
  virtual void TellAgain() = 0;

  // The functions of the threads.
  void Run();
  void RunTellAgain();

  // Lists, if necessary, and watches until there is an error. Returns it.
  absl::Status ListAndWatch();

  // Watches until the watch has ended or broken. Returns OK if it can be begun
  // again at once, and otherwise an error.
  absl::Status Watch();

  // Returns whether the error of a watch means that the objects must be listed
  // again.
  static bool MustList(const absl::Status& error);

  // Logs `error` and what the reflector does next, and is unhealthy.
  void Report(const absl::Status& error, absl::string_view next);

  void SetHealth(const absl::Status& status);

  // Blocks until `d` has passed or the stop has begun.
  void Sleep(absl::Duration d);

  const std::string name_;
  Clock* const clock_;
  ErrorLog errors_;
  const RestartBackoff backoff_;
  const std::unique_ptr<Jitter> jitter_;

  mutable sync::Mutex mu_;
  sync::Notification stopping_;  // notified under mu_
  bool synced_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status health_ ABSL_GUARDED_BY(mu_);
  bool must_tell_again_ ABSL_GUARDED_BY(mu_) = false;

  // The next four are used by the thread alone. The version from which to
  // watch or, if the objects must be listed first, the least version of the
  // list.
  std::string version_;
  bool must_list_ = true;
  RestartDelays delays_;
  // Limits how often a watch is begun again at once.
  const std::unique_ptr<TokenBucket> rewatches_;

  sync::Mutex thread_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  WorkerPool thread_ ABSL_GUARDED_BY(thread_mu_);
  // Started when it is first needed.
  WorkerPool telling_thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_REFLECTOR_H_
