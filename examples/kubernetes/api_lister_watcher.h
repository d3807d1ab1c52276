// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/api_lister_watcher.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_API_LISTER_WATCHER_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_API_LISTER_WATCHER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/objects.h"
#include "examples/kubernetes/watcher.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/lister_watcher.h"
#include "workqueue/controller/object_store.h"
#include "workqueue/log_sink.h"

namespace kubernetes {

// Returns the message that `what` all objects of a type has no version. A watch
// from an empty version would begin at any state, so changes could be lost.
template <typename Object>
std::string NoVersion(absl::string_view what) {
  return absl::StrCat(what, ResourceOf<Object>().plural,
                      " has no resourceVersion");
}

// ApiWatcher
//
// A watch of an API server, for an informer.
template <typename Object>
class ApiWatcher final : public workqueue::Watcher<Object> {
 public:
  explicit ApiWatcher(std::unique_ptr<Watcher> watcher)
      : watcher_(std::move(watcher)) {}

  absl::StatusOr<std::optional<workqueue::WatchEvent<Object>>> Next() override {
    const absl::StatusOr<std::optional<WatchEvent>> next = watcher_->Next();
    // Nothing may have happened for so long. The next watch finds out.
    if (absl::IsDeadlineExceeded(next.status())) return std::nullopt;
    if (!next.ok()) return next.status();
    if (!next->has_value()) return std::nullopt;
    workqueue::WatchEvent<Object> event;
    event.type = TypeOf((*next)->type);
    const Json& json = (*next)->object;
    event.version =
        std::string(StringAt(json, {"metadata", "resourceVersion"}));
    if (event.version.empty()) {
      return absl::DataLossError(NoVersion<Object>("an event of a watch of "));
    }
    if ((*next)->type != WatchEvent::Type::kBookmark) {
      absl::StatusOr<Object> object = ParseObject<Object>(json);
      if (!object.ok()) return object.status();
      event.object = std::make_shared<const Object>(*std::move(object));
    }
    return event;
  }

 private:
  using Type = typename workqueue::WatchEvent<Object>::Type;

  static Type TypeOf(WatchEvent::Type type) {
    switch (type) {
      case WatchEvent::Type::kAdded:
        return Type::kAdded;
      case WatchEvent::Type::kModified:
        return Type::kModified;
      case WatchEvent::Type::kDeleted:
        return Type::kDeleted;
      default:
        return Type::kBookmark;
    }
  }

  const std::unique_ptr<Watcher> watcher_;
};

// ApiListerWatcher
//
// Lists and watches the objects of one type in all namespaces of an API server,
// for an informer. Asks as client-go's reflector does: the first list may be of
// any state that the server has in its cache, in one answer, and a later one is
// not older than what the informer has seen, in one answer, too. If that is not
// possible, it is of the newest state, in pages.
template <typename Object>
class ApiListerWatcher final : public workqueue::ListerWatcher<Object> {
 public:
  // No other code uses `client`, because `Stop()` stops it.
  explicit ApiListerWatcher(std::unique_ptr<Client> client)
      : client_(std::move(client)) {}

  absl::StatusOr<workqueue::ListPage> List(
      const workqueue::ListOptions& options,
      absl::FunctionRef<void(std::shared_ptr<const Object>)> add) override {
    ListOptions list;
    list.continue_token = options.page;
    list.limit = kPageSize;
    if (options.page.empty() && !options.min_version.empty()) {
      list.resource_version = options.min_version;
      list.resource_version_match = "NotOlderThan";
      list.limit = 0;  // Only then the server uses its cache.
    } else if (!listed_) {
      list.resource_version = "0";
    }
    // If the pages of a list expire before they have been read, the next list
    // has one page.
    if (pages_expired_) list.limit = 0;

    absl::Status invalid;
    const absl::StatusOr<ListPage> listed = client_->List(
        ResourceOf<Object>(), list, [this, &add, &invalid](const Json& json) {
          absl::StatusOr<Object> object = ParseObject<Object>(json);
          invalid.Update(object.status());
          if (!object.ok()) return;
          listed_ = true;  // also if the list breaks off now
          add(std::make_shared<const Object>(*std::move(object)));
        });
    pages_expired_ =
        !options.page.empty() && absl::IsOutOfRange(listed.status());
    if (!listed.ok()) return listed.status();
    if (!invalid.ok()) return invalid;
    if (listed->resource_version.empty()) {
      return absl::InternalError(NoVersion<Object>("a list of "));
    }
    listed_ = true;
    return workqueue::ListPage{listed->resource_version,
                               listed->continue_token};
  }

  absl::StatusOr<std::unique_ptr<workqueue::Watcher<Object>>> Watch(
      const std::string& version) override {
    WatchOptions options;
    options.resource_version = version;
    absl::StatusOr<std::unique_ptr<Watcher>> watcher =
        client_->Watch(ResourceOf<Object>(), options);
    if (!watcher.ok()) return watcher.status();
    return std::make_unique<ApiWatcher<Object>>(*std::move(watcher));
  }

  void Stop() override { client_->Stop(); }

 private:
  static constexpr int64_t kPageSize = 500;  // as in client-go

  const std::unique_ptr<Client> client_;
  bool listed_ = false;
  bool pages_expired_ = false;
};

// Returns the options of an informer of all objects of a type.
template <typename Object>
absl::StatusOr<workqueue::InformerOptions<Object>> ApiInformerOptions(
    const Config& config) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(config);
  if (!client.ok()) return client.status();
  workqueue::InformerOptions<Object> options;
  options.name = ResourceOf<Object>().plural;
  options.lister_watcher =
      std::make_unique<ApiListerWatcher<Object>>(*std::move(client));
  options.key = [](const Object& object) { return KeyOf(object.meta); };
  options.is_newer = [](const Object& a, const Object& b) {
    return IsNewer(a.meta.resource_version, b.meta.resource_version);
  };
  return options;
}

// Returns an informer of all objects of a type. `log_sink` must outlive it.
template <typename Object>
absl::StatusOr<std::unique_ptr<workqueue::Informer<Object>>> NewInformer(
    const Config& config, std::vector<workqueue::Indexer<Object>> indexers = {},
    workqueue::LogSink* log_sink = nullptr) {
  absl::StatusOr<workqueue::InformerOptions<Object>> options =
      ApiInformerOptions<Object>(config);
  if (!options.ok()) return options.status();
  options->indexers = std::move(indexers);
  options->log_sink = log_sink;
  return workqueue::Informer<Object>::Create(*std::move(options));
}

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_API_LISTER_WATCHER_H_
