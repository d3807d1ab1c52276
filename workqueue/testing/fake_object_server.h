// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TESTING_FAKE_OBJECT_SERVER_H_
#define WORKQUEUE_TESTING_FAKE_OBJECT_SERVER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/lister_watcher.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// FakeObjectServer
//
// A server of objects in memory, for tests of code that has an `Informer`. A
// test changes the objects, and breaks what can break in a real server. It is
// for informers what `FakeClock` is for time.
//
// Versions are numbers, from 0. Each change makes the next one.
//
// Example:
//
//     workqueue::FakeObjectServer<Pod> server(
//         [](const Pod& pod) { return pod.name; });
//     server.Put({"web-0", "node-1"});
//     workqueue::InformerOptions<Pod> options;
//     options.lister_watcher = server.NewListerWatcher();
//     ...
//     server.Put({"web-0", "node-2"});
//     server.AwaitWatched();
//     EXPECT_EQ((*pods)->store().Get("web-0")->node, "node-2");
//
// Thread-safe.
template <typename Object>
class FakeObjectServer {
 public:
  // `key` returns the key of an object. `set_version`, if it is not null, is
  // called with each object that is put, and with its version.
  explicit FakeObjectServer(
      std::function<std::string(const Object&)> key,
      std::function<void(Object&, int64_t version)> set_version = nullptr)
      : key_(std::move(key)), set_version_(std::move(set_version)) {}

  FakeObjectServer(const FakeObjectServer&) = delete;
  FakeObjectServer& operator=(const FakeObjectServer&) = delete;

  // Returns a client of this server, which must outlive it.
  std::unique_ptr<ListerWatcher<Object>> NewListerWatcher() {
    return std::make_unique<Client>(this);
  }

  // Adds the object, or puts it in the place of the one with its key.
  void Put(Object object) {
    const std::string key = key_(object);
    internal::MutexLock lock(&mu_);
    ++version_;
    if (set_version_ != nullptr) set_version_(object, version_);
    std::shared_ptr<const Object>& stored = objects_[key];
    const auto type =
        stored == nullptr ? Event::Type::kAdded : Event::Type::kModified;
    stored = std::make_shared<const Object>(std::move(object));
    Append(type, stored);
  }

  // Removes the object with the key. Does nothing if there is none.
  void Erase(absl::string_view key) {
    internal::MutexLock lock(&mu_);
    const auto it = objects_.find(std::string(key));
    if (it == objects_.end()) return;
    ++version_;
    // As in Kubernetes, the version of the last state is that of the deletion.
    Object last = *it->second;
    if (set_version_ != nullptr) set_version_(last, version_);
    Append(Event::Type::kDeleted,
           std::make_shared<const Object>(std::move(last)));
    objects_.erase(it);
  }

  // Sends a bookmark to each watcher.
  void SendBookmark() {
    internal::MutexLock lock(&mu_);
    Append(Event::Type::kBookmark, nullptr);
  }

  // Ends each watch in progress: with an error, or, if `status` is OK, in a
  // regular way.
  void EndWatches(const absl::Status& status) {
    internal::MutexLock lock(&mu_);
    ++ends_;
    end_status_ = status;
  }

  // Forgets the past. These end with an `absl::OutOfRangeError`: a watch that
  // has not sent all changes up to now, a watch that begins at an earlier
  // version, and a list of an earlier version of which pages are left.
  void Compact() {
    internal::MutexLock lock(&mu_);
    compacted_ = history_.size();
    compacted_version_ = version_;
  }

  // Makes the next `n` calls of `ListerWatcher::List()`, or of
  // `ListerWatcher::Watch()`, return the error.
  void FailLists(int n, const absl::Status& error) {
    internal::MutexLock lock(&mu_);
    list_failures_ = {n, error};
  }
  void FailWatches(int n, const absl::Status& error) {
    internal::MutexLock lock(&mu_);
    watch_failures_ = {n, error};
  }

  // Sets the number of objects in a page of a list. At least 1; at first no
  // limit.
  void SetPageSize(size_t objects) {
    internal::MutexLock lock(&mu_);
    page_size_ = objects;
  }

