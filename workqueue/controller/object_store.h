// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_OBJECT_STORE_H_
#define WORKQUEUE_CONTROLLER_OBJECT_STORE_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/lru_map.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

// Indexer
//
// Describes an index of an `ObjectStore`. The index finds objects by a value
// that is computed from them, for example the name of their owner.
template <typename Object>
struct Indexer {
  std::string name;

  // Returns the values under which the object is found. Equal values count
  // once. It is called once for each `Put()`, with no lock held.
  std::function<std::vector<std::string>(const Object& object)> values;
};

// ObjectStore
//
// A map from keys to objects, with indexes. An object never changes: a new
// state is another object, which takes the place of the old one. So a reader
// keeps what it has read as long as it likes.
//
// Example:
//
//     workqueue::ObjectStore<Pod> pods(
//         {{"node", [](const Pod& pod) {
//             return std::vector<std::string>{pod.node};
//           }}});
//     pods.Put("default/web-0", std::make_shared<Pod>(...));
//     std::shared_ptr<const Pod> web = pods.Get("default/web-0");
//     absl::StatusOr<std::vector<std::shared_ptr<const Pod>>> on_node =
//         pods.ByIndex("node", "node-7");
//
// Readers share a lock. A reader waits at most for the change of one object, or
// for the end of a reader's copy if a change waits for it. No lock is held
// while an `Informer` waits for its server.
//
// Memory is proportional to the objects, and the memory of a peak is freed even
// if some of its objects stay. No change takes longer because there are many
// objects.
//
// Thread-safe.
template <typename Object>
class ObjectStore {
 public:
  using ObjectPtr = std::shared_ptr<const Object>;

  // Of several indexers of the same name, the first one counts.
  explicit ObjectStore(std::vector<Indexer<Object>> indexers = {});

  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  // Returns the object with the key, or null if there is none. Takes constant
  // time.
  ObjectPtr Get(absl::string_view key) const;

  // Return all objects, or the keys of all objects, in no particular order.
  std::vector<ObjectPtr> List() const;
  std::vector<std::string> Keys() const;

  // Returns the number of objects.
  size_t size() const;

  // Returns the objects that have `value` in the index with the name `index`,
  // in no particular order. Returns `absl::NotFoundError` if there is no such
  // index. Takes time in proportion to the result.
  absl::StatusOr<std::vector<ObjectPtr>> ByIndex(absl::string_view index,
                                                 absl::string_view value) const;

  // Stores `object` under `key`. Returns the object that was there before, or
  // null. `object` must not be null, and must not be stored under another key.
  // If an allocation throws, the store stays as it was.
  ObjectPtr Put(absl::string_view key, ObjectPtr object);

  // Removes the object with the key. Returns it, or null if there is none.
  ObjectPtr Erase(absl::string_view key);

 private:
  // That an object is found by a value of an index.
  struct Membership : internal::IntrusiveLink<Membership> {
    Membership(size_t its_index, std::string&& its_value,
               const ObjectPtr& its_object)
        : index(its_index), value(std::move(its_value)), object(its_object) {}

    size_t index;  // the number of its indexer
    std::string value;
    ObjectPtr object;
  };
  using Memberships = std::vector<Membership>;

  struct Stored {
    ObjectPtr object;
    Memberships memberships;  // not resized, because they are in lists
  };

  using Strings = absl::flat_hash_set<std::string>;
  template <typename Value>
  using Map =
      internal::LruMap<std::string, Value, Strings::hasher, Strings::key_equal>;
  // The memberships of each value.
  using Index = Map<internal::IntrusiveList<Membership>>;

  static size_t HashOf(absl::string_view text) {
    return Strings::hasher()(text);
  }

  Memberships MembershipsOf(const ObjectPtr& object) const {
    Memberships memberships;
    for (size_t i = 0; i < indexers_.size(); ++i) {
      std::vector<std::string> values = indexers_[i].values(*object);
      absl::c_sort(values);
      values.erase(std::unique(values.begin(), values.end()), values.end());
      for (std::string& value : values) {
        memberships.emplace_back(i, std::move(value), object);
      }
    }
    return memberships;
  }
  void AddToIndex(Membership* membership) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    indexes_[membership->index].Update(
        membership->value, HashOf(membership->value),
        [membership](auto& members) { members.PushBack(membership); });
  }
  // Throws nothing.
  void RemoveFromIndexes(absl::Span<Membership> memberships)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (Membership& it : memberships) {
      Index& index = indexes_[it.index];
      const size_t hash = HashOf(it.value);
      auto* const members = index.Find(it.value, hash);
      members->Remove(&it);
      if (members->empty()) index.Erase(it.value, hash);
    }
  }

  const std::vector<Indexer<Object>> indexers_;
  mutable sync::Mutex mu_;
  Map<Stored> objects_ ABSL_GUARDED_BY(mu_);
  // The index of the indexer with the same number.
  std::vector<Index> indexes_ ABSL_GUARDED_BY(mu_);
};

