// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/replay.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"

namespace conformance::replay_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

using Kind = Outcome::Kind;

// -----------------------------------------------------------------------------
// Helpers
// -----------------------------------------------------------------------------

testing::Matcher<Outcome> Is(Kind kind, int line,
                             testing::Matcher<std::string> message) {
  return AllOf(Field("kind", &Outcome::kind, kind),
               Field("line", &Outcome::line, line),
               Field("message", &Outcome::message, message));
}

testing::Matcher<Outcome> IsAsRecorded() {
  return AllOf(Field("message", &Outcome::message, ""),
               Field("kind", &Outcome::kind, Kind::kAsRecorded));
}

// A recorded trace, as text and parsed.
struct Recorded {
  std::string name;
  std::vector<std::string> lines;  // the lines of the file
  Header header;
  int count = 0;                        // the index of the count, if not 0
  std::map<int, Operation> operations;  // by index in `lines`

  std::string Text() const { return absl::StrJoin(lines, "\n"); }

  // Returns the text with the lines at these indices replaced.
  std::string With(const std::map<int, std::string>& replacements) const {
    std::vector<std::string> altered = lines;
    for (const auto& [index, line] : replacements) altered[index] = line;
    return absl::StrJoin(altered, "\n");
  }

  // Returns the text with all operations called `name` turned into comments,
  // and without the count.
  std::string Without(const std::string& name) const {
    std::map<int, std::string> comments = {{count, "#"}};
    for (const auto& [index, operation] : operations) {
      if (operation.name == name) comments[index] = "#" + lines[index];
    }
    return With(comments);
  }
};

// Returns all traces in the folder `traces`.
const std::vector<Recorded>& AllRecorded() {
  static const auto* const all = [] {
    auto* const all = new std::vector<Recorded>;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(
             "test/conformance/traces", error)) {
      std::ifstream stream(file.path());
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      Recorded trace;
      trace.name = file.path().filename().string();
      trace.lines = absl::StrSplit(text, '\n');
      bool is_first = true;
      for (const Line& line : SplitLines(text)) {
        if (is_first) {
          const auto header = ParseHeader(line.text);
          EXPECT_TRUE(header.ok()) << trace.name << ": " << header.status();
          if (header.ok()) trace.header = *header;
        } else if (IsCount(line.text)) {
          trace.count = line.number - 1;
        } else {
          const auto operation = ParseOperation(line.text);
          EXPECT_TRUE(operation.ok())
              << trace.name << ":" << line.number << ": " << operation.status();
          if (operation.ok()) trace.operations[line.number - 1] = *operation;
        }
        is_first = false;
      }
      all->push_back(std::move(trace));
    }
    return all;
  }();
  return *all;
}

// Returns a value that differs from `value` by slightly more than `tolerance`.
Value Altered(const Value& value, double tolerance) {
  struct Visitor {
    double tolerance;

    Value operator()(const std::string& item) const {
      if (item == "<never>") return absl::Seconds(1);
      return item + "x";
    }
    Value operator()(bool value) const { return !value; }
    Value operator()(int64_t value) const { return value + 1; }
    Value operator()(double value) const { return value + 2 * tolerance; }
    Value operator()(absl::Duration value) const {
      return value + absl::Seconds(tolerance) + absl::Nanoseconds(1);
    }
  };
  return std::visit(Visitor{tolerance}, value);
}

// The position of an operation that has a result.
struct Place {
  const Recorded* trace;
  int index;

  const Operation& operation() const { return trace->operations.at(index); }
};

// Returns positions in the traces that together contain every operation on
// every kind of subject, with and without a special result. For each, there is
// one position near the middle of three traces.
std::vector<Place> SomeOfEach() {
  std::map<std::string, std::vector<Place>> some;
  for (const Recorded& trace : AllRecorded()) {
    std::map<std::string, std::vector<Place>> all;
    for (const auto& [index, operation] : trace.operations) {
      if (operation.want.empty()) continue;
      const std::string special =
          absl::StartsWith(operation.want_text, "<") ? operation.want_text : "";
      all[absl::StrCat(trace.header.subject, trace.header.metrics, " ",
                       operation.name, special)]
          .push_back({&trace, index});
    }
    for (const auto& [key, places] : all) {
      if (some[key].size() < 3) some[key].push_back(places[places.size() / 2]);
    }
  }
  std::vector<Place> places;
  for (const auto& [key, of_key] : some) {
    places.insert(places.end(), of_key.begin(), of_key.end());
  }
  return places;
}

