// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/trace.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/conformance/value.h"

namespace conformance::trace_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value Item(const char* item) { return Value(std::string(item)); }
Value Number(int64_t number) { return Value(number); }

TEST(SplitLinesTest, SkipsBlankLinesAndCommentsButCountsThem) {
  const std::vector<Line> lines = SplitLines(
      "# comment\n"
      "\n"
      "queue base\r\n"
      " \t\r\n"
      "  add a#b  # and why\n"
      "#add c\n"
      "len = 1\t#\n"
      "add \u00e9");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].number, 3);
  EXPECT_EQ(lines[0].text, "queue base");
  EXPECT_EQ(lines[1].number, 5);
  EXPECT_EQ(lines[1].text, "add a#b");
  EXPECT_EQ(lines[2].number, 7);
  EXPECT_EQ(lines[2].text, "len = 1");
  EXPECT_EQ(lines[3].number, 8);
  EXPECT_EQ(lines[3].text, "add \u00e9");
}

TEST(SplitLinesTest, AnEmptyTraceHasNoLines) {
  EXPECT_THAT(SplitLines(""), IsEmpty());
  EXPECT_THAT(SplitLines("\n\r\n \n# comment"), IsEmpty());
}

TEST(ParseHeaderTest, ReadsQueues) {
  for (const char* text : {"queue base", "queue delaying"}) {
    const auto header = ParseHeader(text);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->text, text);
    EXPECT_EQ(header->subject, text);
    EXPECT_EQ(header->limiter, "");
    EXPECT_FALSE(header->metrics);
  }
  const auto header = ParseHeader("queue  base\tmetrics");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->subject, "queue base");
  EXPECT_TRUE(header->metrics);
}

TEST(ParseHeaderTest, ReadsQueuesWithLimiter) {
  for (const char* kind : {"queue ratelimiting", "queue priority"}) {
    auto header = ParseHeader(std::string(kind) + " maxof(a(1,2),b)");
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->subject, kind);
    EXPECT_EQ(header->limiter, "maxof(a(1,2),b)");
    EXPECT_FALSE(header->metrics);

    header = ParseHeader(std::string(kind) + " maxof(a(1,2),b) metrics");
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->limiter, "maxof(a(1,2),b)");
    EXPECT_TRUE(header->metrics);
  }
}

TEST(ParseHeaderTest, ReadsLimiter) {
  const auto header = ParseHeader("limiter exponential(1ms,1s)");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->subject, "limiter");
  EXPECT_EQ(header->limiter, "exponential(1ms,1s)");
}

TEST(ParseHeaderTest, ReadsBucket) {
  const auto header = ParseHeader("bucket rate=0.5 burst=10");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->subject, "bucket");
  EXPECT_EQ(header->rate, 0.5);
  EXPECT_EQ(header->burst, 10);
}

TEST(ParseHeaderTest, ReportsErrors) {
  const struct {
    const char* line;
    const char* error;
  } cases[] = {
      {"add a", "want queue, limiter or bucket first, got \"add\""},
      {"\xef\xbb\xbfqueue base",
       "want queue, limiter or bucket first, got \"\xef\xbb\xbfqueue\""},
      {"Queue base", "want queue, limiter or bucket first, got \"Queue\""},
      {"queue", "missing kind of queue"},
      {"queue lifo", "unknown kind of queue \"lifo\""},
      {"queue metrics", "unknown kind of queue \"metrics\""},
      {"queue base base", "unexpected \"base\""},
      {"queue base Metrics", "unexpected \"Metrics\""},
      {"queue base metrics metrics", "unexpected \"metrics\""},
      {"queue base = metrics", "unexpected \"=\""},
      {"queue delaying exponential(1ms,1s)",
       "unexpected \"exponential(1ms,1s)\""},
      {"queue ratelimiting", "missing limiter"},
      {"queue ratelimiting metrics", "missing limiter"},
      {"queue priority", "missing limiter"},
      {"queue ratelimiting a b", "unexpected \"b\""},
      {"queue ratelimiting a metrics b", "unexpected \"metrics\""},
      {"limiter", "missing limiter"},
      {"limiter a metrics", "unexpected \"metrics\""},
      {"bucket", "missing rate="},
      {"bucket rate=1", "missing burst="},
      {"bucket burst=1 rate=1", "missing rate="},
      {"bucket rate=x burst=1", "\"x\" is not a number"},
      {"bucket rate= burst=1", "\"\" is not a number"},
      {"bucket rate=1 burst=1.5", "\"1.5\" is not an integer"},
      {"bucket rate=1 burst=", "\"\" is not an integer"},
      {"bucket rate=1 burst=1 metrics", "unexpected \"metrics\""},
  };
  for (const auto& c : cases) {
    const auto header = ParseHeader(c.line);
    ASSERT_FALSE(header.ok()) << c.line;
    EXPECT_EQ(std::string(header.status().message()), c.error) << c.line;
  }
}

