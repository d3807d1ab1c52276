// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/shared_cases/server.h
// -----------------------------------------------------------------------------
//
// Figures of a Redis server. `address` is the path of its socket. A function
// that cannot reach the server ends the program.

#ifndef WORKQUEUE_BENCH_SHARED_CASES_SERVER_H_
#define WORKQUEUE_BENCH_SHARED_CASES_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/strings/string_view.h"
#include "hiredis/hiredis.h"

namespace workqueue {

// Prints the message, and ends the program with an error.
[[noreturn]] void Fail(absl::string_view message);

inline void Require(bool condition, absl::string_view message) {
  if (!condition) Fail(message);
}

using Connection = std::unique_ptr<redisContext, void (*)(redisContext*)>;
using Reply = std::unique_ptr<redisReply, void (*)(void*)>;

// Connects to the server.
Connection Connect(const std::string& address);

// Sends a command, whose words are `words`, and returns the server's answer,
// which is not an error.
Reply Ask(redisContext* connection, const std::vector<std::string>& words);

// Returns the bytes of memory that the server uses.
int64_t UsedMemory(const std::string& address);

// CommandCount
//
// Counts the commands that clients send, from the constructor until `Stop()`,
// as MONITOR shows them. Leaves out the commands that scripts call. INFO and
// `total_commands_processed` would count those, too.
class CommandCount {
 public:
  explicit CommandCount(const std::string& address);

  // Returns the number of commands. Must be called once.
  int64_t Stop();

 private:
  void Count();

  const std::string address_;
  Connection monitor_;
  int64_t count_ = 0;
  std::thread thread_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_SHARED_CASES_SERVER_H_