// -----------------------------------------------------------------------------
// The recorded traces
// -----------------------------------------------------------------------------

TEST(RecordedTest, HasTracesOfEachKind) {
  std::set<std::string> subjects;
  for (const Recorded& trace : AllRecorded()) {
    subjects.insert(absl::StrCat(trace.header.subject,
                                 trace.header.metrics ? " metrics" : ""));
  }
  EXPECT_THAT(subjects,
              IsSupersetOf({"queue base", "queue base metrics",
                            "queue delaying", "queue delaying metrics",
                            "queue ratelimiting", "queue ratelimiting metrics",
                            "queue priority", "limiter", "bucket"}));
}

TEST(RecordedTest, TheLibraryBehavesAsRecorded) {
  for (const Recorded& trace : AllRecorded()) {
    EXPECT_THAT(Replay(trace.Text()), IsAsRecorded()) << trace.name;
  }
}

TEST(RecordedTest, EachTraceHasACount) {
  EXPECT_FALSE(AllRecorded().empty());
  for (const Recorded& trace : AllRecorded()) {
    ASSERT_GT(trace.count, 0) << trace.name;
    EXPECT_EQ(trace.lines[trace.count],
              absl::StrCat("operations ", trace.operations.size()));
  }
}

// -----------------------------------------------------------------------------
// Incomplete traces
// -----------------------------------------------------------------------------

TEST(IncompleteTest, ATraceThatIsCutOffAtTheEndOfALineIsAnError) {
  for (const Recorded& trace : AllRecorded()) {
    for (const size_t kept : {size_t{1}, trace.operations.size() / 2,
                              trace.operations.size() - 1}) {
      const auto first_cut = std::next(trace.operations.begin(), kept)->first;
      const std::vector<std::string> lines(trace.lines.begin(),
                                           trace.lines.begin() + first_cut);
      EXPECT_THAT(
          Replay(absl::StrCat(absl::StrJoin(lines, "\n"), "\n")),
          Is(Kind::kError, trace.count + 1,
             absl::StrCat("the trace is incomplete: want ",
                          trace.operations.size(), " operations, got ", kept)))
          << trace.name;
    }
  }
}

TEST(IncompleteTest, ATraceThatIsCutOffInItsLastLineIsAnError) {
  const std::string whole = "queue base\noperations 2\nadd ab\nadd cd\n";
  EXPECT_THAT(Replay(whole), IsAsRecorded());
  for (size_t size : {whole.size() - 1, whole.size() - 2}) {
    EXPECT_THAT(Replay(whole.substr(0, size)),
                Is(Kind::kError, 4,
                   "the trace is incomplete: its last line has no end"));
  }
}

TEST(IncompleteTest, ATraceWithMoreOperationsIsAnError) {
  EXPECT_THAT(
      Replay("queue base\noperations 1\nadd a\nadd b\n"),
      Is(Kind::kError, 2, "the trace is incomplete: want 1 operations, got 2"));
}

TEST(IncompleteTest, OnlyOperationsCount) {
  EXPECT_THAT(Replay("# comment\nqueue base\n\n# comment\n"
                     "  operations  2 # comment\n"
                     "add a\n\n# comment\nlen = 1\n# the end"),
              Is(Kind::kError, 10,
                 "the trace is incomplete: its last line has no end"));
  EXPECT_THAT(Replay("# comment\nqueue base\n\n# comment\n"
                     "  operations  2 # comment\n"
                     "add a\n\n# comment\nlen = 1\n# the end\n"),
              IsAsRecorded());
}

TEST(IncompleteTest, TheCountFollowsTheFirstLine) {
  EXPECT_THAT(Replay("queue base\nadd a\noperations 2\nlen = 1\n"),
              Is(Kind::kError, 3, "unknown operation \"operations\""));
  EXPECT_THAT(Replay("operations 2\nqueue base\nadd a\nlen = 1\n"),
              Is(Kind::kError, 1,
                 "want queue, limiter or bucket first, got \"operations\""));
}

TEST(IncompleteTest, AWrongCountIsAnError) {
  for (const char* count : {"operations", "operations x", "operations 1 1",
                            "operations 1.0", "operations = 1"}) {
    EXPECT_EQ(Replay(absl::StrCat("queue base\n", count, "\nadd a\n")).kind,
              Kind::kError)
        << count;
  }
  EXPECT_THAT(Replay("queue base\noperations 0\n"),
              Is(Kind::kError, 2, "no operation follows"));
}

// -----------------------------------------------------------------------------
// Detection of differences
// -----------------------------------------------------------------------------

