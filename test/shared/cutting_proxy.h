// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines a bad network between a server and its clients.

#ifndef WORKQUEUE_TEST_SHARED_CUTTING_PROXY_H_
#define WORKQUEUE_TEST_SHARED_CUTTING_PROXY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/testing/thread.h"

namespace workqueue {

// CuttingProxy
//
// Passes connections to a Unix socket on to another, on a thread of its own. At
// random it closes a connection before a message, or after a request without
// the reply, or holds back what follows a message.
class CuttingProxy {
 public:
  struct Options {
    std::string server;  // the path of the server's socket
    std::string socket;  // the path of the proxy's socket, a new file
    uint32_t seed = 1;

    // Each of these happens to one of so many messages. 0: to none.
    uint32_t one_of = 500;
    // The longest time for which a connection is held up.
    absl::Duration longest_stall;

    // Replaces each `from` that a client sends by `to`, which is as long.
    std::string from;
    std::string to;
  };

  // Ends the program if the socket cannot be made.
  explicit CuttingProxy(Options options);
  ~CuttingProxy();

  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  const std::string& socket() const { return options_.socket; }

  // Closes all connections soon.
  void CutAll() { cut_all_ = true; }

  // The numbers of connections that were closed, without the server having
  // closed them, of replies that were dropped, of times that one was held up,
  // and of replacements.
  int64_t cuts() const { return cuts_; }
  int64_t dropped_replies() const { return dropped_; }
  int64_t stalls() const { return stalls_; }
  int64_t replacements() const { return replacements_; }

 private:
  // A client's connection, and the one to the server.
  struct Pair {
    int client = -1;
    int server = -1;
    bool drops_reply = false;
    std::string kept;  // what may be the begin of `from`
    absl::Time stalled_until = absl::InfinitePast();
  };

  void Run();
  void Accept();
  // Passes on what there is. Returns whether the connections are to be kept.
  bool FromClient(Pair* pair);
  bool FromServer(Pair* pair);
  // Replaces in `text`, after what was kept, and keeps what may go on.
  std::string Replace(Pair* pair, std::string text);
  bool OneOf() {
    return options_.one_of > 0 && random_() % options_.one_of == 0;
  }
  void Stall(Pair* pair);

  const Options options_;
  int listener_ = -1;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::atomic<bool> cut_all_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> cuts_{0};
  std::atomic<int64_t> dropped_{0};
  std::atomic<int64_t> stalls_{0};
  std::atomic<int64_t> replacements_{0};
  Thread thread_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_CUTTING_PROXY_H_
