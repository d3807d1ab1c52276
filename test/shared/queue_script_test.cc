// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a request is applied as a whole or not at all, whatever fails, and
// that its work is bounded.

#include "workqueue/shared/internal/queue_script.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "hiredis/hiredis.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"

namespace workqueue {
namespace internal::queue_script_test {
namespace {

using Words = std::vector<std::string>;

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, Free>;

// The texts of numbers that nobody should send or store.
const char* const kOddNumbers[] = {
    "",     "x",  "nan", "-nan",  "inf",
    "-inf", "-1", "0.5", "1e308", "18446744073709551615"};

// Comes before the script: lets call number `fail_at`, the last argument, fail
// if nothing has been written yet. Afterwards it lets a call fail whose command
// or key has not been tried before. Writes that do nothing do not count.
const char kFailing[] = R"lua(
local server, calls, fail_at = redis, 0, tonumber(table.remove(ARGV))
local commands, keys, wrote = {}, {}, false
local function may_fail(command, key, field, zero, member)
  calls = calls + 1
  local writes = command == 'HSET' or command == 'SPUBLISH' or
                 (command == 'HDEL' and field ~= '') or
                 (command == 'ZREM' and field ~= '') or
                 (command == 'ZADD' and field ~= 'XX')
  wrote = wrote or writes
  if wrote then
    if not commands[command] then return 'untried command ' .. command end
    if command ~= 'SPUBLISH' and not keys[key] then return 'untried ' .. key end
  else
    if calls == fail_at then return 'made' end
    commands[command] = true
    if key then keys[key] = true end
  end
end
local redis = {
  error_reply = server.error_reply,
  acl_check_cmd = function(command, ...)
    calls = calls + 1
    if calls == fail_at then return false end
    commands[command] = true
    return server.acl_check_cmd(command, ...)
  end,
  call = function(...)
    local why = may_fail(...)
    if why then error(why) end
    return server.call(...)
  end,
  pcall = function(...)
    local why = may_fail(...)
    if why then return { err = 'ERR ' .. why } end
    return server.pcall(...)
  end,
}
)lua";

const char kDump[] = R"lua(
local dumps = {}
for i, key in ipairs(KEYS) do dumps[i] = redis.call('DUMP', key) or '' end
return dumps
)lua";

const char kRestore[] = R"lua(
for i, key in ipairs(KEYS) do
  redis.call('DEL', key)
  if ARGV[i] ~= '' then redis.call('RESTORE', key, 0, ARGV[i]) end
end
)lua";

