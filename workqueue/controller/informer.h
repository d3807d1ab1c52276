// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INFORMER_H_
#define WORKQUEUE_CONTROLLER_INFORMER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ratelimit/jitter.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/internal/reflector.h"
#include "workqueue/controller/lister_watcher.h"
#include "workqueue/controller/object_store.h"
#include "workqueue/controller/source.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// InformerOptions
//
// Options of an `Informer`. `lister_watcher` and `key` must be set.
template <typename Object>
struct InformerOptions {
  // The informer's name in messages, for example "pods".
  std::string name;

  // The server.
  std::unique_ptr<ListerWatcher<Object>> lister_watcher;

  // Returns the key of an object, which no other object has, for example
  // "default/web-0".
  std::function<std::string(const Object& object)> key;

  // Returns whether `a` is a newer state than `b` of the same object. If set,
  // the informer drops the event of a state that is not newer than the stored
  // one, and a list changes nothing for an object whose state is neither newer
  // nor older. If null, each event and each object of a list counts as a
  // change.
  std::function<bool(const Object& a, const Object& b)> is_newer;

  // The indexes of the store. Their names must differ.
  std::vector<Indexer<Object>> indexers;

  // The delays before the next try after an error, and the factor by which each
  // one is varied, so that the clients of a server that comes back do not come
  // all at once. The defaults are those of client-go.
  RestartBackoff backoff = {absl::Milliseconds(800), absl::Seconds(30)};
  JitterOptions backoff_jitter = {1, 2};

  // The clock; null means the real clock. Not owned; must outlive the informer.
  Clock* clock = nullptr;

  // Receives messages about errors; null means that nobody does. Not owned;
  // must outlive the informer. The informer sends at most ten messages at once,
  // and then two per second.
  LogSink* log_sink = nullptr;
};

// ObjectEvent
//
// A change in an informer's store.
template <typename Object>
struct ObjectEvent {
  // The state before; null if the object has been added.
  std::shared_ptr<const Object> old_object;

  // The state after; null if the object has been deleted.
  std::shared_ptr<const Object> new_object;

  // Whether the object existed before: it is part of the informer's first list,
  // or was in the store when the handler was added.
  bool is_in_initial_list = false;
};

// InformerHandler
//
// The functions that an informer calls. Each of them may be null. They are
// called one at a time, must not block for long, and must not call
// `AddHandler()`, `RemoveHandler()` or `Resync()`.
//
// A call that throws is made again, so no change is lost: each second on the
// informer's clock, and, if it is one of `on_event`, also before the next event
// of the same object. An exception is logged.
template <typename Object>
struct InformerHandler {
  // Called after each change in the store.
  //
  // The events of an object that follow a call that throws are not told before
  // that call has returned. They become one event meanwhile, or two if the
  // object has been deleted. Events of other objects do not wait.
  std::function<void(const ObjectEvent<Object>& event)> on_event;

  // Called once, when `on_event` has returned for all objects of the first
  // list, or of the store when the handler was added. So a call of `on_event`
  // that must be made again for one of them delays this call.
  std::function<void()> on_synced;

  // Called with OK when a watch has begun, and with the error when a list or a
  // watch has ended with one. Called with `absl::CancelledError` when the
  // informer stops, if it has been started. While another function of this
  // handler must be called again, called with its exception in the place of OK;
  // also after `on_synced`, which a handler may take for OK.
  std::function<void(const absl::Status& status)> on_health;
};

