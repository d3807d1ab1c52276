// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_REDIS_ENGINE_H_
#define WORKQUEUE_SHARED_INTERNAL_REDIS_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_connector.h"
#include "workqueue/redis/redis_listener.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// RedisEngine
//
// A queue in a server of Valkey or Redis. It has two connections: one for
// requests, each of which is one call of a script, and one that listens to the
// server's messages, on a thread of its own. A connection that breaks is made
// again: that of the requests by the next request. The other one is always to
// the same server: when requests have found another, it follows them.
//
// Thread-safe.
class RedisEngine final : public Engine {
 public:
  // The engine of a queue, or of one of its `partitions`, with the hash tag
  // `name`. `options` must be plain. Does not connect.
  RedisEngine(absl::string_view name, size_t partitions, RedisOptions options);
  ~RedisEngine() override;

  absl::StatusOr<EngineReply> Apply(const EngineRequest& request,
                                    absl::Time deadline) override;
  absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const EngineSnapshotRequest& request, absl::Time deadline) override;
  absl::Status Listen(EngineListener* listener, absl::Time deadline) override;
  void StopListening() override;
  absl::StatusOr<EngineSettings> CheckSettings(absl::Time deadline) override;

 private:
  // A connection for requests, and what is known of the server.
  struct Session {
    RedisConnection* connection = nullptr;
    std::string queue_sha;
    std::string snapshot_sha;
    std::string run;   // the server's identity
    bool led = false;  // whether the listener has been told
  };

  // The words of a command.
  using Command = std::vector<std::string>;

  // Returns "EVALSHA", `sha` and the keys.
  Command Evaluation(const std::string& sha) const;

  // Waits for its turn, and calls `f` with the session until it succeeds, or
  // fails for a reason that will not pass, or until `deadline`.
  template <typename F>
  std::invoke_result_t<F, const Session&> WithConnection(absl::Time deadline,
                                                         F f);

  // Returns `status` with the name of the queue, and what to do about it.
  absl::Status Named(const absl::Status& status) const;

  // Connects, and loads the scripts.
  absl::Status Connect(absl::Time deadline);
  absl::Status LoadScripts(absl::Time deadline);
  // Lets the other connection follow to the server of this one.
  void LeadListener();

  // See `RedisListener::Listen`.
  absl::Status ListenOnce(EngineListener* listener, absl::Time* since);
  // Passes `message` on. Returns false if the server has ended the
  // subscription, because another node of the cluster has the keys now.
  static bool Dispatch(const redisReply& message, absl::string_view own,
                       EngineListener* listener);

  const RedisOptions options_;
  const std::string name_;
  const std::string layout_;
  std::vector<std::string> keys_;  // of the script; first that of the queue

  // Whether a request is in progress. Its thread uses the following members.
  sync::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  RedisConnector connector_;
  Session session_;
  // Whether a request, which a connection has not finished, may be executed
  // after further ones.
  bool may_come_late_ = false;

  sync::Mutex listen_mu_;
  // Where the requests go, and which server is there; empty if that is unknown.
  std::string address_ ABSL_GUARDED_BY(listen_mu_);
  std::string run_ ABSL_GUARDED_BY(listen_mu_);
  // The server that the thread listens to; null if it does not listen.
  std::optional<std::string> listening_run_ ABSL_GUARDED_BY(listen_mu_);
  bool subscribed_ ABSL_GUARDED_BY(listen_mu_) = false;
  absl::Status listen_error_ ABSL_GUARDED_BY(listen_mu_);
  RedisListener listener_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_REDIS_ENGINE_H_