// The parameter: whether the queue has groups.
class QueueScriptTest : public RedisFixture,
                        public testing::WithParamInterface<bool> {
 protected:
  static constexpr int64_t kLease = 1000;
  static constexpr int64_t kPresence = 600;
  static constexpr int kRequests = 28;  // see `Requests()`

  QueueScriptTest() : RedisFixture(Options()) {
    for (const char* key :
         {"", ":items", ":ready", ":waiting", ":leases", ":clients", ":waiters",
          ":failing", ":parked", ":groups", ":turns"}) {
      keys_.push_back(absl::StrCat("{q}:workqueue", key));
    }
  }

  // Nothing is lost here, so nothing is synced. A hash that is restored has the
  // same order only if it is short.
  static RedisServer::Options Options() {
    RedisServer::Options options;
    options.config = {"appendonly no", "hash-max-listpack-value 100"};
    return options;
  }

  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    context_.reset(redisConnectUnix(server()->socket_path().c_str()));
    ASSERT_EQ(context_->err, 0) << context_->errstr;
    script_ = Do({"SCRIPT", "LOAD", kQueueScript})->str;
  }

  Reply Send(const Words& words) { return Send(words, context_.get()); }

  static Reply Send(const Words& words, redisContext* context) {
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    return Reply(static_cast<redisReply*>(redisCommandArgv(
        context, static_cast<int>(words.size()), texts.data(), sizes.data())));
  }

  // A command that must succeed.
  Reply Do(const Words& words) {
    Reply reply = Send(words);
    EXPECT_NE(reply->type, REDIS_REPLY_ERROR)
        << absl::StrJoin(words, " ").substr(0, 100) << ": " << reply->str;
    return reply;
  }

  struct Request {
    std::string client = "client";
    int64_t now = 0;
    size_t waiting = 0;
    size_t take = 0;
    std::vector<Words> operations;  // code, item, x, y, z, and perhaps text
  };

  Words ArgumentsOf(const Request& request) {
    Words words = {"2",
                   request.client,
                   absl::StrCat(++number_),
                   absl::StrCat(request.now),
                   "run",
                   absl::StrCat(kLease),
                   absl::StrCat(kPresence),
                   absl::StrCat(request.waiting),
                   "0",
                   absl::StrCat(request.take),
                   "100 1 200 1 ",
                   "process",
                   "1.0",
                   "0",
                   ""};
    for (Words operation : request.operations) {
      // The texts of adds are for groups.
      if (!GetParam() && operation[0] != "K") operation.resize(5);
      operation.resize(6);
      words.insert(words.end(), operation.begin(), operation.end());
    }
    return words;
  }

  // The command `words` that calls a script, with the queue's keys.
  Words WithKeys(Words words, const Words& arguments = {}) const {
    words.push_back(absl::StrCat(keys_.size()));
    words.insert(words.end(), keys_.begin(), keys_.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }

  // Calls the script, after `before`.
  Reply Call(const Words& arguments, absl::string_view before = "") {
    return Send(
        WithKeys(before.empty()
                     ? Words{"EVALSHA", script_}
                     : Words{"EVAL", absl::StrCat(before, kQueueScript)},
                 arguments),
        limited_ ? limited_.get() : context_.get());
  }

  Reply Apply(const Request& request) {
    Reply reply = Call(ArgumentsOf(request));
    EXPECT_EQ(reply->type, REDIS_REPLY_ARRAY) << reply->str;
    return reply;
  }

  // Makes a queue with items of all kinds, of which some are due at the time
  // 2000, and some leases expire.
  void Fill() {
    if (!filled_.empty()) {
      Do(WithKeys({"EVAL", kRestore}, filled_));
      number_ = number_when_filled_;
      return;
    }
    Do({"FLUSHALL"});
    number_ = 0;
    SetGroups();
    Request adds;
    adds.now = 500;
    adds.operations = {{"A", "expires", "0", "0", "-1", "0 2 a"},
                       {"A", "held", "0", "0", "-1", "0 2 a"},
                       {"A", "dirty", "0", "0", "-1", "0 1 b"},
                       {"A", "queued", "5", "0", "-1", "0 1 c"},
                       {"A", "queued too", "0", "0", "-1", "0 1 b"},
                       {"W", "due", "1000", "3", "-1", "1 2 a"},
                       {"W", "waits", "9000", "0", "-1", "0 1 b"},
                       {"L", "fails", "0", "0", "9000", "0 1 c"}};
    Apply(adds);
    Request take;
    take.now = 501;
    take.take = 4;  // "queued" first, then "expires", "held" and "dirty"
    const Reply taken = Apply(take);
    const redisReply& items = *taken->element[2];
    ASSERT_EQ(items.elements, 20u);
    token_ = std::to_string(items.element[11]->integer);  // of "held"
    Park();
    Request more;
    more.now = 1500;
    more.operations = {{"X", "held", token_, "0", "-1"},
                       {"A", "dirty", "0", "0", "-1", "0 1 b"},
                       {"A", "last", "0", "0", "-1", "0 2 a"},
                       {"A", "retry", "0", "0", "-1", "1 1 b"}};
    Apply(more);
    Request waits;
    waits.client = "waiter";
    waits.now = 1501;
    waits.waiting = 9;  // takes what there is
    waits.operations = {{"A", "also", "0", "0", "-1"}};
    Apply(waits);
    filled_ = Contents();
    number_when_filled_ = number_;
  }

  // A group has two items in process at most, and retries are one.
  void SetGroups() {
    if (!GetParam()) return;
    Request set;
    set.operations = {{"B", "", "2", "1", "-1"}};
    Apply(set);
  }

  void Park() {
    Request add;
    add.now = 502;
    add.take = 1;
    add.operations = {{"A", "parked", "9", "0", "-1"}};
    const Reply taken = Apply(add);
    Request fail;
    fail.now = 503;
    fail.operations = {{"K", "parked",
                        std::to_string(taken->element[2]->element[1]->integer),
                        "0", "-1", "9 1 inf 10 0 it broke"}};
    EXPECT_EQ(Apply(fail)->element[1]->element[0]->integer, 3);
  }

  // Requests that do all that there is.
  std::vector<Request> Requests() {
    const std::vector<Words> operations = {
        {"A", "new", "0", "0", "-1", "0 1 a"},
        {"A", "queued", "7", "0", "-1"},
        {"A", "held", "7", "0", "-1"},
        {"W", "new", "10", "0", "-1"},
        {"W", "waits", "10", "1", "-1"},
        {"W", "new", "0", "0", "-1"},
        {"M", "waits", "10", "0", "-1"},
        {"M", "waits", "0", "0", "-1"},
        {"C", "waits", "0", "0", "-1"},
        {"L", "fails", "0", "0", "-1"},
        {"L", "new", "10", "0", "5"},
        {"F", "fails", "0", "0", "-1"},
        {"D", "held", token_, "0", "-1"},
        {"G", "held", token_, "0", "-1"},
        {"X", "held", token_, "0", "-1"},
        {"N", "fails", "0", "0", "-1"},
        {"E", "held", token_, "0", "-1"},
        {"R", "", "0", "0", "-1"},
        {"T", "", "0", "0", "-1"},
        {"K", "held", token_, "0", "-1", "5 3 inf 10 0 it broke"},
        {"Q", "held", token_, "10", "1"},
        {"A", "parked", "0", "0", "-1"},
        {"U", "parked", "0", "0", "-1"},
        {"S", "", "1", "0", "-1"},
        {"S", "", "2", "0", "-1"},
        {"O", "", "0", "0", "-1"},
        {"B", "", "1", "2", "-1"}};
    std::vector<Request> requests(1);
    requests[0].operations = operations;
    requests[0].take = 3;
    requests[0].waiting = 5;
    for (const Words& operation : operations) {
      requests.emplace_back();
      requests.back().operations = {operation};
    }
    for (Request& request : requests) request.now = 2000;
    return requests;
  }

  // Returns all that the server has.
  Words Contents() {
    const Reply reply = Do(WithKeys({"EVAL", kDump}));
    Words contents;
    for (size_t i = 0; i < reply->elements; ++i) {
      contents.emplace_back(reply->element[i]->str, reply->element[i]->len);
    }
    return contents;
  }

  // Calls the script for each of the requests, after `spoil`. Expects that
  // nothing changes if there is an error. Returns the number of errors.
  int TryAll(const std::function<void()>& spoil) {
    int errors = 0;
    for (int i = 0; i < kRequests; ++i) {
      Fill();
      const Request request = Requests()[i];
      spoil();
      const Words before = Contents();
      const Reply reply = Call(ArgumentsOf(request));
      limited_.reset();
      if (reply->type != REDIS_REPLY_ERROR) continue;
      ++errors;
      last_error_ = reply->str;
      EXPECT_EQ(Contents() == before, true)
          << "request " << i << " is left half: " << reply->str;
    }
    return errors;
  }

  // The number of commands that the server has executed since the last call.
  int64_t TakeCommands() {
    const Reply info = Do({"INFO", "commandstats"});
    int64_t sum = 0;
    for (absl::string_view line :
         absl::StrSplit(absl::string_view(info->str, info->len), "\r\n")) {
      const size_t calls = line.find("calls=");
      int64_t n = 0;
      if (calls == absl::string_view::npos) continue;
      line.remove_prefix(calls + 6);
      if (absl::SimpleAtoi(line.substr(0, line.find(',')), &n)) sum += n;
    }
    Do({"CONFIG", "RESETSTAT"});
    return sum;
  }

  std::vector<std::string> keys_;
  std::unique_ptr<redisContext, Free> context_;
  std::unique_ptr<redisContext, Free> limited_;  // of the next call, if any
  int64_t number_ = 0;
  std::string token_;
  std::string last_error_;
  std::string script_;  // its hash
  Words filled_;        // what `Fill()` makes
  int64_t number_when_filled_ = 0;
};