TEST(DifferenceTest, EveryAlteredResultIsFound) {
  std::set<std::string> altered_operations;
  for (const Place& place : SomeOfEach()) {
    const Operation& operation = place.operation();
    for (size_t i = 0; i < operation.want.size(); ++i) {
      Result altered = operation.want;
      altered[i] = Altered(altered[i], operation.tolerance);
      const std::string want = Format(altered);
      const std::string got =
          operation.tolerance == 0 ? Format(operation.want) : "";
      EXPECT_THAT(
          Replay(place.trace->With(
              {{place.index, absl::StrCat(operation.text, " = ", want)}})),
          Is(Kind::kDiffers, place.index + 1,
             AllOf(StartsWith(
                       absl::StrCat(operation.text, ": want ", want, ", got ")),
                   EndsWith(got))))
          << place.trace->name;
    }
    altered_operations.insert(operation.name);
    if (operation.want_text[0] == '<') {
      altered_operations.insert(operation.want_text);
    }
  }
  EXPECT_THAT(altered_operations, IsSupersetOf({"<shutdown>", "<never>"}));
  for (const std::string& name : OperationNamesWithResult()) {
    EXPECT_THAT(altered_operations, testing::Contains(name));
  }
}

TEST(DifferenceTest, AValueWithinTheToleranceIsNoDifference) {
  std::set<std::string> altered_operations;
  for (const Recorded& trace : AllRecorded()) {
    std::map<int, std::string> altered;
    for (const auto& [index, operation] : trace.operations) {
      if (operation.tolerance == 0) continue;
      Result want = operation.want;
      if (double* seconds = std::get_if<double>(&want.back())) {
        *seconds -= 0.4 * operation.tolerance;
      } else if (auto* delay = std::get_if<absl::Duration>(&want.back())) {
        *delay += absl::Seconds(0.4 * operation.tolerance);
      }
      altered[index] = absl::StrCat(operation.text, " = ", Format(want));
      altered_operations.insert(operation.name);
    }
    EXPECT_THAT(Replay(trace.With(altered)), IsAsRecorded()) << trace.name;
  }
  EXPECT_THAT(altered_operations,
              testing::UnorderedElementsAre(
                  "metrics latency", "metrics longest", "metrics unfinished",
                  "metrics work", "reserve", "tokens"));
}

TEST(DifferenceTest, EveryOperationIsPerformed) {
  std::set<std::string> without_result;
  for (const std::string& name : OperationNames()) without_result.insert(name);
  for (const std::string& name : OperationNamesWithResult()) {
    without_result.erase(name);
  }
  for (const std::string& name : without_result) {
    bool differs = false;
    for (const Recorded& trace : AllRecorded()) {
      differs = Replay(trace.Without(name)).kind == Kind::kDiffers;
      if (differs) break;
    }
    EXPECT_TRUE(differs) << "without " << name;
  }
}

TEST(DifferenceTest, OnlyTheFirstDifferenceIsReported) {
  EXPECT_THAT(Replay("queue base\n"
                     "add a\n"
                     "len = 1\n"
                     "len = 2\n"
                     "len = 3\n"),
              Is(Kind::kDiffers, 4, "len: want 2, got 1"));
}

TEST(DifferenceTest, OperationIsReportedAsWritten) {
  EXPECT_THAT(Replay("limiter exponential(5ms,1s)\n"
                     "# comment\n"
                     "\n"
                     "  when  a = 0.005000001s # too much\r\n"),
              Is(Kind::kDiffers, 4, "when  a: want 0.005000001s, got 5ms"));
}

TEST(DifferenceTest, GetThatWouldBlockIsADifference) {
  for (const char* queue : {"base", "delaying", "base metrics",
                            "ratelimiting exponential(5ms,1s)"}) {
    EXPECT_THAT(Replay(absl::StrCat("queue ", queue, "\nget = a\n")),
                Is(Kind::kDiffers, 2, "get: want a, got <would block>"));
    EXPECT_THAT(
        Replay(absl::StrCat("queue ", queue, "\nget = <shutdown>\n")),
        Is(Kind::kDiffers, 2, "get: want <shutdown>, got <would block>"));
  }
}

