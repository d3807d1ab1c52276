// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/controller_cases.h
// -----------------------------------------------------------------------------
//
// The cases of a whole controller: events go through an informer to the queue,
// and a worker reads the object from the informer's store. The server is in
// memory, so all of the cost is the library's.

#ifndef WORKQUEUE_BENCH_CASES_CONTROLLER_CASES_H_
#define WORKQUEUE_BENCH_CASES_CONTROLLER_CASES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/cases/measure.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/informer_source.h"
#include "workqueue/controller/lister_watcher.h"

namespace workqueue {

// An object like the peers' `ConfigMap` in these cases.
struct ConfigObject {
  std::string name_space;
  std::string name;
  int64_t version;
  int64_t number;
};

// EventServer
//
// This class is a server in memory. It has no objects when it is listed, and
// sends an event of each object when it is told to.
class EventServer {
 public:
  static constexpr int64_t kObjects = 100000;

  EventServer() : sent_at_(kObjects) {}

  // Returns what an informer needs. The server must outlive it.
  std::unique_ptr<ListerWatcher<ConfigObject>> NewListerWatcher() {
    return std::make_unique<Connection>(this);
  }

  // Sends an event of each of the first `n` objects: ten at a time, with a
  // pause of a millisecond before these, if `paced`.
  void Send(int64_t n, bool paced) {
    internal::MutexLock lock(&mu_);
    next_ = 0;
    end_ = n;
    paced_ = paced;
  }

  // The time when the last event of an object was sent.
  SteadyTime sent_at(int64_t number) const { return sent_at_[number]; }

 private:
  using Event = WatchEvent<ConfigObject>;

  class Connection : public ListerWatcher<ConfigObject> {
   public:
    explicit Connection(EventServer* server) : server_(server) {}

    absl::StatusOr<ListPage> List(
        const ListOptions&,
        absl::FunctionRef<void(std::shared_ptr<const ConfigObject>)>) override {
      return ListPage{"0", ""};
    }
    absl::StatusOr<std::unique_ptr<Watcher<ConfigObject>>> Watch(
        const std::string&) override {
      return std::make_unique<Watch_>(server_);
    }
    void Stop() override {
      internal::MutexLock lock(&server_->mu_);
      server_->stopped_ = true;
    }

   private:
    EventServer* const server_;
  };

  class Watch_ : public Watcher<ConfigObject> {
   public:
    explicit Watch_(EventServer* server) : server_(server) {}

    absl::StatusOr<std::optional<Event>> Next() override {
      return server_->NextEvent();
    }

   private:
    EventServer* const server_;
  };

  absl::StatusOr<std::optional<Event>> NextEvent() {
    int64_t number;
    int64_t version;
    {
      internal::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(
          +[](EventServer* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return self->next_ < self->end_ || self->stopped_;
          },
          this));
      if (stopped_) return absl::CancelledError("stopped");
      number = next_++;
      version = ++version_;
      if (!paced_ || number % 10 != 0) sent_at_[number] = SteadyNow();
    }
    if (paced_ && number % 10 == 0) {
      absl::SleepFor(absl::Milliseconds(1));
      sent_at_[number] = SteadyNow();
    }
    auto object = std::make_shared<ConfigObject>();
    object->name_space = absl::StrCat("namespace-", number % 100);
    object->name = absl::StrCat("object-name-", number);
    object->version = version;
    object->number = number;
    Event event;
    event.type = Event::Type::kModified;
    event.object = std::move(object);
    event.version = absl::StrCat(version);
    return event;
  }

  absl::Mutex mu_;
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t end_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  // Written before the events of a `Send()`.
  std::atomic<bool> paced_{false};
  std::vector<SteadyTime> sent_at_;
};

// `workers` workers reconcile the objects: threads, or reconciliations that are
// in flight at the same time.
inline void ControllerCase(absl::string_view name, size_t workers,
                           bool asynchronous) {
  constexpr int64_t kObjects = EventServer::kObjects;
  constexpr int kPasses = 5;
  constexpr int64_t kPaced = 20000;
  EventServer server;
  InformerOptions<ConfigObject> informer_options;
  informer_options.lister_watcher = server.NewListerWatcher();
  informer_options.key = [](const ConfigObject& object) {
    return absl::StrCat(object.name_space, "/", object.name);
  };
  const auto informer =
      *Informer<ConfigObject>::Create(std::move(informer_options));
  std::atomic<int64_t> reconciled{0};
  // By object.
  std::vector<double> took_us(kObjects);
  const auto reconcile = [&](const std::string& key) {
    const auto object = informer->store().Get(key);
    took_us[object->number] = absl::ToDoubleMicroseconds(
        absl::FromChrono(SteadyNow() - server.sent_at(object->number)));
    ++reconciled;
    return absl::OkStatus();
  };
  ControllerOptions<std::string> options;
  if (asynchronous) {
    options.max_in_flight = workers;
    options.reconcile_async =
        [&reconcile](const std::string& key, const AsyncReconcileContext&,
                     ReconcileCompletion done) { done(reconcile(key)); };
  } else {
    options.workers = workers;
    options.reconcile = reconcile;
  }
  options.sources = {MakeInformerSource<std::string>(
      *informer, [](const ConfigObject& object) {
        return std::vector<std::string>{
            absl::StrCat(object.name_space, "/", object.name)};
      })};
  const auto controller = *Controller<std::string>::Create(std::move(options));
  controller->Start().IgnoreError();

  const auto process = [&](int64_t n, bool paced) {
    reconciled = 0;
    server.Send(n, paced);
    while (reconciled < n) absl::SleepFor(absl::Microseconds(100));
  };
  const double bytes_before = ResidentBytes();
  process(kObjects, /*paced=*/false);
  const double bytes = ResidentBytes() - bytes_before;
  const absl::Duration cpu_before = ProcessCpuTime();
  const SteadyTime start = SteadyNow();
  for (int i = 0; i < kPasses; ++i) process(kObjects, /*paced=*/false);
  const double ns = NsEach(start, kPasses * kObjects);
  const double cpu_ns =
      absl::ToDoubleNanoseconds(ProcessCpuTime() - cpu_before) /
      (kPasses * kObjects);
  process(kPaced, /*paced=*/true);
  took_us.resize(kPaced);
  absl::c_sort(took_us);
  Report(name, ns, "ns");
  Report(absl::StrCat(name, "_cpu"), cpu_ns, "ns");
  Report(absl::StrCat(name, "_memory"), bytes / kObjects, "B");
  Report(absl::StrCat(name, "_p99"), took_us[kPaced * 99 / 100], "us");
  controller->Stop();
}

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_CONTROLLER_CASES_H_