TEST_P(QueueScriptTest, NothingFailsAfterTheFirstWrite) {
  int failed = 0;
  for (int i = 0; i < kRequests; ++i) {
    for (int fail_at = 1;; ++fail_at) {
      Fill();
      Words arguments = ArgumentsOf(Requests()[i]);
      arguments.push_back(absl::StrCat(fail_at));
      const Words before = Contents();
      const Reply reply = Call(arguments, kFailing);
      if (reply->type != REDIS_REPLY_ERROR) break;
      ++failed;
      ASSERT_TRUE(absl::StrContains(reply->str, "made") ||
                  absl::StrContains(reply->str, "NOPERM"))
          << reply->str;
      ASSERT_EQ(Contents() == before, true)
          << "request " << i << ", call " << fail_at;
    }
  }
  EXPECT_GT(failed, kRequests * 9);
}

TEST_P(QueueScriptTest, AKeyOfAnotherTypeFailsTheRequest) {
  for (const std::string& key : keys_) {
    // A queue without groups has no use for the last two keys.
    const bool is_used = GetParam() || &key - keys_.data() < 9;
    const int errors = TryAll([&] { Do({"SET", key, "text"}); });
    EXPECT_EQ(errors, is_used ? kRequests : 2) << key;
    EXPECT_TRUE(absl::StrContains(last_error_, "WRONGTYPE")) << last_error_;
  }
}