// Informer
//
// An informer keeps a store of a server's objects up to date, and tells its
// handlers of each change. It does the work of client-go's Reflector, DeltaFIFO
// and SharedInformer:
//
//   * It lists all objects, page by page, and then watches the changes.
//   * When a watch ends or breaks, it watches again from the version of the
//     last event. It does so at once if the watch has lasted for a second, or
//     if that version is a new one, but no more than ten times, and then five
//     times per second.
//   * When the server no longer has that version, or events were missed, it
//     lists again. The differences from the store become events: an object that
//     the list lacks has been deleted.
//   * After any other error, it waits before it tries again; see
//     `InformerOptions::backoff`.
//
// An informer may have any number of handlers, and several controllers may use
// one informer. `MakeInformerSource()` makes a source of a controller from it.
//
// Example:
//
//     workqueue::InformerOptions<Pod> options;
//     options.name = "pods";
//     options.lister_watcher = std::make_unique<PodClient>(...);
//     options.key = [](const Pod& pod) { return pod.name; };
//     auto pods = workqueue::Informer<Pod>::Create(std::move(options));
//     if (!pods.ok()) return pods.status();
//     absl::Status started = (*pods)->Start();
//     ...
//     if (!(*pods)->AwaitSync(absl::Minutes(1))) return (*pods)->Healthy();
//     std::shared_ptr<const Pod> web = (*pods)->store().Get("web-0");
//
// Unlike in client-go, there is no queue between the watch and the handlers:
// they run on the informer's thread, and the work queue behind them merges the
// changes. A second thread, which the informer starts when it is first needed,
// makes the calls that are made again. An informer does not resync by itself; a
// source does, see `InformerSourceOptions::resync_period`.
//
// Thread-safe.
template <typename Object>
class Informer final : private internal::Reflector {
 public:
  // Identifies a handler of this informer.
  using HandlerId = uint64_t;

  // Returns an `absl::InvalidArgumentError`, which names the field and its
  // value, if an option is missing or out of its range.
  static absl::StatusOr<std::unique_ptr<Informer>> Create(
      InformerOptions<Object> options);

  // Calls `Stop()`. Must not be called from a handler. Sources and controllers
  // that use the informer must have been destroyed.
  ~Informer() { Stop(); }

  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  // Starts the informer's thread. Does nothing if it has been started. Returns
  // `absl::ResourceExhaustedError` if the thread cannot be started, and
  // `absl::FailedPreconditionError` if the informer has been stopped.
  absl::Status Start() { return Reflector::Start(); }

  // Ends the informer, and blocks until its threads have ended. They end soon
  // after `ListerWatcher::Stop()`. The store keeps its objects. Must not be
  // called from a handler.
  void Stop() { Reflector::Stop(); }

  // Returns whether the store has all objects of the first list, and each
  // handler has been called for them. A handler that has thrown need not know
  // them yet: see `InformerHandler::on_synced`.
  bool HasSynced() const { return Reflector::HasSynced(); }

  // Blocks until `HasSynced()`, for at most `timeout` on the informer's clock.
  // Returns the result of `HasSynced()`. `Stop()` ends the call, too.
  bool AwaitSync(absl::Duration timeout = absl::InfiniteDuration()) const {
    return Reflector::AwaitSync(timeout);
  }

  // Returns OK if the informer watches its server, and otherwise the error of
  // the last list or watch, or `absl::UnavailableError` if there has been none
  // yet. Returns `absl::CancelledError` after `Stop()`. Does not block.
  absl::Status Healthy() const { return Reflector::Healthy(); }

  const std::string& name() const { return Reflector::name(); }

  // The objects. Another thread may see a change before the handlers do.
  const ObjectStore<Object>& store() const { return store_; }

  // Adds a handler. First tells it of each object that is in the store, whether
  // the informer is in sync, and of the health. Blocks until this is done.
  // Calls for later changes come after that.
  HandlerId AddHandler(InformerHandler<Object> handler);

  // Removes a handler. Blocks until a call of it has returned. It is not called
  // again.
  void RemoveHandler(HandlerId id);

  // Tells a handler of each object in the store, with an event whose
  // `old_object` is the `new_object`. Does nothing if there is no such handler.
  // Blocks until this is done.
  void Resync(HandlerId id);

 private:
  using ObjectPtr = std::shared_ptr<const Object>;

  // A change of an object of which a handler must be told, because it has
  // thrown.
  struct Untold {
    ObjectPtr old_object;   // the state that the handler knows; may be null
    ObjectPtr last_object;  // the last state; not null
    bool deleted = false;   // whether that state is gone
    bool is_in_initial_list = false;
    bool delays_sync = false;  // whether `on_synced` must come later
  };
  using UntoldObjects = std::map<std::string, Untold>;  // by key

