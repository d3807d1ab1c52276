// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/informer.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_INFORMER_H_
#define WORKQUEUE_CONTROLLER_INFORMER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ratelimit/jitter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/internal/reflector.h"
#include "workqueue/controller/internal/restart_delays.h"
#include "workqueue/controller/lister_watcher.h"
#include "workqueue/controller/object_store.h"
#include "workqueue/controller/source.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/log_sink.h"

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
// `AddHandler()` or `RemoveHandler()`. An exception is logged.
template <typename Object>
struct InformerHandler {
  // Called after each change in the store.
  std::function<void(const ObjectEvent<Object>& event)> on_event;

  // Called once, when `on_event` has been called for all objects of the first
  // list.
  std::function<void()> on_synced;

  // Called with OK when a watch has begun, and with the error when a list or a
  // watch has ended with one.
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
//     last event, at once if the watch has lasted for a second or has had an
//     event.
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
// changes. An informer does not resync; a source does, see
// `InformerSourceOptions::resync_period`.
//
// Thread-safe.
template <typename Object>
class Informer {
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
  absl::Status Start() { return reflector_.Start(); }

  // Ends the informer, and blocks until its thread has ended. That thread ends
  // soon after `ListerWatcher::Stop()`. The store keeps its objects. Must not
  // be called from a handler.
  void Stop() { reflector_.Stop(); }

  // Returns whether the store has all objects of the first list, and the
  // handlers have been told.
  bool HasSynced() const { return reflector_.HasSynced(); }

  // Blocks until `HasSynced()`, for at most `timeout` on the informer's clock.
  // Returns the result of `HasSynced()`. `Stop()` ends the call, too.
  bool AwaitSync(absl::Duration timeout = absl::InfiniteDuration()) const {
    return reflector_.AwaitSync(timeout);
  }

  // Returns OK if the informer watches its server, and otherwise the error of
  // the last list or watch, or `absl::UnavailableError` if there has been none
  // yet. Does not block.
  absl::Status Healthy() const { return reflector_.Healthy(); }

  const std::string& name() const { return reflector_.name(); }

  // The objects. Another thread may see a change before the handlers do.
  const ObjectStore<Object>& store() const { return store_; }

  // Adds a handler. First tells it of each object that is in the store, whether
  // the informer is in sync, and of the health. Blocks until this is done.
  // Calls for later changes come after that.
  HandlerId AddHandler(InformerHandler<Object> handler);

  // Removes a handler. Blocks until a call of it has returned. It is not called
  // again.
  void RemoveHandler(HandlerId id);

 private:
  using ObjectPtr = std::shared_ptr<const Object>;

  Informer(InformerOptions<Object> options, std::unique_ptr<Jitter> jitter);

  // The functions of the reflector.
  internal::ReflectorHooks Hooks();
  absl::StatusOr<std::string> List(const std::string& min_version);
  absl::Status Watch(const std::string& version);
  absl::StatusOr<std::optional<std::string>> Next();
  void OnHealth(const absl::Status& status);

  // Applies the state of an object that a list or an event tells.
  void Put(const std::string& key, const ObjectPtr& object, bool from_list);
  void Erase(const std::string& key);

  void OnEvent(const ObjectEvent<Object>& event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_);

  // Call `f` with each handler, or with one. Log exceptions.
  template <typename F>
  void CallHandlers(F f) ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_);
  template <typename F>
  void Call(const InformerHandler<Object>& handler, F f)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(handling_);

  const std::function<std::string(const Object&)> key_;
  const std::function<bool(const Object&, const Object&)> is_newer_;
  const std::unique_ptr<ListerWatcher<Object>> lister_watcher_;
  ObjectStore<Object> store_;

  // Held while the store changes and the handlers are told. So each handler
  // sees the changes in the order of the store, and a new one misses none.
  absl::Mutex handling_;
  std::map<HandlerId, InformerHandler<Object>> handlers_
      ABSL_GUARDED_BY(handling_);
  HandlerId next_handler_ ABSL_GUARDED_BY(handling_) = 0;
  // Whether the first list has been handed over.
  bool synced_ ABSL_GUARDED_BY(handling_) = false;

  // Used by the reflector's thread alone. Null if there is no watch.
  std::unique_ptr<Watcher<Object>> watcher_;

  // The last member: its thread uses the others.
  internal::Reflector reflector_;
};

// -----------------------------------------------------------------------------
// Implementation details follow.
// -----------------------------------------------------------------------------

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
Informer<Object>::Informer(InformerOptions<Object> options,
                           std::unique_ptr<Jitter> jitter)
    : key_(std::move(options.key)),
      is_newer_(std::move(options.is_newer)),
      lister_watcher_(std::move(options.lister_watcher)),
      store_(std::move(options.indexers)),
      reflector_(options.name, OrRealClock(options.clock), options.log_sink,
                 options.backoff, std::move(jitter), Hooks()) {}