TEST_P(QueueScriptTest, AMissingRightFailsTheRequest) {
  for (const char* rights :
       {"-hget", "-hmget", "-hset", "-hdel", "-hscan", "-zadd", "-zrem",
        "-zcard", "-zscore", "-zrange", "-zrangebyscore", "-spublish",
        "-zlexcount", "resetchannels", "resetkeys", "-@write", "-@read"}) {
    const int errors = TryAll([&] {
      Do({"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*",
          "+@all", rights});
      limited_.reset(redisConnectUnix(server()->socket_path().c_str()));
      Send({"AUTH", "limited", "any"}, limited_.get());
    });
    EXPECT_GT(errors, 0) << rights;
  }
}

TEST_P(QueueScriptTest, OddNumbersAreReadAsOthers) {
  for (const char* field :
       {"time", "offset", "sequence", "token", "turn", "state", "run", "grace",
        "checked", "due", "dirty", "front", "shutdowns", "swept", "cursor",
        "groups", "most", "retries", "looked"}) {
    for (const char* odd : kOddNumbers) {
      EXPECT_EQ(TryAll([&] {
                  Do({"HSET", keys_[0], field, odd});
                }),
                0)
          << field << " " << odd << ": " << last_error_;
    }
  }
}

TEST_P(QueueScriptTest, OddEntriesAreReadAsNone) {
  // Arrays of nine: nothing, halves, and infinities.
  const std::string nothing = "\x99\xc0\xc0\xc0\xc0\xc0\xc0\xc0\xc0\xc0";
  std::string halves = "\x99", infinities = "\x99";
  for (int i = 0; i < 9; ++i) {
    halves += std::string("\xca\x3f\x00\x00\x00", 5);
    infinities += std::string("\xca\x7f\x80\x00\x00", 5);
  }
  // An idle and a queued item with failures, but no times nor errors of them.
  std::string idle("\x9d\x00\x01\x00\x01\x01\x00\x00\x00\x00", 10);
  idle += std::string("\xc0\x90\x03\x90", 4);
  std::string queued = idle;
  queued[1] = 1;
  for (const std::string& odd :
       {std::string(), std::string("text"), std::string("\xc0"),
        std::string("\x91\x01"), std::string("\x99\x01"), nothing, halves,
        infinities, idle, queued}) {
    for (const char* key : {":items", ":clients"}) {
      EXPECT_EQ(TryAll([&] {
                  const std::string name = absl::StrCat(keys_[0], key);
                  const Reply fields = Do({"HKEYS", name});
                  for (size_t i = 0; i < fields->elements; ++i) {
                    Do({"HSET", name, fields->element[i]->str, odd});
                  }
                }),
                0)
          << key << ": " << last_error_;
    }
  }
}

