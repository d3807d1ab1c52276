// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_LISTER_WATCHER_H_
#define WORKQUEUE_CONTROLLER_LISTER_WATCHER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace workqueue {

// ListOptions
//
// Says which part of a list `ListerWatcher::List()` returns.
struct ListOptions {
  // The list must not be older than this version. If this is empty, the list
  // must be of the newest state; but as long as no list has returned a page or
  // an object, any state that the server has had will do.
  std::string min_version;

  // The `ListPage::next_page` of the page before. Empty for the first page.
  std::string page;
};

// ListPage
//
// Describes a part of a list. A server that returns everything at once returns
// one page.
struct ListPage {
  // The version of the server's state of which this is a list. All pages of a
  // list are of one version.
  std::string version;

  // Names the next page. Empty if this is the last page.
  std::string next_page;
};

// WatchEvent
//
// A change of one object, or, if `type` is `kBookmark`, of none.
template <typename Object>
struct WatchEvent {
  enum class Type {
    kAdded,
    kModified,
    kDeleted,
    // The watcher has sent all changes up to `version`. The server may send
    // bookmarks so that a watch can be resumed from a recent version.
    kBookmark,
  };

  Type type = Type::kBookmark;

  // The new state of the object or, if it has been deleted, its last state.
  // Null in a bookmark, and only there.
  std::shared_ptr<const Object> object;

  // The version of the server's state after this event.
  std::string version;
};

// Watcher
//
// A watch in progress.
template <typename Object>
class Watcher {
 public:
  virtual ~Watcher() = default;

  // Blocks until there is an event, and returns it. Returns nothing if the
  // server has ended the watch in a regular way. The errors are those of
  // `ListerWatcher::Watch()`. After an error or the end, it is not called
  // again.
  virtual absl::StatusOr<std::optional<WatchEvent<Object>>> Next() = 0;
};

// ListerWatcher
//
// An interface to a server that has objects of one kind, numbers the versions
// of its state, can list the objects, and can send the changes since a version.
// The API of Kubernetes is of this kind. An `Informer` uses it.
//
// Versions are strings that only the server understands.
//
// The events of one object must arrive in the order in which they happened. An
// event may arrive twice; see `InformerOptions::is_newer`.
//
// `List()`, `Watch()` and `Watcher::Next()` are called from one thread at a
// time. They must also return when a connection has died without a word, for
// example after a timeout. An exception counts as an error.
template <typename Object>
class ListerWatcher {
 public:
  virtual ~ListerWatcher() = default;

  // Lists a page of all objects. Calls `add` with each object, which is not
  // null, as soon as the server has sent it. Returns an `absl::OutOfRangeError`
  // if `options.page` has expired, or if the server will not reach
  // `options.min_version`, for example because it was restored from a backup.
  // After any error the informer begins again with the first page, and the
  // objects so far stay in its store. After this one, and if a page has broken
  // off after an object, it asks for the newest state.
  virtual absl::StatusOr<ListPage> List(
      const ListOptions& options,
      absl::FunctionRef<void(std::shared_ptr<const Object>)> add) = 0;

  // Begins to watch the changes after `version`. Returns when the server has
  // accepted the watch. The caller destroys the watcher before the next call.
  //
  // These errors, of this method and of `Watcher::Next()`, make the informer
  // list again:
  //
  //   * `absl::OutOfRangeError` if the server no longer has the changes after
  //     `version`. Kubernetes calls this status "410 Gone".
  //   * `absl::DataLossError` if events have been missed.
  //
  // After any other error, the informer watches again from the version of the
  // last event.
  virtual absl::StatusOr<std::unique_ptr<Watcher<Object>>> Watch(
      const std::string& version) = 0;

  // Makes a call in progress, and each later call, return soon with an error,
  // for example `absl::CancelledError`. Called from another thread. Must not
  // block.
  virtual void Stop() = 0;
};

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_LISTER_WATCHER_H_
