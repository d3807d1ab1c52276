// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/shared_cases/server.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "hiredis/hiredis.h"

namespace workqueue {
namespace {

// The last command that `CommandCount` sees, and does not count.
constexpr absl::string_view kEnd = "end-of-count";

Reply Own(void* reply) {
  Reply owned(static_cast<redisReply*>(reply), freeReplyObject);
  Require(owned != nullptr && owned->type != REDIS_REPLY_ERROR,
          "the server does not answer");
  return owned;
}

std::string Text(const Reply& reply) {
  return std::string(reply->str, reply->len);
}

// Returns whether the line of MONITOR is about a command that a script called.
// A line begins with the time, and then has the client in brackets.
bool IsOfScript(absl::string_view line) {
  return absl::EndsWith(line.substr(0, line.find(']')), " lua");
}

}  // namespace

void Fail(absl::string_view message) {
  absl::FPrintF(stderr, "%s\n", message);
  std::_Exit(1);
}

Connection Connect(const std::string& address) {
  Connection connection(redisConnectUnix(address.c_str()), redisFree);
  Require(connection != nullptr && connection->err == 0, "cannot connect");
  return connection;
}

Reply Ask(redisContext* connection, const std::vector<std::string>& words) {
  std::vector<const char*> data;
  std::vector<size_t> sizes;
  for (const std::string& word : words) {
    data.push_back(word.data());
    sizes.push_back(word.size());
  }
  return Own(redisCommandArgv(connection, static_cast<int>(words.size()),
                              data.data(), sizes.data()));
}

int64_t UsedMemory(const std::string& address) {
  const Connection connection = Connect(address);
  const std::string info = Text(Ask(connection.get(), {"INFO", "memory"}));
  for (absl::string_view line : absl::StrSplit(info, "\r\n")) {
    int64_t bytes = 0;
    if (absl::ConsumePrefix(&line, "used_memory:") &&
        absl::SimpleAtoi(line, &bytes)) {
      return bytes;
    }
  }
  Fail("INFO has no used_memory");
}

CommandCount::CommandCount(const std::string& address)
    : address_(address), monitor_(Connect(address)) {
  Ask(monitor_.get(), {"MONITOR"});
  thread_ = std::thread([this] { Count(); });
}

int64_t CommandCount::Stop() {
  const Connection connection = Connect(address_);
  Ask(connection.get(), {"ECHO", std::string(kEnd)});
  thread_.join();
  return count_;
}

void CommandCount::Count() {
  for (;;) {
    void* reply = nullptr;
    Require(redisGetReply(monitor_.get(), &reply) == REDIS_OK,
            "MONITOR has ended");
    const std::string line = Text(Own(reply));
    if (absl::StrContains(line, kEnd)) return;
    if (!IsOfScript(line)) ++count_;
  }
}

}  // namespace workqueue