TEST_P(QueueScriptTest, OddGroupsFailNoRequest) {
  if (!GetParam()) return;
  const std::string &groups = keys_[9], &turns = keys_[10];
  for (const char* odd : kOddNumbers) {
    EXPECT_EQ(TryAll([&] {
                const Reply fields = Do({"HKEYS", turns});
                for (size_t i = 0; i < fields->elements; ++i) {
                  const redisReply& field = *fields->element[i];
                  Do({"HSET", turns, std::string(field.str, field.len), odd});
                }
              }),
              0)
        << odd << ": " << last_error_;
  }
  EXPECT_EQ(TryAll([&] {
              for (const char* odd :
                   {"", "g", "gx", "i0", "i1x", "r", "t0", "t0xyz", "t1"}) {
                Do({"ZADD", groups, "0", odd});
              }
            }),
            0)
      << last_error_;
  // A queued item without a rank, in the group without a name.
  const std::string no_rank("i0\0\0\0\0x", 7);
  EXPECT_EQ(TryAll([&] {
              Do({"ZADD", groups, "0", no_rank});
            }),
            0)
      << last_error_;
  // An entry whose group, weight and kinds are numbers, texts and nothing.
  std::string entry("\x8e\x01\x01\x02\x00\x03\x00\x04\x01\x05\x00", 11);
  entry += std::string("\x06\x00\x07\x00\x08\x00\x09\x00", 8);
  entry +=
      "\xa1g\x07\xa1w\xa1x\xa1k\xc0\xa1"
      "d\x05\xa1h\xa1y";
  EXPECT_EQ(TryAll([&] {
              const Reply fields = Do({"HKEYS", keys_[1]});
              for (size_t i = 0; i < fields->elements; ++i) {
                Do({"HSET", keys_[1], fields->element[i]->str, entry});
              }
            }),
            0)
      << last_error_;
}

TEST_P(QueueScriptTest, MissingKeysFailNoRequest) {
  for (const std::string& key : keys_) {
    EXPECT_EQ(TryAll([&] { Do({"DEL", key}); }), 0) << key << last_error_;
  }
}

TEST_P(QueueScriptTest, OddArgumentsChangeNothingOrAreBounded) {
  for (int i = 0; i < kRequests; ++i) {
    Fill();
    const size_t size = ArgumentsOf(Requests()[i]).size();
    for (size_t k = 2; k < size; ++k) {
      // "run", the names, and the operations' items and texts may have any
      // bytes.
      if (k == 4 || k == 11 || k == 12 || (i == 0 && k > 15 + 5)) continue;
      for (const char* odd : kOddNumbers) {
        Fill();
        Words arguments = ArgumentsOf(Requests()[i]);
        arguments[k] = odd;
        const Words before = Contents();
        const Reply reply = Call(arguments);
        if (reply->type == REDIS_REPLY_ARRAY) continue;
        ASSERT_EQ(Contents() == before, true)
            << "request " << i << ", argument " << k << ": " << odd;
      }
    }
  }
}

TEST_P(QueueScriptTest, AFullServerRefusesOnlyAdds) {
  const std::set<std::string> adds = {"A", "W", "M", "L", "U"};
  Fill();
  const size_t size = Requests().size();
  for (size_t i = 0; i < size; ++i) {
    Fill();
    const Request request = Requests()[i];
    const Reply wanted = Apply(request);
    Fill();
    Do({"CONFIG", "SET", "maxmemory", "1"});
    const Reply reply = Apply(request);
    Do({"CONFIG", "SET", "maxmemory", "0"});
    ASSERT_EQ(reply->elements, 3u);
    for (size_t k = 0; k < request.operations.size(); ++k) {
      const bool is_add = adds.count(request.operations[k][0]) > 0;
      const int64_t result = reply->element[1]->element[k]->integer;
      if (is_add) {
        EXPECT_EQ(result, -1) << request.operations[k][0];
      } else if (i > 0) {
        EXPECT_EQ(result, wanted->element[1]->element[k]->integer);
      }
    }
  }
}