  struct Listener {
    InformerHandler<Object> handler;
    UntoldObjects untold;
    // The node of the next element of `untold`, so that there is memory for it
    // when the handler throws.
    typename UntoldObjects::node_type spare;
    bool sync_is_due = false;  // whether all is told but for `untold`
    bool must_tell_synced = false;
    bool must_tell_health = false;
    bool failing = false;  // whether on_health has been told `error`
    absl::Status error;    // the last exception
  };

  Informer(InformerOptions<Object> options, std::unique_ptr<Jitter> jitter)
      : Reflector(options.name, OrRealClock(options.clock), options.log_sink,
                  options.backoff, std::move(jitter)),
        key_(std::move(options.key)),
        is_newer_(std::move(options.is_newer)),
        lister_watcher_(std::move(options.lister_watcher)),
        store_(std::move(options.indexers)) {}

  absl::Status List(std::string* version) override {
    watcher_ = nullptr;
    // The keys that no page has had so far.
    const std::vector<std::string> keys = store_.Keys();
    absl::flat_hash_set<std::string> unlisted(keys.begin(), keys.end());
    const auto add = [this, version, &unlisted](const ObjectPtr& object) {
      version->clear();  // The page has it, if it does not break off.
      const std::string key = key_(*object);
      unlisted.erase(key);
      Put(key, object, /*from_list=*/true);
    };
    ListOptions options = {*version, /*page=*/""};
    while (true) {
      absl::StatusOr<ListPage> page = lister_watcher_->List(options, add);
      if (!page.ok()) return page.status();
      *version = std::move(page->version);
      options.page = std::move(page->next_page);
      if (!options.page.empty()) continue;
      for (const std::string& key : unlisted) Erase(key);
      internal::MutexLock lock(&handling_);
      if (!std::exchange(synced_, true)) {
        for (auto& [id, listener] : listeners_) TellSynced(listener);
      }
      return absl::OkStatus();
    }
  }
  absl::Status BeginWatch(const std::string& version) override {
    watcher_ = nullptr;
    absl::StatusOr<std::unique_ptr<Watcher<Object>>> watcher =
        lister_watcher_->Watch(version);
    if (watcher.ok()) watcher_ = *std::move(watcher);
    return watcher.status();
  }
  absl::StatusOr<std::optional<std::string>> Next() override {
    absl::StatusOr<std::optional<WatchEvent<Object>>> next = watcher_->Next();
    if (!next.ok() || !next->has_value()) watcher_ = nullptr;
    if (!next.ok()) return next.status();
    if (!next->has_value()) return std::nullopt;
    WatchEvent<Object>& event = **next;
    if (event.object != nullptr) {
      const std::string key = key_(*event.object);
      if (event.type == WatchEvent<Object>::Type::kDeleted) {
        const ObjectPtr stored = store_.Get(key);
        const bool late = stored != nullptr && is_newer_ != nullptr &&
                          is_newer_(*stored, *event.object);
        if (!late) Erase(key);
      } else {
        Put(key, event.object, /*from_list=*/false);
      }
    }
    return std::move(event.version);
  }
  void Interrupt() override { lister_watcher_->Stop(); }
  void OnHealth() override {
    internal::MutexLock lock(&handling_);
    for (auto& [id, listener] : listeners_) TellHealth(listener);
  }
  void TellAgain() override {
    internal::MutexLock lock(&handling_);
    for (auto& [id, listener] : listeners_) {
      for (auto it = listener.untold.begin(); it != listener.untold.end();) {
        const auto next = std::next(it);
        if (TellUntold(listener, it->second)) listener.untold.erase(it);
        it = next;
      }
      if (listener.must_tell_synced) TellSynced(listener);
      if (listener.must_tell_health) TellHealth(listener);
      Settle(listener);
    }
  }