TEST(ParseOperationTest, ReadsEachOperation) {
  const struct {
    const char* line;
    const char* name;
    std::vector<Value> args;
    Result want;
  } cases[] = {
      {"add a", "add", {Item("a")}, {}},
      {"addafter a -1s", "addafter", {Item("a"), absl::Seconds(-1)}, {}},
      {"addratelimited a", "addratelimited", {Item("a")}, {}},
      {"allow 2 = false", "allow", {Number(2)}, {false}},
      {"done \u00e9", "done", {Item("\u00e9")}, {}},
      {"forget a", "forget", {Item("a")}, {}},
      {"get = a", "get", {}, {Item("a")}},
      {"get = <shutdown>", "get", {}, {Item("<shutdown>")}},
      {"getwith = a -7", "getwith", {}, {Item("a"), Number(-7)}},
      {"getwith = <shutdown>", "getwith", {}, {Item("<shutdown>")}},
      {"len = 3", "len", {}, {Number(3)}},
      {"metrics adds = 4", "metrics adds", {}, {Number(4)}},
      {"metrics depth = 4", "metrics depth", {}, {Number(4)}},
      {"metrics latency = 2 0.5", "metrics latency", {}, {Number(2), 0.5}},
      {"metrics longest = 0.5", "metrics longest", {}, {0.5}},
      {"metrics retries = 4", "metrics retries", {}, {Number(4)}},
      {"metrics unfinished = 0.5", "metrics unfinished", {}, {0.5}},
      {"metrics work = 2 0.5", "metrics work", {}, {Number(2), 0.5}},
      {"numrequeues a = 1", "numrequeues", {Item("a")}, {Number(1)}},
      {"reserve 1 = 5ms", "reserve", {Number(1)}, {absl::Milliseconds(5)}},
      {"reserve 9 = <never>", "reserve", {Number(9)}, {Item("<never>")}},
      {"setburst 5", "setburst", {Number(5)}, {}},
      {"setlimit 7.25", "setlimit", {7.25}, {}},
      {"shutdown", "shutdown", {}, {}},
      {"shuttingdown = true", "shuttingdown", {}, {true}},
      {"step 1ms", "step", {absl::Milliseconds(1)}, {}},
      {"tokens = -1.5", "tokens", {}, {-1.5}},
      {"when a = 1s", "when", {Item("a")}, {absl::Seconds(1)}},
      {"addwith a",
       "addwith",
       {absl::ZeroDuration(), Number(0), false, Item("a")},
       {}},
      {"addwith a,b ratelimited priority=-3 after=5s",
       "addwith",
       {absl::Seconds(5), Number(-3), true, Item("a"), Item("b")},
       {}},
  };
  std::vector<std::string> seen;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.line);
    const auto operation = ParseOperation(c.line);
    ASSERT_TRUE(operation.ok()) << operation.status();
    EXPECT_EQ(operation->name, c.name);
    EXPECT_EQ(operation->args, c.args);
    EXPECT_EQ(operation->want, c.want);
    seen.push_back(operation->name);
  }
  for (const std::string& name : OperationNames()) {
    EXPECT_THAT(seen, testing::Contains(name)) << "untested";
  }
}

TEST(ParseOperationTest, KeepsTheTextAsWritten) {
  const auto operation = ParseOperation("metrics  latency\t=  1   2.50");
  ASSERT_TRUE(operation.ok()) << operation.status();
  EXPECT_EQ(operation->text, "metrics  latency");
  EXPECT_EQ(operation->want_text, "1 2.50");
}

TEST(ParseOperationTest, TakesAnyWordForAnItem) {
  const auto operation = ParseOperation("addafter a=b,c#d 1s");
  ASSERT_TRUE(operation.ok()) << operation.status();
  EXPECT_THAT(operation->args,
              ElementsAre(Item("a=b,c#d"), Value(absl::Seconds(1))));
}

