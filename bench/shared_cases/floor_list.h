// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/shared_cases/floor_list.h
// -----------------------------------------------------------------------------
//
// The floor of a queue in Redis: a list. It has no leases, priorities, delays
// or failures, holds an item more than once, and loses the items of a worker
// that ends. It waits for the server, for the server's log on the disk, and for
// threads that wake. Every queue in Redis waits for these.

#ifndef WORKQUEUE_BENCH_SHARED_CASES_FLOOR_LIST_H_
#define WORKQUEUE_BENCH_SHARED_CASES_FLOOR_LIST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/shared_cases/server.h"

namespace workqueue {

// One client of the list, for one thread. `server` is the path of the server's
// socket.
class FloorList {
 public:
  explicit FloorList(const std::string& server)
      : connection_(Connect(server)) {}

  // Adds the items with one command.
  void Add(const std::vector<std::string>& items) {
    std::vector<std::string> words = {"RPUSH", "floor"};
    words.insert(words.end(), items.begin(), items.end());
    Ask(connection_.get(), words);
  }

  // Takes up to `max` items with one command. Blocks until there is one.
  std::vector<std::string> Take(int max) {
    const Reply reply =
        Ask(connection_.get(),
            {"BLMPOP", "0", "1", "floor", "LEFT", "COUNT", absl::StrCat(max)});
    const redisReply* items = reply->element[1];
    std::vector<std::string> taken;
    for (size_t i = 0; i < items->elements; ++i) {
      taken.emplace_back(items->element[i]->str, items->element[i]->len);
    }
    return taken;
  }

 private:
  const Connection connection_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_SHARED_CASES_FLOOR_LIST_H_