  // Applies the state of an object that a list or an event tells.
  void Put(const std::string& key, const ObjectPtr& object, bool from_list) {
    const ObjectPtr stored = store_.Get(key);
    if (stored != nullptr && is_newer_ != nullptr) {
      // A list is right even if its state is older: the server may have been
      // restored from a backup.
      const bool differs = is_newer_(*object, *stored) ||
                           (from_list && is_newer_(*stored, *object));
      if (!differs) return;
    }
    internal::MutexLock lock(&handling_);
    for (auto& [id, listener] : listeners_) Prepare(listener, key);
    store_.Put(key, object);
    const ObjectEvent<Object> event = {stored, object,
                                       /*is_in_initial_list=*/!synced_};
    for (auto& [id, listener] : listeners_) Tell(listener, key, event);
  }
  void Erase(const std::string& key) {
    internal::MutexLock lock(&handling_);
    for (auto& [id, listener] : listeners_) Prepare(listener, key);
    const ObjectPtr erased = store_.Erase(key);
    if (erased == nullptr) return;
    for (auto& [id, listener] : listeners_) {
      Tell(listener, key, {erased, nullptr});
    }
  }

  // Allocates what `Tell()` needs for the object with the key. `Tell()` does
  // not throw, and must follow before the next call.
  void Prepare(Listener& listener, const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    if (listener.handler.on_event == nullptr) return;
    if (listener.spare.empty()) {
      UntoldObjects nodes;
      nodes.try_emplace(std::string());
      listener.spare = nodes.extract(nodes.begin());
    }
    listener.spare.key() = key;
  }
  void Tell(Listener& listener, const std::string& key,
            const ObjectEvent<Object>& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    if (listener.handler.on_event == nullptr) return;
    auto it = listener.untold.find(key);
    if (it != listener.untold.end() && TellUntold(listener, it->second)) {
      listener.untold.erase(it);
      it = listener.untold.end();
    }
    if (it == listener.untold.end()) {
      if (!Call(listener, [&] { listener.handler.on_event(event); })) {
        it = listener.untold.insert(std::move(listener.spare)).position;
        it->second = {event.old_object, event.old_object, false,
                      event.is_in_initial_list, !listener.sync_is_due};
      }
    }
    if (it != listener.untold.end()) {
      Untold& untold = it->second;
      untold.deleted = event.new_object == nullptr;
      if (!untold.deleted) untold.last_object = event.new_object;
      untold.is_in_initial_list &= event.is_in_initial_list;
    }
    Settle(listener);
  }

  // Tells of the object in the store, if there is one.
  void TellStored(Listener& listener, const std::string& key,
                  bool as_initial_list)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    const ObjectPtr object = store_.Get(key);
    if (object == nullptr) return;
    Prepare(listener, key);
    Tell(listener, key,
         {as_initial_list ? nullptr : object, object, as_initial_list});
  }

  // Tells what the handler does not know of an object. Returns whether it knows
  // all then.
  bool TellUntold(Listener& listener, Untold& untold)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    const auto tell = [&](const ObjectPtr& now) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return Call(listener, [&] {
        listener.handler.on_event(
            {untold.old_object, now, untold.is_in_initial_list});
      });
    };
    if (!untold.deleted || untold.old_object != untold.last_object) {
      if (!tell(untold.last_object)) return false;
      untold.old_object = untold.last_object;
      untold.is_in_initial_list = false;
    }
    return !untold.deleted || tell(nullptr);
  }

  // Tell that the informer is in sync, once what delays that has been told, and
  // the health.
  void TellSynced(Listener& listener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    listener.sync_is_due = true;
    const bool delayed =
        std::any_of(listener.untold.begin(), listener.untold.end(),
                    [](const auto& it) { return it.second.delays_sync; });
    listener.must_tell_synced = delayed;
    if (!delayed && listener.handler.on_synced != nullptr) {
      listener.must_tell_synced =
          !Call(listener, [&listener] { listener.handler.on_synced(); });
      // The handler may take the call for health.
      listener.must_tell_health |= !listener.untold.empty();
    }
    Settle(listener);
  }
  void TellHealth(Listener& listener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    listener.failing = listener.must_tell_synced || !listener.untold.empty();
    absl::Status status = Healthy();
    if (status.ok() && listener.failing) status = listener.error;
    // An exception of on_health is not in listener.error: it says nothing of
    // what the handler knows.
    listener.must_tell_health = !errors().Try(kCalling, [&] {
      if (listener.handler.on_health != nullptr) {
        listener.handler.on_health(status);
      }
    });
    Settle(listener);
  }

  // Tells the health if the handler has begun or ceased to fail, and makes the
  // reflector call `TellAgain()` if a call must be made again.
  void Settle(Listener& listener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    const bool failing = listener.must_tell_synced || !listener.untold.empty();
    if (failing != listener.failing) return TellHealth(listener);
    if (failing || listener.must_tell_health) TellAgainLater();
  }

  // Calls `f`, and returns whether it has returned. Logs an exception.
  static constexpr auto kCalling = [] { return "calling a handler"; };
  template <typename F>
  bool Call(Listener& listener, F f) ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_) {
    const absl::Status status = internal::CatchAsStatus(f);
    if (status.ok()) return true;
    errors().Write(kCalling, status);
    listener.error = status;
    return false;
  }

  const std::function<std::string(const Object&)> key_;
  const std::function<bool(const Object&, const Object&)> is_newer_;
  const std::unique_ptr<ListerWatcher<Object>> lister_watcher_;
  ObjectStore<Object> store_;

  // Held while the store changes and the handlers are told. So each handler
  // sees the changes in the order of the store, and a new one misses none.
  sync::Mutex handling_;
  std::map<HandlerId, Listener> listeners_ ABSL_GUARDED_BY(handling_);
  HandlerId next_handler_ ABSL_GUARDED_BY(handling_) = 0;
  // Whether the first list has been handed over.
  bool synced_ ABSL_GUARDED_BY(handling_) = false;

  // Used by the reflector's thread alone. Null if there is no watch.
  std::unique_ptr<Watcher<Object>> watcher_;
};