TEST(ParseOperationTest, ReportsErrors) {
  const struct {
    const char* line;
    const char* error;
  } cases[] = {
      {"frobnicate a", "unknown operation \"frobnicate\""},
      {"Add a", "unknown operation \"Add\""},
      {"queue base", "unknown operation \"queue\""},
      {"len=1", "unknown operation \"len=1\""},
      {"metrics", "unknown operation \"metrics\""},
      {"metrics = 1", "unknown operation \"metrics\""},
      {"metrics size = 1", "unknown operation \"metrics size\""},
      {"= 1", "missing operation"},
      {"=", "missing operation"},

      {"add", "missing argument"},
      {"addafter a", "missing argument"},
      {"addafter", "missing argument"},
      {"step", "missing argument"},
      {"when = 1s", "missing argument"},
      {"numrequeues = 1", "missing argument"},
      {"addwith", "missing argument"},
      {"add a b", "unexpected \"b\""},
      {"addafter a 1s 2s", "unexpected \"2s\""},
      {"shutdown now", "unexpected \"now\""},
      {"get a", "unexpected \"a\""},
      {"len 1 = 1", "unexpected \"1\""},
      {"metrics depth 1", "unexpected \"1\""},

      {"addafter a b", "\"b\" is not a duration"},
      {"addafter a 5", "\"5\" is not a duration"},
      {"step 1", "\"1\" is not a duration"},
      {"step inf", "\"inf\" is not a duration"},
      {"reserve x = 1s", "\"x\" is not an integer"},
      {"allow 1.5 = true", "\"1.5\" is not an integer"},
      {"setlimit fast", "\"fast\" is not a number"},
      {"setburst 7.25", "\"7.25\" is not an integer"},

      {"get", "missing result"},
      {"get =", "missing result"},
      {"frobnicate =", "unknown operation \"frobnicate\""},
      {"len", "missing result"},
      {"when a", "missing result"},
      {"allow 1", "missing result"},
      {"getwith = a", "missing result"},
      {"metrics depth", "missing result"},
      {"metrics latency = 1", "missing result"},
      {"add a = true", "add has no result"},
      {"add a = a", "add has no result"},
      {"add a =", "add has no result"},
      {"shutdown = 1", "shutdown has no result"},
      {"addwith a = 1", "addwith has no result"},

      {"get = a b", "unexpected \"b\""},
      {"get = <shutdown> a", "unexpected \"a\""},
      {"get = a = b", "unexpected \"=\""},
      {"len = 1 2", "unexpected \"2\""},
      {"metrics latency = 1 2.0 3", "unexpected \"3\""},
      {"len = one", "\"one\" is not an integer"},
      {"len = 1.0", "\"1.0\" is not an integer"},
      {"len = 99999999999999999999",
       "\"99999999999999999999\" is not an integer"},
      {"len = <shutdown>", "\"<shutdown>\" is not an integer"},
      {"shuttingdown = yes", "\"yes\" is not true or false"},
      {"when a = 5", "\"5\" is not a duration"},
      {"when a = <never>", "\"<never>\" is not a duration"},
      {"reserve 1 = never", "\"never\" is not a duration"},
      {"metrics latency = 1 x", "\"x\" is not a number"},
      {"metrics latency = 1.0 1", "\"1.0\" is not an integer"},
      {"tokens = nan", "\"nan\" is not a number"},

      {"addwith a priority", "unexpected \"priority\""},
      {"addwith a priority=", "\"\" is not an integer"},
      {"addwith a priority=high", "\"high\" is not an integer"},
      {"addwith a after=1", "\"1\" is not a duration"},
      {"addwith a ratelimited=true", "unexpected \"ratelimited=true\""},
      {"addwith a b", "unexpected \"b\""},
      {"addwith a after=1s after=2s", "unexpected second \"after=2s\""},
      {"addwith a,,b", "empty item in \"a,,b\""},
      {"addwith ,", "empty item in \",\""},
  };
  for (const auto& c : cases) {
    const auto operation = ParseOperation(c.line);
    ASSERT_FALSE(operation.ok()) << c.line;
    EXPECT_EQ(std::string(operation.status().message()), c.error) << c.line;
  }
}

}  // namespace
}  // namespace conformance::trace_test
