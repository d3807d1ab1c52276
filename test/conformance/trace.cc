// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "test/conformance/value.h"

namespace conformance {
namespace {

using Words = std::vector<absl::string_view>;

// The syntax of an operation.
struct Syntax {
  const char* name;
  Type args[2] = {};
  Type results[2] = {};
  const char* instead = nullptr;  // a result of another kind
  double tolerance = 0;
};

// The tolerance for seconds that are written with six decimals, including the
// error of their sums.
constexpr double kSixDecimals = 1e-6;
constexpr double kSum = 1e-5;

constexpr Syntax kSyntax[] = {
    {"add", {Type::kItem}},
    {"addafter", {Type::kItem, Type::kDuration}},
    {"addratelimited", {Type::kItem}},
    {"addwith"},  // It has its own parser.
    {"allow", {Type::kInteger}, {Type::kBoolean}},
    {"done", {Type::kItem}},
    {"forget", {Type::kItem}},
    {"get", {}, {Type::kItem}, "<shutdown>"},
    {"getwith", {}, {Type::kItem, Type::kInteger}, "<shutdown>"},
    {"len", {}, {Type::kInteger}},
    {"metrics adds", {}, {Type::kInteger}},
    {"metrics depth", {}, {Type::kInteger}},
    {"metrics latency", {}, {Type::kInteger, Type::kDecimal}, nullptr, kSum},
    {"metrics longest", {}, {Type::kDecimal}, nullptr, kSixDecimals},
    {"metrics retries", {}, {Type::kInteger}},
    {"metrics unfinished", {}, {Type::kDecimal}, nullptr, kSixDecimals},
    {"metrics work", {}, {Type::kInteger, Type::kDecimal}, nullptr, kSum},
    {"numrequeues", {Type::kItem}, {Type::kInteger}},
    {"reserve", {Type::kInteger}, {Type::kDuration}, "<never>", 1e-6},
    {"setburst", {Type::kInteger}},
    {"setlimit", {Type::kDecimal}},
    {"shutdown"},
    {"shuttingdown", {}, {Type::kBoolean}},
    {"step", {Type::kDuration}},
    {"tokens", {}, {Type::kDecimal}, nullptr, kSum},
    {"when", {Type::kItem}, {Type::kDuration}},
};

absl::Status Error(absl::string_view a, absl::string_view b = "") {
  return absl::InvalidArgumentError(absl::StrCat(a, b));
}

// Removes the comment and the surrounding space. A `#` inside a word is part of
// the word.
absl::string_view WithoutComment(absl::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || absl::ascii_isspace(line[i - 1]))) {
      line = line.substr(0, i);
      break;
    }
  }
  return absl::StripAsciiWhitespace(line);
}

Words SplitWords(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t\r\v\f"), absl::SkipEmpty());
}

// Parses `words` as values of `types`, one by one. `what` describes them in
// errors.
absl::StatusOr<std::vector<Value>> ParseValues(absl::string_view what,
                                               const Type (&types)[2],
                                               const Words& words) {
  const size_t expected =
      std::count_if(std::begin(types), std::end(types),
                    [](Type t) { return t != Type::kNone; });
  if (words.size() < expected) return Error("missing ", what);
  if (words.size() > expected) {
    return Error("unexpected ", Quote(words[expected]));
  }
  std::vector<Value> values;
  for (size_t i = 0; i < words.size(); ++i) {
    absl::StatusOr<Value> value = ParseValue(types[i], words[i]);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return values;
}

absl::StatusOr<Result> ParseResult(const Syntax& syntax, const Words& words) {
  if (syntax.instead != nullptr && words == Words{syntax.instead}) {
    return Result{std::string(syntax.instead)};
  }
  return ParseValues("result", syntax.results, words);
}

// Parses the text after `addwith`: ITEM,ITEM... and options in any order.
absl::StatusOr<std::vector<Value>> ParseAddWith(const Words& words) {
  if (words.empty()) return Error("missing argument");
  std::vector<Value> args = {absl::ZeroDuration(), int64_t{0}, false};
  bool seen[3] = {};
  for (size_t i = 1; i < words.size(); ++i) {
    absl::string_view text = words[i];
    size_t arg;
    absl::StatusOr<Value> value;
    if (absl::ConsumePrefix(&text, "after=")) {
      arg = 0;
      value = ParseValue(Type::kDuration, text);
    } else if (absl::ConsumePrefix(&text, "priority=")) {
      arg = 1;
      value = ParseValue(Type::kInteger, text);
    } else if (text == "ratelimited") {
      arg = 2;
      value = Value(true);
    } else {
      return Error("unexpected ", Quote(text));
    }
    if (!value.ok()) return value.status();
    if (seen[arg]) return Error("unexpected second ", Quote(words[i]));
    seen[arg] = true;
    args[arg] = *std::move(value);
  }
  for (absl::string_view item : absl::StrSplit(words[0], ',')) {
    if (item.empty()) return Error("empty item in ", Quote(words[0]));
    args.push_back(std::string(item));
  }
  return args;
}

// Parses `rate=R` and `burst=B`.
absl::Status ParseBucket(const Words& words, Header* header) {
  absl::string_view rate = words.size() > 1 ? words[1] : "";
  absl::string_view burst = words.size() > 2 ? words[2] : "";
  if (!absl::ConsumePrefix(&rate, "rate=")) return Error("missing rate=");
  if (!absl::ConsumePrefix(&burst, "burst=")) return Error("missing burst=");
  if (words.size() > 3) return Error("unexpected ", Quote(words[3]));
  absl::StatusOr<Value> value = ParseValue(Type::kDecimal, rate);
  if (!value.ok()) return value.status();
  header->rate = std::get<double>(*value);
  value = ParseValue(Type::kInteger, burst);
  if (!value.ok()) return value.status();
  header->burst = std::get<int64_t>(*value);
  return absl::OkStatus();
}

// Parses the text after the name of a queue or limiter.
absl::Status ParseLimiterAndMetrics(Words rest, bool has_limiter,
                                    bool may_have_metrics, Header* header) {
  if (may_have_metrics && !rest.empty() && rest.back() == "metrics") {
    header->metrics = true;
    rest.pop_back();
  }
  if (has_limiter) {
    if (rest.empty()) return Error("missing limiter");
    header->limiter = std::string(rest[0]);
    rest.erase(rest.begin());
  }
  if (!rest.empty()) return Error("unexpected ", Quote(rest[0]));
  return absl::OkStatus();
}

}  // namespace