TEST(DifferenceTest, GetAfterShutDownIsNoDifference) {
  for (const char* queue : {"base", "delaying", "base metrics",
                            "ratelimiting exponential(5ms,1s)"}) {
    EXPECT_THAT(Replay(absl::StrCat("queue ", queue,
                                    "\nadd a"
                                    "\nshuttingdown = false"
                                    "\nshutdown"
                                    "\nshutdown"
                                    "\nadd b"
                                    "\nshuttingdown = true"
                                    "\nstep 20s"
                                    "\nlen = 1"
                                    "\nget = a"
                                    "\nget = <shutdown>"
                                    "\nget = <shutdown>")),
                IsAsRecorded());
  }
}

TEST(DifferenceTest, RefusalIsADifference) {
  EXPECT_THAT(Replay("bucket rate=1 burst=1\nsetlimit -1\n"),
              Is(Kind::kDiffers, 2,
                 "setlimit -1: want <done>, got INVALID_ARGUMENT: rate is -1; "
                 "it must be a number and not negative"));
  EXPECT_THAT(Replay("bucket rate=1 burst=1\nsetburst -1\n"),
              Is(Kind::kDiffers, 2, HasSubstr("got INVALID_ARGUMENT: burst")));
}

// -----------------------------------------------------------------------------
// Detection of errors
// -----------------------------------------------------------------------------

TEST(ErrorTest, IsReportedWithItsLine) {
  const struct {
    const char* trace;
    int line;
    const char* message;
  } cases[] = {
      {"", 1, "the trace is empty"},
      {"\n# nothing\n", 1, "the trace is empty"},
      {"# comment\n\nadd a\n", 3,
       "want queue, limiter or bucket first, got \"add\""},
      {"queue base\n", 1, "no operation follows"},
      {"# comment\nqueue base\n# comment\n", 2, "no operation follows"},
      {"queue stack\nadd a\n", 1, "unknown kind of queue \"stack\""},
      {"queue ratelimiting none\nadd a\n", 1, "unknown limiter \"none\""},
      {"queue ratelimiting exponential(1ms,1x)\nadd a\n", 1,
       "\"1x\" is not a duration"},
      {"limiter none(1s)\nwhen a = 1s\n", 1, "unknown limiter \"none\""},
      {"limiter maxwait(exponential(1s,2s),-1s)\nwhen a = 1s\n", 1,
       "max_delay is -1s; it must be finite and not negative"},
      {"bucket rate=-1 burst=1\ntokens = 1\n", 1,
       "rate is -1; it must be a number and not negative"},
      {"queue base\nadd a\n\nfrobnicate\n", 4,
       "unknown operation \"frobnicate\""},
      {"queue base\nadd a\nget = a b\n", 3, "unexpected \"b\""},
      {"queue base\nadd a\nlen\n", 3, "missing result"},
      {"queue base\nqueue base\n", 2, "unknown operation \"queue\""},

      // The subject does not have the operation.
      {"queue base\naddafter a 1s\n", 2,
       "\"queue base\" has no operation \"addafter\""},
      {"queue base\nwhen a = 1s\n", 2,
       "\"queue base\" has no operation \"when\""},
      {"queue delaying metrics\naddratelimited a\n", 2,
       "\"queue delaying metrics\" has no operation \"addratelimited\""},
      {"queue delaying\nforget a\n", 2,
       "\"queue delaying\" has no operation \"forget\""},
      {"queue ratelimiting exponential(1s,2s)\naddwith a\n", 2,
       "\"queue ratelimiting exponential(1s,2s)\" has no operation "
       "\"addwith\""},
      {"queue ratelimiting exponential(1s,2s)\nwhen a = 1s\n", 2,
       "\"queue ratelimiting exponential(1s,2s)\" has no operation \"when\""},
      {"limiter exponential(1s,2s)\nadd a\n", 2,
       "\"limiter exponential(1s,2s)\" has no operation \"add\""},
      {"bucket rate=1 burst=1\nwhen a = 1s\n", 2,
       "\"bucket rate=1 burst=1\" has no operation \"when\""},
      {"queue base\nmetrics depth = 0\n", 2,
       "\"queue base\" has no operation \"metrics depth\""},
      {"queue delaying\nmetrics retries = 0\n", 2,
       "\"queue delaying\" has no operation \"metrics retries\""},

      // The error is reported, and not the difference before it.
      {"queue base\nlen = 7\nfrobnicate\n", 3,
       "unknown operation \"frobnicate\""},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Replay(c.trace), Is(Kind::kError, c.line, c.message))
        << c.trace;
  }
}