  // Sets the number of events before its version that a new watch sends again.
  void SetRepeatedEvents(size_t events) {
    internal::MutexLock lock(&mu_);
    repeated_events_ = events;
  }

  // Sets a function that is called each time that a watch has sent all events,
  // before it waits for the next one. It may call the other methods, but not
  // `AwaitWatched()`.
  void SetOnSent(std::function<void()> on_sent) {
    internal::MutexLock lock(&mu_);
    on_sent_ = std::move(on_sent);
  }

  // Blocks until `watchers` watchers have sent all events, and the informers
  // have handled them.
  void AwaitWatched(int watchers = 1) const {
    internal::MutexLock lock(&mu_);
    const auto watched = [this, watchers]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      int up_to_date = 0;
      for (const ClientWatcher* it : waiting_) up_to_date += !HasNews(*it);
      return up_to_date >= watchers;
    };
    mu_.Await(absl::Condition(&watched));
  }

  // Return the number of calls of `List()`, also for further pages, and of
  // `Watch()`, with those that failed.
  int lists() const {
    internal::MutexLock lock(&mu_);
    return lists_;
  }
  int watches() const {
    internal::MutexLock lock(&mu_);
    return watches_;
  }

  // Returns the objects, by key.
  std::map<std::string, std::shared_ptr<const Object>> objects() const {
    internal::MutexLock lock(&mu_);
    return objects_;
  }

 private:
  class Client;
  class ClientWatcher;
  using Event = WatchEvent<Object>;

  // The errors that the next calls of a method return.
  struct Failures {
    int left = 0;
    absl::Status error;

    absl::Status Next() {
      return left > 0 ? (--left, error) : absl::OkStatus();
    }
  };

  // The methods of `Client` and `ClientWatcher`. `Next()` blocks.
  absl::StatusOr<ListPage> List(
      Client& client, const ListOptions& options,
      absl::FunctionRef<void(std::shared_ptr<const Object>)> add)
      ABSL_LOCKS_EXCLUDED(mu_) {
    std::vector<std::shared_ptr<const Object>> objects;
    ListPage page;
    {
      internal::MutexLock lock(&mu_);
      ++lists_;
      if (client.stopped) return absl::CancelledError("stopped");
      const absl::Status failure = list_failures_.Next();
      if (!failure.ok()) return failure;
      size_t begin = 0;
      if (options.page.empty()) {
        client.listed.clear();
        for (const auto& [key, object] : objects_) {
          client.listed.push_back(object);
        }
        client.listed_version = version_;
      } else if (client.listed_version < compacted_version_) {
        return absl::OutOfRangeError("the list has expired");
      } else if (!absl::SimpleAtoi(options.page, &begin) ||
                 begin > client.listed.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("page is '", options.page,
                         "'; it must be one that the last list has returned"));
      }
      const size_t end =
          (std::min)(client.listed.size() - begin, page_size_) + begin;
      const auto first = client.listed.begin();
      objects.assign(first + static_cast<ptrdiff_t>(begin),
                     first + static_cast<ptrdiff_t>(end));
      page.version = absl::StrCat(client.listed_version);
      if (end < client.listed.size()) page.next_page = absl::StrCat(end);
    }
    // The receiver may use the server.
    for (const auto& object : objects) add(object);
    return page;
  }

  absl::StatusOr<std::unique_ptr<Watcher<Object>>> Watch(
      const Client& client, const std::string& version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++watches_;
    if (client.stopped) return absl::CancelledError("stopped");
    const absl::Status failure = watch_failures_.Next();
    if (!failure.ok()) return failure;
    int64_t since = 0;
    if (!absl::SimpleAtoi(version, &since)) {
      return absl::InvalidArgumentError(
          absl::StrCat("version is '", version, "'; it must be a number"));
    }
    if (since < compacted_version_) {
      return absl::OutOfRangeError(absl::StrCat("version ", since, " is gone"));
    }
    size_t next = history_.size();
    while (next > compacted_ && versions_[next - 1] > since) --next;
    next -= (std::min)(next - compacted_, repeated_events_);
    return std::make_unique<ClientWatcher>(this, &client, next, ends_);
  }

  absl::StatusOr<std::optional<Event>> Next(ClientWatcher& watcher)
      ABSL_LOCKS_EXCLUDED(mu_) {
    std::function<void()> on_sent;
    {
      internal::MutexLock lock(&mu_);
      if (!HasNews(watcher)) on_sent = on_sent_;
    }
    if (on_sent != nullptr) on_sent();
    internal::MutexLock lock(&mu_);
    const auto news = [this, &watcher]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return HasNews(watcher);
    };
    waiting_.push_back(&watcher);
    mu_.Await(absl::Condition(&news));
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &watcher));
    if (watcher.client->stopped) return absl::CancelledError("stopped");
    if (watcher.ends != ends_) {
      if (end_status_.ok()) return std::nullopt;
      return end_status_;
    }
    if (watcher.next < compacted_) {
      return absl::OutOfRangeError("changes have been forgotten");
    }
    return history_[watcher.next++];
  }

  // Returns whether `Next()` need not wait.
  bool HasNews(const ClientWatcher& watcher) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return watcher.client->stopped || watcher.ends != ends_ ||
           watcher.next < history_.size();
  }

  void Append(typename Event::Type type, std::shared_ptr<const Object> object)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    history_.push_back({type, std::move(object), absl::StrCat(version_)});
    versions_.push_back(version_);
  }

  const std::function<std::string(const Object&)> key_;
  const std::function<void(Object&, int64_t)> set_version_;

  mutable sync::Mutex mu_;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, std::shared_ptr<const Object>> objects_
      ABSL_GUARDED_BY(mu_);
  // All events, with their versions. Those before `compacted_` are forgotten.
  std::vector<Event> history_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> versions_ ABSL_GUARDED_BY(mu_);
  size_t compacted_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t compacted_version_ ABSL_GUARDED_BY(mu_) = 0;
  // The number of calls of EndWatches(), and the status of the last one.
  int ends_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);
  Failures list_failures_ ABSL_GUARDED_BY(mu_);
  Failures watch_failures_ ABSL_GUARDED_BY(mu_);
  size_t page_size_ ABSL_GUARDED_BY(mu_) = SIZE_MAX;
  size_t repeated_events_ ABSL_GUARDED_BY(mu_) = 0;
  std::function<void()> on_sent_ ABSL_GUARDED_BY(mu_);
  int lists_ ABSL_GUARDED_BY(mu_) = 0;
  int watches_ ABSL_GUARDED_BY(mu_) = 0;
  // The watchers that wait for an event.
  std::vector<const ClientWatcher*> waiting_ ABSL_GUARDED_BY(mu_);
};