TEST_P(QueueScriptTest, OneRequestDoesABoundedPartOfTheWork) {
  constexpr int kMany = 5000;
  // About ten commands for each of 250 items, and for some more. Groups need
  // twice as many.
  const int64_t kMostCommands = GetParam() ? 8000 : 4000;
  const std::string many = std::to_string(kMany);
  int64_t now = 1000;
  const auto fill = [&](const char* code, const char* x) {
    for (int i = 0; i < kMany;) {
      Request request;
      request.now = now;
      for (int k = 0; k < 1000; ++k, ++i) {
        request.operations.push_back({code, absl::StrCat("item ", i), x, "0",
                                      "-1", absl::StrCat("0 1 ", i % 1000)});
      }
      Apply(request);
    }
  };
  const auto expect_bounded = [&](const char* what, const Request& request) {
    TakeCommands();
    const Reply reply = Apply(request);
    EXPECT_LT(TakeCommands(), kMostCommands) << what;
    EXPECT_EQ(reply->element[0]->element[1]->integer, 0)
        << what << ": the rest is due at once";
  };
  SetGroups();
  Request request;
  fill("W", "10");
  now += 10;
  request.now = now;
  expect_bounded("items come due", request);
  fill("A", "0");
  request.take = kMany;
  request.waiting = kMany;
  expect_bounded("items are handed out", request);
  for (int i = 0; i < 5; ++i) Apply(request);
  request = Request();
  request.now = now += kLease;
  expect_bounded("leases expire", request);
  Do({"FLUSHALL"});
  SetGroups();
  fill("W", "10");
  request.operations = {{"S", "", "2", "0", "-1"}};
  expect_bounded("a shutdown", request);
  request.operations = {{"O", "", "0", "0", "-1"}};
  int again = 0;
  for (;; ++again) {
    const Reply reply = Apply(request);
    EXPECT_EQ(reply->element[0]->element[3]->integer, 0) << "nothing waits";
    if (reply->element[1]->element[0]->integer == 1) break;
  }
  EXPECT_GT(again, 2);
  EXPECT_EQ(Do({"EXISTS", keys_[1], keys_[3]})->integer, 0)
      << "what waited has left no trace";
  if (!GetParam()) return;
  Do({"FLUSHALL"});
  SetGroups();
  fill("A", "0");
  request = Request();
  request.now = now;
  request.take = 250;
  for (int i = 0; i < 4; ++i) Apply(request);  // one of each of 1000 groups
  request.take = 0;
  request.waiting = kMany;
  request.operations = {{"B", "", "1", "1", "-1"}};
  expect_bounded("a lower bound holds groups back", request);
}

// Somebody has deleted the entries. Only of an item in process does it matter
// when its lease has ended.
TEST_P(QueueScriptTest, ALeaseOfNoItemIsRemovedWithTwoCommands) {
  constexpr int kLeases = 100;
  Apply(Request());  // The client is known now.
  Words leases = {"ZADD", keys_[4]};
  for (int i = 0; i < kLeases; ++i) {
    leases.insert(leases.end(), {"1", absl::StrCat(i)});
  }
  Do(leases);
  Request request;
  request.now = 2;
  TakeCommands();
  Apply(request);
  EXPECT_LE(TakeCommands(), 2 * kLeases + 40);
  EXPECT_EQ(Do({"ZCARD", keys_[4]})->integer, 0);
}

// The commands of 100 items that are added, handed out, and done, one request
// each.
TEST_P(QueueScriptTest, AQueueWithoutGroupsPaysNothing) {
  SetGroups();
  constexpr int kItems = 100;
  Request add, take, done;
  take.take = kItems;
  for (int i = 0; i < kItems; ++i) {
    add.operations.push_back(
        {"A", absl::StrCat(i), "0", "0", "-1", absl::StrCat("0 1 ", i / 2)});
  }
  Apply(add);
  Apply(Request());  // The client is known now.
  TakeCommands();
  const Reply taken = Apply(take);
  const int64_t taking = TakeCommands();
  const redisReply& items = *taken->element[2];
  ASSERT_EQ(items.elements, 5u * kItems);
  for (int i = 0; i < kItems; ++i) {
    done.operations.push_back(
        {"D", items.element[5 * i]->str,
         std::to_string(items.element[5 * i + 1]->integer), "0", "-1"});
  }
  Apply(done);
  const int64_t ending = TakeCommands();
  Apply(add);
  const int64_t adding = TakeCommands();
  // Besides, each request has some 30 commands.
  EXPECT_LE(adding, (GetParam() ? 6 : 3) * kItems + 40);
  EXPECT_LE(taking, (GetParam() ? 13 : 4) * kItems + 40);
  EXPECT_LE(ending, (GetParam() ? 8 : 3) * kItems + 40);
}

