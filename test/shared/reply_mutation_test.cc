// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that no reply of a server, however wrong, does more than fail a call.
// Each reply is sent with each of its parts missing, doubled, or replaced by
// something else, which is well formed; and then with random bytes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hiredis/hiredis.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/reply_proxy.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/lease.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/redis_engine.h"
#include "workqueue/shared/list_shared_queues.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {
namespace internal::reply_mutation_test {
namespace {

// The texts that replace a part of a reply. The last two leave the part out,
// and double it.
const std::vector<std::string>& Replacements() {
  static const auto* const all = new std::vector<std::string>{
      "$-1\r\n",
      "$0\r\n\r\n",
      "$3\r\nabc\r\n",
      "+text\r\n",
      ":0\r\n",
      ":-1\r\n",
      ":9223372036854775807\r\n",
      ":-9223372036854775808\r\n",
      "*-1\r\n",
      "*0\r\n",
      "*1\r\n:1\r\n",
      "*2\r\n*1\r\n$1\r\na\r\n:5\r\n",
      "-ERR wrong\r\n",
      "",
      "",
  };
  return *all;
}

// Writes a reply with one part replaced.
class Mutator {
 public:
  explicit Mutator(size_t mutation)
      : part_(mutation / Replacements().size()),
        replacement_(mutation % Replacements().size()) {}

  // Returns the text of `reply`, replaced.
  std::string Write(const redisReply& reply) {
    std::string text = WriteParts(reply);
    if (part_ != parts_++) return text;
    mutated_ = true;
    if (replacement_ + 1 == Replacements().size()) return text + text;
    return Replacements()[replacement_];
  }

  // Whether there was the part that is to be replaced.
  bool mutated() const { return mutated_; }

 private:
  std::string WriteParts(const redisReply& reply) {
    switch (reply.type) {
      case REDIS_REPLY_INTEGER:
        return absl::StrCat(":", reply.integer, "\r\n");
      case REDIS_REPLY_STATUS:
        return absl::StrCat("+", std::string(reply.str, reply.len), "\r\n");
      case REDIS_REPLY_STRING:
        return absl::StrCat("$", reply.len, "\r\n",
                            std::string(reply.str, reply.len), "\r\n");
      case REDIS_REPLY_ARRAY: {
        std::string elements;
        size_t n = reply.elements;
        for (size_t i = 0; i < reply.elements; ++i) {
          const bool was_mutated = mutated_;
          elements += Write(*reply.element[i]);
          if (mutated_ == was_mutated || counted_) continue;
          counted_ = true;  // the array stays well formed
          if (replacement_ + 1 == Replacements().size()) ++n;
          if (replacement_ + 2 == Replacements().size()) --n;
        }
        return absl::StrCat("*", n, "\r\n", elements);
      }
      default:
        return "$-1\r\n";
    }
  }

  const size_t part_;
  const size_t replacement_;
  size_t parts_ = 0;  // so far
  bool mutated_ = false;
  bool counted_ = false;
};

// Replaces one part of one reply that is an array, for each call of `Arm()`.
class OneMutation {
 public:
  // Returns whether there has been a reply since.
  bool Disarm() { return !armed_.exchange(false); }
  void Arm(size_t mutation) {
    mutation_ = mutation;
    mutated_ = false;
    armed_ = true;
  }

  // Whether the reply had the part.
  bool mutated() const { return mutated_; }

  void operator()(std::string* bytes) {
    if (!armed_ || bytes->front() != '*') return;
    redisReader* const reader = redisReaderCreate();
    redisReaderFeed(reader, bytes->data(), bytes->size());
    void* reply = nullptr;
    if (redisReaderGetReply(reader, &reply) == REDIS_OK && reply != nullptr) {
      Mutator mutator(mutation_);
      *bytes = mutator.Write(*static_cast<redisReply*>(reply));
      mutated_ = mutator.mutated();
      armed_ = false;
      freeReplyObject(reply);
    }
    redisReaderFree(reader);
  }

 private:
  std::atomic<size_t> mutation_{0};
  std::atomic<bool> armed_{false};
  std::atomic<bool> mutated_{false};
};

// How long a call may take that may wait in vain, because its reply has been
// changed, and one that must succeed, however busy the machine is.
constexpr absl::Duration kSoon = absl::Seconds(1);
constexpr absl::Duration kInTheEnd = absl::Seconds(30);

class ReplyMutationTest : public RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    proxy_ = std::make_unique<ReplyProxy>(server()->socket_path());
    proxy_->SetHook([this](std::string* bytes) { mutation_(bytes); });
    redis_.address = proxy_->socket_path();
  }

  void TearDown() override {
    if (proxy_ != nullptr) proxy_->SetHook(nullptr);
  }

  // Calls `f` with each mutation of its first reply that is an array, and then
  // `next` without.
  template <typename F, typename Next>
  void WithEach(F f, Next next) {
    size_t mutation = 0;
    bool had_part = true;
    while (had_part) {
      mutation_.Arm(mutation);
      f();
      // On a busy machine the reply may not have come in time.
      const bool came = mutation_.Disarm();
      if (came) {
        had_part = mutation_.mutated();
        ++mutation;
      }
      next();
    }
    EXPECT_GT(mutation, 3 * Replacements().size()) << "there is such a reply";
  }

