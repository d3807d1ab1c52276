// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INFORMER_SOURCE_H_
#define WORKQUEUE_CONTROLLER_INFORMER_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/source.h"
#include "workqueue/interfaces.h"

namespace workqueue {

// InformerSourceOptions
//
// Options of `MakeInformerSource()`.
template <typename Object>
struct InformerSourceOptions {
  // A function that returns the items that an object concerns.
  template <typename T>
  using Items = std::function<std::vector<T>(const Object& object)>;

  // The source's name in messages. Empty means the informer's name.
  std::string name;

  // Returns whether an event concerns the controller. If null, every event
  // does. See also `ObjectChanged()`.
  std::function<bool(const ObjectEvent<Object>& event)> predicate;

  // The priority of items that are added because an object is in the initial
  // list, or because of a resync. So changes are not kept waiting. The default
  // is that of controller-runtime. A queue without priorities ignores it.
  int initial_priority = -100;

  // The period after which the source adds the items of all objects again, as
  // insurance against an event that the reconcile function did not act on; see
  // `Informer::Resync()`. The predicate is called, too. Positive; infinite
  // means never.
  absl::Duration resync_period = absl::InfiniteDuration();
};

// MakeInformerSource()
//
// Returns a source that adds items to a controller's queue when objects of
// `informer` change. `items` returns the items that an object concerns: the
// object's own key, the key of its owner, or any number of keys. After an
// update the source adds those of the old state and those of the new one.
//
// The source starts the informer. It is in sync when it has added the items of
// all objects of the first list. It is healthy while the informer watches its
// server. When the controller stops, the informer goes on, because other
// sources may use it.
//
// `SourceContext::queue` keeps the items that the queue does not take now. An
// item that the queue calls wrong, for example because it is too long for the
// engine, is lost, and the source is not healthy until the informer tells
// again that it is.
//
// `items` and the predicate are called as a handler of the informer is; see
// `InformerHandler`. If one of them throws, the event is told again each
// second, and `Controller::Healthy()` returns the exception until the event has
// been told.
//
// `informer` must outlive the controller. A bad option makes
// `Controller::Start()` fail.
//
// Example, a controller of deployments, which also looks at their pods:
//
//     controller_options.sources = {
//         workqueue::MakeInformerSource<std::string>(
//             *deployments, [](const Deployment& it) {
//               return std::vector<std::string>{it.name};
//             }),
//         workqueue::MakeInformerSource<std::string>(
//             *pods, [](const Pod& it) {
//               return std::vector<std::string>{it.owner};
//             })};
template <typename T, typename Object>
Source<T> MakeInformerSource(
    Informer<Object>& informer,
    typename InformerSourceOptions<Object>::template Items<T> items,
    InformerSourceOptions<Object> options = {});

// ObjectChanged()
//
// Returns a predicate for `InformerSourceOptions`. It accepts an update if
// `part` of the two states differs, and every other event. `part` returns the
// part of an object that matters, for example its labels. A resync is not
// accepted.
template <typename Object, typename Part>
std::function<bool(const ObjectEvent<Object>&)> ObjectChanged(Part part) {
  return [part = std::move(part)](const ObjectEvent<Object>& event) {
    return event.old_object == nullptr || event.new_object == nullptr ||
           part(*event.old_object) != part(*event.new_object);
  };
}

// Implementation details follow.

namespace internal {

template <typename T, typename Object>
class InformerSource {
 public:
  InformerSource(
      Informer<Object>* informer,
      typename InformerSourceOptions<Object>::template Items<T> items,
      InformerSourceOptions<Object> options)
      : informer_(informer),
        items_(std::move(items)),
        options_(std::move(options)) {}

  // The function of the source.
  absl::Status Run(SourceContext<T>& context) {
    if (items_ == nullptr) {
      return absl::InvalidArgumentError("items is empty; it must be callable");
    }
    const absl::Status checked =
        CheckPositive("resync_period", options_.resync_period);
    if (!checked.ok()) return checked;
    InformerHandler<Object> handler;
    handler.on_event = [this, &context](const ObjectEvent<Object>& event) {
      OnEvent(context, event);
    };
    handler.on_synced = context.mark_synced;
    handler.on_health = [&context](const absl::Status& status) {
      status.ok() ? context.mark_synced() : context.mark_unhealthy(status);
    };
    const auto id = informer_->AddHandler(std::move(handler));
    absl::Cleanup remove = [&] { informer_->RemoveHandler(id); };
    const absl::Status started = informer_->Start();
    if (!started.ok()) return started;

    absl::Duration pause = options_.resync_period;
    while (context.Sleep(pause)) {
      const bool resynced = TryCall([&] { informer_->Resync(id); });
      pause = resynced ? options_.resync_period : RetryDelay();
    }
    return absl::OkStatus();
  }

 private:
  // Handles an event of the informer: adds its items.
  void OnEvent(SourceContext<T>& context, const ObjectEvent<Object>& event) {
    // A resync of many objects would hold the stop up.
    if (context.stop.HasBeenNotified()) return;
    if (options_.predicate != nullptr && !options_.predicate(event)) return;
    const bool is_resync = event.old_object == event.new_object;
    AddOptions add;
    if (event.is_in_initial_list || is_resync) {
      add.priority = options_.initial_priority;
    }
    std::vector<T> items;
    if (event.new_object != nullptr) items = items_(*event.new_object);
    if (event.old_object != nullptr && !is_resync) {
      for (T& item : items_(*event.old_object))
        items.push_back(std::move(item));
    }
    // `SourceContext::queue` keeps what the queue does not take now.
    const absl::Status added = context.queue.AddItems(add, items);
    if (!added.ok() && !context.queue.ShuttingDown()) {
      context.mark_unhealthy(added);
    }
  }

  Informer<Object>* const informer_;
  const typename InformerSourceOptions<Object>::template Items<T> items_;
  const InformerSourceOptions<Object> options_;
};

}  // namespace internal

template <typename T, typename Object>
Source<T> MakeInformerSource(
    Informer<Object>& informer,
    typename InformerSourceOptions<Object>::template Items<T> items,
    InformerSourceOptions<Object> options) {
  Source<T> source;
  source.name = options.name.empty() ? informer.name() : options.name;
  source.wait_for_sync = true;
  auto state = std::make_shared<internal::InformerSource<T, Object>>(
      &informer, std::move(items), std::move(options));
  source.run = [state](SourceContext<T>& context) {
    return state->Run(context);
  };
  return source;
}

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_INFORMER_SOURCE_H_