// Implementation details follow.

template <typename Object>
absl::StatusOr<std::unique_ptr<Informer<Object>>> Informer<Object>::Create(
    InformerOptions<Object> options) {
  if (options.lister_watcher == nullptr) {
    return absl::InvalidArgumentError(
        "lister_watcher is null; it must be given");
  }
  if (options.key == nullptr) {
    return absl::InvalidArgumentError("key is empty; it must be callable");
  }
  absl::flat_hash_set<absl::string_view> names;
  for (const Indexer<Object>& it : options.indexers) {
    const std::string index = absl::StrCat("the index '", it.name, "'");
    if (it.values == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indexers: values of ", index, " is empty; it must be callable"));
    }
    if (!names.insert(it.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("indexers: ", index, " is given twice"));
    }
  }
  const absl::Status backoff =
      internal::CheckRestartBackoff("backoff", options.backoff);
  if (!backoff.ok()) return backoff;
  absl::StatusOr<std::unique_ptr<Jitter>> jitter =
      Jitter::Create(options.backoff_jitter);
  if (!jitter.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("backoff_jitter.", jitter.status().message()));
  }
  return absl::WrapUnique(new Informer(std::move(options), *std::move(jitter)));
}

template <typename Object>
auto Informer<Object>::AddHandler(InformerHandler<Object> handler)
    -> HandlerId {
  internal::MutexLock lock(&handling_);
  const HandlerId id = next_handler_++;
  Listener& listener = listeners_[id];
  absl::Cleanup remove = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    listeners_.erase(id);
  };
  listener.handler = std::move(handler);
  for (const std::string& key : store_.Keys()) {
    TellStored(listener, key, /*as_initial_list=*/true);
  }
  if (synced_) TellSynced(listener);
  TellHealth(listener);
  std::move(remove).Cancel();
  return id;
}

template <typename Object>
void Informer<Object>::Resync(HandlerId id) {
  for (const std::string& key : store_.Keys()) {
    // For each object anew, so that others need not wait for all.
    internal::MutexLock lock(&handling_);
    const auto it = listeners_.find(id);
    if (it == listeners_.end()) return;
    TellStored(it->second, key, /*as_initial_list=*/false);
  }
}

template <typename Object>
void Informer<Object>::RemoveHandler(HandlerId id) {
  internal::MutexLock lock(&handling_);
  listeners_.erase(id);
}

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INFORMER_H_
