// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/controller/object_store.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_CONTROLLER_OBJECT_STORE_H_
#define WORKQUEUE_CONTROLLER_OBJECT_STORE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/internal/mutex_lock.h"

namespace workqueue {

// Indexer
//
// Describes an index of an `ObjectStore`. The index finds objects by a value
// that is computed from them, for example the name of their owner.
template <typename Object>
struct Indexer {
  std::string name;

  // Returns the values under which the object is found. Equal values count
  // once. It must return the same values for an object each time. It is called
  // with the lock of the store, so it must be quick and must not use the store.
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
  using Objects = absl::flat_hash_set<ObjectPtr>;

  using Index = absl::flat_hash_map<std::string, Objects>;

  // The values of an object in each index.
  using Values = std::vector<std::vector<std::string>>;

  Values ValuesOf(const Object& object) const;
  void AddToIndexes(const ObjectPtr& object, const Values& values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RemoveFromIndexes(const ObjectPtr& object, const Values& values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::vector<Indexer<Object>> indexers_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, ObjectPtr> objects_ ABSL_GUARDED_BY(mu_);
  // The index of the indexer with the same number.
  std::vector<Index> indexes_ ABSL_GUARDED_BY(mu_);
};

// -----------------------------------------------------------------------------
// Implementation details follow.
// -----------------------------------------------------------------------------

template <typename Object>
ObjectStore<Object>::ObjectStore(std::vector<Indexer<Object>> indexers)
    : indexers_(std::move(indexers)), indexes_(indexers_.size()) {}

template <typename Object>
auto ObjectStore<Object>::Get(absl::string_view key) const -> ObjectPtr {
  internal::ReaderMutexLock lock(&mu_);
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : it->second;
}

template <typename Object>
auto ObjectStore<Object>::List() const -> std::vector<ObjectPtr> {
  std::vector<ObjectPtr> objects;
  internal::ReaderMutexLock lock(&mu_);
  objects.reserve(objects_.size());
  for (const auto& [key, object] : objects_) objects.push_back(object);
  return objects;
}

template <typename Object>
std::vector<std::string> ObjectStore<Object>::Keys() const {
  std::vector<std::string> keys;
  internal::ReaderMutexLock lock(&mu_);
  keys.reserve(objects_.size());
  for (const auto& [key, object] : objects_) keys.push_back(key);
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
    internal::ReaderMutexLock lock(&mu_);
    const auto it = indexes_[i].find(value);
    if (it == indexes_[i].end()) return std::vector<ObjectPtr>();
    return std::vector<ObjectPtr>(it->second.begin(), it->second.end());
  }
  return absl::NotFoundError(absl::StrCat("there is no index '", index, "'"));
}

template <typename Object>
auto ObjectStore<Object>::Put(absl::string_view key, ObjectPtr object)
    -> ObjectPtr {
  const Values values = ValuesOf(*object);
  internal::MutexLock lock(&mu_);
  const auto it = objects_.find(key);
  const ObjectPtr old = it == objects_.end() ? nullptr : it->second;
  if (old == object) return old;
  absl::Cleanup undo = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    RemoveFromIndexes(object, values);
  };
  AddToIndexes(object, values);
  if (old != nullptr) {
    RemoveFromIndexes(old, ValuesOf(*old));
    it->second = object;
  } else {
    objects_.emplace(key, object);
  }
  std::move(undo).Cancel();
  return old;
}

template <typename Object>
auto ObjectStore<Object>::Erase(absl::string_view key) -> ObjectPtr {
  internal::MutexLock lock(&mu_);
  const auto it = objects_.find(key);
  if (it == objects_.end()) return nullptr;
  RemoveFromIndexes(it->second, ValuesOf(*it->second));
  ObjectPtr erased = std::move(it->second);
  objects_.erase(it);
  return erased;
}

template <typename Object>
auto ObjectStore<Object>::ValuesOf(const Object& object) const -> Values {
  Values values;
  values.reserve(indexers_.size());
  for (const Indexer<Object>& it : indexers_) {
    values.push_back(it.values(object));
  }
  return values;
}

template <typename Object>
void ObjectStore<Object>::AddToIndexes(const ObjectPtr& object,
                                       const Values& values) {
  for (size_t i = 0; i < indexes_.size(); ++i) {
    for (const std::string& value : values[i]) {
      indexes_[i][value].insert(object);
    }
  }
}

template <typename Object>
void ObjectStore<Object>::RemoveFromIndexes(const ObjectPtr& object,
                                            const Values& values) {
  for (size_t i = 0; i < indexes_.size(); ++i) {
    for (const std::string& value : values[i]) {
      const auto it = indexes_[i].find(value);
      if (it == indexes_[i].end()) continue;
      it->second.erase(object);
      if (it->second.empty()) indexes_[i].erase(it);
    }
  }
}

}  // namespace workqueue

#endif  // WORKQUEUE_CONTROLLER_OBJECT_STORE_H_