TEST_P(QueueScriptTest, OneRequestPushesToTheClientsInTurn) {
  const std::unique_ptr<redisContext, Free> listener(
      redisConnectUnix(server()->socket_path().c_str()));
  Send({"SSUBSCRIBE", keys_[0] + ":one", keys_[0] + ":other"}, listener.get());
  const auto read = [&] {
    void* reply = nullptr;
    EXPECT_EQ(redisGetReply(listener.get(), &reply), REDIS_OK);
    return Reply(static_cast<redisReply*>(reply));
  };
  read();  // of the second channel
  Request request;
  request.client = "one";
  request.waiting = 2;
  Apply(request);
  request.client = "other";
  request.waiting = 4;
  Apply(request);
  request = Request();
  for (int i = 0; i < 5; ++i) {
    request.operations.push_back({"A", absl::StrCat(i), "0", "0", "-1"});
  }
  Apply(request);
  redisAppendCommand(listener.get(), "PING");
  Words pushed;
  for (Reply message = read(); message->elements == 3; message = read()) {
    const absl::string_view text = message->element[2]->str;
    if (text.empty()) continue;
    pushed.push_back(absl::StrCat(message->element[1]->str, " ",
                                  text.substr(text.rfind(' ') + 1)));
  }
  EXPECT_EQ(pushed, (Words{keys_[0] + ":one 0", keys_[0] + ":other 1",
                           keys_[0] + ":one 2", keys_[0] + ":other 3",
                           keys_[0] + ":other 4"}));
  const Reply waiters = Do({"ZRANGE", keys_[6], "0", "-1"});
  ASSERT_EQ(waiters->elements, 1u);
  EXPECT_STREQ(waiters->element[0]->str, "other");
}

TEST_P(QueueScriptTest, ClientsThatAreGoneAreForgotten) {
  constexpr int kClients = 200;
  Request request;
  request.waiting = 1;
  for (int i = 0; i < kClients; ++i) {
    request.client = absl::StrCat("gone ", i, std::string(100, '.'));
    Apply(request);
  }
  request.client = "client";
  request.now = 11 * kPresence;
  for (int i = 0; i < kClients; ++i) {
    TakeCommands();
    Apply(request);
    EXPECT_LT(TakeCommands(), 200);
    request.now += kPresence / 2;
  }
  EXPECT_EQ(Do({"HLEN", keys_[5]})->integer, 1);
  EXPECT_EQ(Do({"ZCARD", keys_[6]})->integer, 1);
}

TEST_P(QueueScriptTest, TokensGrowAfterALossOfData) {
  Request request;
  request.now = 1000;
  request.take = 1;
  request.operations = {{"A", "x", "0", "0", "-1"}};
  const auto token = [&] {
    return Apply(request)->element[2]->element[1]->integer;
  };
  const int64_t before = token();
  const Reply data = Do({"DUMP", keys_[0]});
  Do({"FLUSHALL"});
  request.now += 10;
  const int64_t after = token();
  EXPECT_GT(after, before);
  // A server that has lost the latest part only.
  Do({"FLUSHALL"});
  Do({"RESTORE", keys_[0], "0", std::string(data->str, data->len)});
  request.now += 10;
  const int64_t later = token();
  EXPECT_GT(later, after);
  // One that has lost the counter only, and the item.
  Do({"HDEL", keys_[0], "token"});
  Do({"DEL", keys_[1], keys_[2], keys_[4]});
  request.now += 10;
  EXPECT_GT(token(), later);
}

INSTANTIATE_TEST_SUITE_P(WithoutAndWith, QueueScriptTest, testing::Bool());

}  // namespace
}  // namespace internal::queue_script_test
}  // namespace workqueue