// Implementation details follow.

template <typename Object>
class FakeObjectServer<Object>::Client final : public ListerWatcher<Object> {
 public:
  explicit Client(FakeObjectServer* server) : server_(server) {}

  absl::StatusOr<ListPage> List(
      const ListOptions& options,
      absl::FunctionRef<void(std::shared_ptr<const Object>)> add) override {
    return server_->List(*this, options, add);
  }

  absl::StatusOr<std::unique_ptr<Watcher<Object>>> Watch(
      const std::string& version) override {
    internal::MutexLock lock(&server_->mu_);
    return server_->Watch(*this, version);
  }

  void Stop() override {
    internal::MutexLock lock(&server_->mu_);
    stopped = true;
  }

  // The members are guarded by the server's mutex.
  bool stopped = false;
  // The list of which pages are left, and the version of it.
  std::vector<std::shared_ptr<const Object>> listed;
  int64_t listed_version = 0;

 private:
  FakeObjectServer* const server_;
};

template <typename Object>
class FakeObjectServer<Object>::ClientWatcher final : public Watcher<Object> {
 public:
  ClientWatcher(FakeObjectServer* server, const Client* its_client, size_t from,
                int ends_before)
      : client(its_client), ends(ends_before), next(from), server_(server) {}

  absl::StatusOr<std::optional<Event>> Next() override {
    return server_->Next(*this);
  }

  const Client* const client;
  const int ends;  // FakeObjectServer::ends_ when the watch began
  size_t next;     // the number of the next event; guarded as Client's members

 private:
  FakeObjectServer* const server_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TESTING_FAKE_OBJECT_SERVER_H_