template <typename Object>
internal::ReflectorHooks Informer<Object>::Hooks() {
  internal::ReflectorHooks hooks;
  hooks.list = [this](const std::string& min_version) {
    return List(min_version);
  };
  hooks.watch = [this](const std::string& version) { return Watch(version); };
  hooks.next = [this] { return Next(); };
  hooks.interrupt = [this] { lister_watcher_->Stop(); };
  hooks.on_health = [this](const absl::Status& status) { OnHealth(status); };
  return hooks;
}

template <typename Object>
absl::StatusOr<std::string> Informer<Object>::List(
    const std::string& min_version) {
  watcher_ = nullptr;
  // The keys that no page has had so far.
  const std::vector<std::string> keys = store_.Keys();
  absl::flat_hash_set<std::string> unlisted(keys.begin(), keys.end());
  const auto add = [this, &unlisted](const ObjectPtr& object) {
    const std::string key = key_(*object);
    unlisted.erase(key);
    Put(key, object, /*from_list=*/true);
  };
  ListOptions options = {min_version, /*page=*/""};
  while (true) {
    absl::StatusOr<ListPage> page = lister_watcher_->List(options, add);
    if (!page.ok()) return page.status();
    options.page = std::move(page->next_page);
    if (!options.page.empty()) continue;
    for (const std::string& key : unlisted) Erase(key);
    internal::MutexLock lock(&handling_);
    if (!std::exchange(synced_, true)) {
      CallHandlers([](const InformerHandler<Object>& handler) {
        if (handler.on_synced != nullptr) handler.on_synced();
      });
    }
    return std::move(page->version);
  }
}

template <typename Object>
absl::Status Informer<Object>::Watch(const std::string& version) {
  watcher_ = nullptr;
  absl::StatusOr<std::unique_ptr<Watcher<Object>>> watcher =
      lister_watcher_->Watch(version);
  if (watcher.ok()) watcher_ = *std::move(watcher);
  return watcher.status();
}

template <typename Object>
absl::StatusOr<std::optional<std::string>> Informer<Object>::Next() {
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

template <typename Object>
void Informer<Object>::OnHealth(const absl::Status& status) {
  internal::MutexLock lock(&handling_);
  CallHandlers([&](const InformerHandler<Object>& handler) {
    if (handler.on_health != nullptr) handler.on_health(status);
  });
}

template <typename Object>
void Informer<Object>::Put(const std::string& key, const ObjectPtr& object,
                           bool from_list) {
  const ObjectPtr stored = store_.Get(key);
  if (stored != nullptr && is_newer_ != nullptr) {
    // A list is right even if its state is older: the server may have been
    // restored from a backup.
    const bool differs = is_newer_(*object, *stored) ||
                         (from_list && is_newer_(*stored, *object));
    if (!differs) return;
  }
  internal::MutexLock lock(&handling_);
  store_.Put(key, object);
  OnEvent({stored, object, /*is_in_initial_list=*/!synced_});
}

template <typename Object>
void Informer<Object>::Erase(const std::string& key) {
  internal::MutexLock lock(&handling_);
  const ObjectPtr erased = store_.Erase(key);
  if (erased != nullptr) OnEvent({erased, nullptr});
}

template <typename Object>
void Informer<Object>::OnEvent(const ObjectEvent<Object>& event) {
  CallHandlers([&](const InformerHandler<Object>& handler) {
    if (handler.on_event != nullptr) handler.on_event(event);
  });
}

template <typename Object>
template <typename F>
void Informer<Object>::CallHandlers(F f) {
  for (const auto& [id, handler] : handlers_) Call(handler, f);
}

template <typename Object>
template <typename F>
void Informer<Object>::Call(const InformerHandler<Object>& handler, F f) {
  reflector_.errors().Try([] { return "calling a handler"; },
                          [&] { f(handler); });
}

template <typename Object>
auto Informer<Object>::AddHandler(InformerHandler<Object> handler)
    -> HandlerId {
  internal::MutexLock lock(&handling_);
  std::vector<ObjectPtr> objects = store_.List();
  const HandlerId id = next_handler_++;
  const InformerHandler<Object>& added =
      handlers_.emplace(id, std::move(handler)).first->second;
  if (added.on_event != nullptr) {
    for (ObjectPtr& object : objects) {
      Call(added, [&](const InformerHandler<Object>& it) {
        it.on_event({nullptr, std::move(object), /*is_in_initial_list=*/true});
      });
    }
  }
  const bool synced = synced_;
  Call(added, [&](const InformerHandler<Object>& it) {
    if (synced && it.on_synced != nullptr) it.on_synced();
    if (it.on_health != nullptr) it.on_health(Healthy());
  });
  return id;
}

template <typename Object>
void Informer<Object>::RemoveHandler(HandlerId id) {
  internal::MutexLock lock(&handling_);
  handlers_.erase(id);
}

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INFORMER_H_