// Implementation details follow.

template <typename Object>
ObjectStore<Object>::ObjectStore(std::vector<Indexer<Object>> indexers)
    : indexers_(std::move(indexers)), indexes_(indexers_.size()) {}

template <typename Object>
auto ObjectStore<Object>::Get(absl::string_view key) const -> ObjectPtr {
  const size_t hash = HashOf(key);
  internal::ReaderMutexLock lock(&mu_);
  const Stored* const stored = objects_.Find(key, hash);
  return stored == nullptr ? nullptr : stored->object;
}

template <typename Object>
auto ObjectStore<Object>::List() const -> std::vector<ObjectPtr> {
  std::vector<ObjectPtr> objects;
  internal::ReaderMutexLock lock(&mu_);
  objects.reserve(objects_.size());
  objects_.ForEach([&objects](const std::string&, const Stored& stored) {
    objects.push_back(stored.object);
  });
  return objects;
}

template <typename Object>
std::vector<std::string> ObjectStore<Object>::Keys() const {
  std::vector<std::string> keys;
  internal::ReaderMutexLock lock(&mu_);
  keys.reserve(objects_.size());
  objects_.ForEach(
      [&keys](const std::string& key, const Stored&) { keys.push_back(key); });
  return keys;
}

template <typename Object>
size_t ObjectStore<Object>::size() const {
  internal::ReaderMutexLock lock(&mu_);
  return objects_.size();
}

template <typename Object>
auto ObjectStore<Object>::ByIndex(absl::string_view index,
                                  absl::string_view value) const
    -> absl::StatusOr<std::vector<ObjectPtr>> {
  for (size_t i = 0; i < indexers_.size(); ++i) {
    if (indexers_[i].name != index) continue;
    std::vector<ObjectPtr> objects;
    const size_t hash = HashOf(value);
    internal::ReaderMutexLock lock(&mu_);
    const auto* const memberships = indexes_[i].Find(value, hash);
    if (memberships == nullptr) return objects;
    objects.reserve(memberships->size());
    const Membership* it = memberships->front();
    for (; it != nullptr; it = it->next()) objects.push_back(it->object);
    return objects;
  }
  return absl::NotFoundError(absl::StrCat("there is no index '", index, "'"));
}

template <typename Object>
auto ObjectStore<Object>::Put(absl::string_view key, ObjectPtr object)
    -> ObjectPtr {
  Memberships memberships = MembershipsOf(object);
  const size_t hash = HashOf(key);
  internal::MutexLock lock(&mu_);
  const Stored* const stored = objects_.Find(key, hash);
  const ObjectPtr old = stored == nullptr ? nullptr : stored->object;
  if (old == object) return old;
  size_t added = 0;
  absl::Cleanup undo = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    RemoveFromIndexes(absl::MakeSpan(memberships).first(added));
  };
  for (; added < memberships.size(); ++added) AddToIndex(&memberships[added]);
  objects_.Update(std::string(key), hash, [&](Stored& it) {
    it.object = std::move(object);
    std::swap(it.memberships, memberships);
  });
  std::move(undo).Cancel();
  RemoveFromIndexes(absl::MakeSpan(memberships));
  return old;
}

template <typename Object>
auto ObjectStore<Object>::Erase(absl::string_view key) -> ObjectPtr {
  const size_t hash = HashOf(key);
  Stored erased;  // destroyed without the lock
  internal::MutexLock lock(&mu_);
  Stored* const stored = objects_.Find(key, hash);
  if (stored == nullptr) return nullptr;
  erased = std::move(*stored);
  RemoveFromIndexes(absl::MakeSpan(erased.memberships));
  objects_.Erase(key, hash);
  return erased.object;
}

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_OBJECT_STORE_H_