  static absl::Time After(absl::Duration timeout) {
    return Clock::GetRealClock()->TimeNow() + timeout;
  }

  RedisOptions redis_;
  std::unique_ptr<ReplyProxy> proxy_;
  OneMutation mutation_;
};

TEST_F(ReplyMutationTest, Requests) {
  RedisEngine engine("q", 1, redis_);
  EngineRequest request;
  request.client = "client";
  request.now = 1;
  int64_t token = 0;
  WithEach(
      [&] {
        ++request.number;
        request.take = 1;
        request.operations = {
            {EngineOperation::kAdd, "a", 0, 0, 0},
            {EngineOperation::kAddAfter, "b", 1000, 0, 0},
            {EngineOperation::kNumRequeues, "a", 0, 0, 0},
        };
        const auto reply = engine.Apply(request, After(kSoon));
        if (!reply.ok()) return;
        EXPECT_EQ(reply->results.size(), 3u);
      },
      // The next request gets its own reply, whatever came before.
      [&] {
        ++request.number;
        ++token;
        request.take = 0;
        request.operations = {{EngineOperation::kDone, "a", token, 0, 0}};
        const auto reply = engine.Apply(request, After(kInTheEnd));
        ASSERT_TRUE(reply.ok()) << reply.status();
        ASSERT_EQ(reply->results.size(), 1u);
        EXPECT_EQ(reply->results[0], kTrue);
      });
}

TEST_F(ReplyMutationTest, Snapshots) {
  RedisEngine engine("q", 1, redis_);
  EngineRequest request;
  request.client = "client";
  request.number = 1;
  request.now = 1;
  request.take = 1;
  request.operations = {{EngineOperation::kAdd, "a", 5, 0, 0},
                        {EngineOperation::kAdd, "b", 0, 0, 0},
                        {EngineOperation::kAddAfter, "c", 1000, 0, 0}};
  ASSERT_TRUE(engine.Apply(request, After(kInTheEnd)).ok());
  EngineSnapshotRequest all;
  all.now = 1;
  all.max = 10;
  WithEach([&] { engine.TakeSnapshot(all, After(kSoon)).IgnoreError(); },
           [&] {
             const auto snapshot = engine.TakeSnapshot(all, After(kInTheEnd));
             ASSERT_TRUE(snapshot.ok()) << snapshot.status();
             EXPECT_EQ(snapshot->num_queued, 1u);
             EXPECT_EQ(snapshot->processing.size(), 1u);
             EXPECT_EQ(snapshot->waiting.size(), 1u);
           });
}

TEST_F(ReplyMutationTest, Elections) {
  LeaderLease::Options options;
  options.name = "election";
  options.redis = redis_;
  options.identity = "a";
  options.duration = absl::Seconds(15);
  options.timeout = kInTheEnd;
  LeaderLease lease(options);
  WithEach(
      [&] {
        const auto state = lease.Do(Election::Call::kTake, 0, kSoon);
        if (!state.ok()) return;
        EXPECT_GE(state->token, 0);
        EXPECT_GE(state->remaining, absl::ZeroDuration());
      },
      [&] {
        const auto state = lease.Look();
        ASSERT_TRUE(state.ok()) << state.status();
        EXPECT_EQ(state->holder, "a");
      });
}

TEST_F(ReplyMutationTest, Lists) {
  SharedQueueOptions<std::string> options;
  options.name = "q";
  options.redis = redis_;
  ASSERT_TRUE(SharedQueue<std::string>::Create(options).ok());
  WithEach([&] { ListSharedQueues(redis_, kSoon).IgnoreError(); },
           [&] {
             const auto queues = ListSharedQueues(redis_, kInTheEnd);
             ASSERT_TRUE(queues.ok()) << queues.status();
             EXPECT_EQ(queues->size(), 1u);
           });
}

// Random bytes in replies and in messages that come unasked.
TEST_F(ReplyMutationTest, Noise) {
  SharedQueueOptions<std::string> options;
  options.name = "q";
  options.redis = redis_;
  options.call_timeout = absl::Milliseconds(200);
  std::minstd_rand random;
  int changed = 0;
  proxy_->SetHook([&](std::string* bytes) {
    if (bytes->front() != '*' || random() % 3 != 0) return;
    ++changed;
    for (size_t n = random() % 3 + 1; n > 0; --n) {
      char& byte = (*bytes)[random() % bytes->size()];
      byte = random() % 2 == 0 ? static_cast<char>('0' + random() % 10)
                               : static_cast<char>(random() % 256);
    }
  });
  for (int i = 0; i < 10; ++i) {
    auto queue = SharedQueue<std::string>::Create(options);
    if (!queue.ok()) continue;
    for (int j = 0; j < 10; ++j) {
      (*queue)->Add(absl::StrCat(j));
      auto lease = (*queue)->AcquireWithTimeout(absl::Milliseconds(20));
      if (lease.ok()) lease->Done();
      (*queue)->TakeSnapshot().IgnoreError();
    }
  }
  EXPECT_GT(changed, 30);
  proxy_->SetHook(nullptr);
}

}  // namespace
}  // namespace internal::reply_mutation_test
}  // namespace workqueue