std::vector<Line> SplitLines(absl::string_view trace) {
  std::vector<Line> lines;
  int number = 0;
  for (absl::string_view text : absl::StrSplit(trace, '\n')) {
    ++number;
    text = WithoutComment(text);
    if (!text.empty()) lines.push_back({number, text});
  }
  return lines;
}

absl::StatusOr<Header> ParseHeader(absl::string_view line) {
  const Words words = SplitWords(line);
  Header header;
  header.text = std::string(line);
  header.subject = std::string(words[0]);
  absl::Status status;
  if (words[0] == "bucket") {
    status = ParseBucket(words, &header);
  } else if (words[0] == "limiter") {
    status = ParseLimiterAndMetrics(Words(words.begin() + 1, words.end()),
                                    /*has_limiter=*/true,
                                    /*may_have_metrics=*/false, &header);
  } else if (words[0] == "queue") {
    const absl::string_view kind = words.size() > 1 ? words[1] : "";
    const bool has_limiter = kind == "ratelimiting" || kind == "priority";
    if (kind.empty()) return Error("missing kind of queue");
    if (!has_limiter && kind != "base" && kind != "delaying") {
      return Error("unknown kind of queue ", Quote(kind));
    }
    absl::StrAppend(&header.subject, " ", kind);
    status = ParseLimiterAndMetrics(Words(words.begin() + 2, words.end()),
                                    has_limiter,
                                    /*may_have_metrics=*/true, &header);
  } else {
    status =
        Error("want queue, limiter or bucket first, got ", Quote(words[0]));
  }
  if (!status.ok()) return status;
  return header;
}

bool IsCount(absl::string_view line) {
  return SplitWords(line)[0] == "operations";
}

absl::StatusOr<int64_t> ParseCount(absl::string_view line) {
  Words words = SplitWords(line);
  words.erase(words.begin());
  const absl::StatusOr<std::vector<Value>> count =
      ParseValues("count", {Type::kInteger, Type::kNone}, words);
  if (!count.ok()) return count.status();
  return std::get<int64_t>(count->front());
}

absl::StatusOr<Operation> ParseOperation(absl::string_view line) {
  Words words = SplitWords(line);
  Words result;
  const auto equals = std::find(words.begin(), words.end(), "=");
  const bool has_result = equals != words.end();
  Operation operation;
  if (has_result) {
    operation.text = std::string(absl::StripAsciiWhitespace(
        line.substr(0, equals->data() - line.data())));
    result.assign(equals + 1, words.end());
    words.erase(equals, words.end());
    if (words.empty()) return Error("missing operation");
  } else {
    operation.text = std::string(line);
  }

  size_t name_words = 1;
  if (words[0] == "metrics" && words.size() > 1) name_words = 2;
  operation.name =
      absl::StrJoin(words.begin(), words.begin() + name_words, " ");
  const auto syntax = std::find_if(
      std::begin(kSyntax), std::end(kSyntax),
      [&operation](const Syntax& s) { return operation.name == s.name; });
  if (syntax == std::end(kSyntax)) {
    return Error("unknown operation ", Quote(operation.name));
  }
  operation.tolerance = syntax->tolerance;

  words.erase(words.begin(), words.begin() + name_words);
  absl::StatusOr<std::vector<Value>> args =
      operation.name == "addwith"
          ? ParseAddWith(words)
          : ParseValues("argument", syntax->args, words);
  if (!args.ok()) return args.status();
  operation.args = *std::move(args);

  if (has_result && syntax->results[0] == Type::kNone) {
    return Error(operation.name, " has no result");
  }
  absl::StatusOr<Result> want = ParseResult(*syntax, result);
  if (!want.ok()) return want.status();
  operation.want = *std::move(want);
  operation.want_text = absl::StrJoin(result, " ");
  return operation;
}

std::vector<std::string> OperationNames() {
  std::vector<std::string> names;
  for (const Syntax& syntax : kSyntax) names.push_back(syntax.name);
  return names;
}

std::vector<std::string> OperationNamesWithResult() {
  std::vector<std::string> names;
  for (const Syntax& syntax : kSyntax) {
    if (syntax.results[0] != Type::kNone) names.push_back(syntax.name);
  }
  return names;
}

}  // namespace conformance