TEST(ErrorTest, GarbageIsAnError) {
  const std::string zeros(1000, '\0');
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (const std::string& garbage :
       {zeros, bytes, std::string(1 << 20, 'x'),
        absl::StrCat("queue base\n", zeros), absl::StrCat("queue ", bytes),
        absl::StrCat("queue base\nadd a ", std::string(1 << 20, '='))}) {
    EXPECT_EQ(Replay(garbage).kind, Kind::kError);
  }
}

// -----------------------------------------------------------------------------
// Tolerated differences
// -----------------------------------------------------------------------------

TEST(ReplayTest, SpaceAndCommentsMakeNoDifference) {
  EXPECT_THAT(Replay("# comment\r\n"
                     "\r\n"
                     "\tqueue  base # comment\r\n"
                     "add \u00e9\u4e16#1 # comment\r\n"
                     "   # comment\r\n"
                     "get  =  \u00e9\u4e16#1  "),
              Is(Kind::kAsRecorded, 6, ""));
}

TEST(ReplayTest, DurationsAreComparedNotTheirText) {
  EXPECT_THAT(Replay("limiter exponential(90s,1h)\n"
                     "when a = 1m30s\n"
                     "step 1h\n"
                     "when a = 180000ms\n"
                     "forget a\n"
                     "when a = 0.025h\n"),
              IsAsRecorded());
}

// -----------------------------------------------------------------------------
// The program
// -----------------------------------------------------------------------------

class ReplayMainTest : public testing::Test {
 protected:
  // Writes a file and returns its path.
  std::string File(const std::string& name, const std::string& contents) {
    const std::string path = absl::StrCat(testing::TempDir(), "/", name);
    std::ofstream(path) << contents;
    return path;
  }

  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    return ReplayMain(args, out_, err_);
  }

  const std::string good_ = File("good.trace", "queue base\nadd a\nlen = 1\n");
  const std::string bad_ = File("bad.trace", "queue base\nadd a\nlen = 2\n");
  const std::string error_ = File("error.trace", "queue base\nadd\n");
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ReplayMainTest, CountsTracesAndLines) {
  EXPECT_EQ(Run({good_}), 0);
  EXPECT_EQ(out_.str(), "1 trace, 3 lines: all as recorded\n");
  const std::string other = File("other.trace", "queue base\n\n# x\nlen = 0");
  EXPECT_EQ(Run({good_, other, good_}), 0);
  EXPECT_EQ(out_.str(), "3 traces, 10 lines: all as recorded\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ReplayMainTest, ReportsEachFileThatDiffers) {
  EXPECT_EQ(Run({bad_, good_, bad_}), 1);
  EXPECT_EQ(out_.str(), absl::StrCat(bad_, ":3: len: want 2, got 1\n",  //
                                     bad_, ":3: len: want 2, got 1\n"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ReplayMainTest, ReportsEachFileWithAnError) {
  EXPECT_EQ(Run({good_, error_}), 2);
  EXPECT_EQ(out_.str(), absl::StrCat(error_, ":2: missing argument\n"));
}

TEST_F(ReplayMainTest, DifferenceTakesPrecedenceInTheExitStatus) {
  EXPECT_EQ(Run({bad_, error_}), 1);
  EXPECT_EQ(out_.str(), absl::StrCat(bad_, ":3: len: want 2, got 1\n",  //
                                     error_, ":2: missing argument\n"));
  EXPECT_EQ(Run({error_, bad_}), 1);
}

TEST_F(ReplayMainTest, FileThatCannotBeReadIsAnError) {
  const std::string missing = absl::StrCat(testing::TempDir(), "/missing");
  EXPECT_EQ(Run({good_, missing}), 2);
  EXPECT_EQ(
      out_.str(),
      absl::StrCat(missing, ":0: cannot be read: No such file or directory\n"));
  EXPECT_EQ(Run({testing::TempDir()}), 2);
  EXPECT_THAT(out_.str(), HasSubstr(":0: cannot be read: "));
  EXPECT_EQ(Run({""}), 2);
}

TEST_F(ReplayMainTest, EmptyFileIsAnError) {
  const std::string empty = File("empty.trace", "");
  EXPECT_EQ(Run({empty}), 2);
  EXPECT_EQ(out_.str(), absl::StrCat(empty, ":1: the trace is empty\n"));
}

TEST_F(ReplayMainTest, WithoutFilesPrintsTheUsage) {
  EXPECT_EQ(Run({}), 2);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), StartsWith("Usage: replay FILE..."));
}

TEST_F(ReplayMainTest, HelpPrintsTheUsage) {
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("Usage: replay FILE..."));
  EXPECT_EQ(err_.str(), "");
}

}  // namespace
}  // namespace conformance::replay_test
