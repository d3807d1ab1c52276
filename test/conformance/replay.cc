// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/replay.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "test/conformance/subject.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"

namespace conformance {
namespace {

constexpr char kUsage[] =
    R"(Usage: replay FILE...

Replays traces of client-go's workqueue against this library, and prints for
each FILE the first line at which the library behaves differently:

  FILE:LINE: OPERATION: want RESULT, got RESULT

or, if FILE is not a valid trace or cannot be replayed, the first line that has
an error:

  FILE:LINE: ERROR

Exit status:
  0  everything is as recorded; prints the number of traces and lines
  1  at least one trace differs
  2  no trace differs, but at least one has an error; or no FILE is given
)";

enum ExitStatus { kAllAsRecorded = 0, kSomeDiffer = 1, kSomeInError = 2 };

Outcome ErrorAt(int line, absl::string_view message) {
  return {Outcome::Kind::kError, line, std::string(message)};
}

// Returns `result`, or "<done>" if it is empty.
std::string OrDone(absl::string_view result) {
  return std::string(result.empty() ? "<done>" : result);
}

int CountLines(absl::string_view text) {
  int lines = 0;
  for (const char c : text) lines += c == '\n';
  return !text.empty() && text.back() != '\n' ? lines + 1 : lines;
}

// Reads the contents of `file` into `*contents`.
absl::Status ReadFile(const std::string& file, std::string* contents) {
  const auto error = [] {
    return absl::UnavailableError(
        absl::StrCat("cannot be read: ", std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
      std::fopen(file.c_str(), "rb"), &std::fclose);
  if (stream == nullptr) return error();
  char buffer[1 << 14];
  while (const size_t n = std::fread(buffer, 1, sizeof(buffer), stream.get())) {
    contents->append(buffer, n);
  }
  return std::ferror(stream.get()) ? error() : absl::OkStatus();
}

Outcome ReplayFile(const std::string& file) {
  std::string trace;
  const absl::Status status = ReadFile(file, &trace);
  return status.ok() ? Replay(trace) : ErrorAt(0, status.message());
}

}  // namespace

Outcome Replay(absl::string_view trace, SubjectOr (*create)(const Header&)) {
  const std::vector<Line> lines = SplitLines(trace);
  if (lines.empty()) return ErrorAt(1, "the trace is empty");
  const absl::StatusOr<Header> header = ParseHeader(lines[0].text);
  if (!header.ok()) {
    return ErrorAt(lines[0].number, header.status().message());
  }
  const SubjectOr subject = create(*header);
  if (!subject.ok()) {
    return ErrorAt(lines[0].number, subject.status().message());
  }
  const bool has_count = lines.size() > 1 && IsCount(lines[1].text);
  const size_t first = has_count ? 2 : 1;  // the index of the first operation
  if (lines.size() == first) {
    return ErrorAt(lines.back().number, "no operation follows");
  }
  if (has_count) {
    const absl::StatusOr<int64_t> count = ParseCount(lines[1].text);
    if (!count.ok()) return ErrorAt(lines[1].number, count.status().message());
    const int64_t got = lines.size() - first;
    if (got != *count) {
      return ErrorAt(lines[1].number,
                     absl::StrCat("the trace is incomplete: want ", *count,
                                  " operations, got ", got));
    }
    if (trace.back() != '\n') {
      return ErrorAt(CountLines(trace),
                     "the trace is incomplete: its last line has no end");
    }
  }

  std::vector<Operation> operations;
  for (size_t i = first; i < lines.size(); ++i) {
    absl::StatusOr<Operation> operation = ParseOperation(lines[i].text);
    if (!operation.ok()) {
      return ErrorAt(lines[i].number, operation.status().message());
    }
    if (!(*subject)->Has(operation->name)) {
      return ErrorAt(lines[i].number,
                     absl::StrCat(Quote(header->text), " has no operation ",
                                  Quote(operation->name)));
    }
    operations.push_back(*std::move(operation));
  }

  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    const Result got = (*subject)->Do(operation);
    if (!Agree(operation.want, got, operation.tolerance)) {
      return {
          Outcome::Kind::kDiffers, lines[first + i].number,
          absl::StrCat(operation.text, ": want ", OrDone(operation.want_text),
                       ", got ", OrDone(Format(got)))};
    }
  }
  return {Outcome::Kind::kAsRecorded, CountLines(trace), ""};
}

int ReplayMain(const std::vector<std::string>& args, std::ostream& out,
               std::ostream& err) {
  if (args.empty()) {
    err << kUsage;
    return kSomeInError;
  }
  if (args.size() == 1 && args[0] == "--help") {
    out << kUsage;
    return kAllAsRecorded;
  }
  bool differs = false;
  bool error = false;
  int64_t lines = 0;
  for (const std::string& file : args) {
    const Outcome outcome = ReplayFile(file);
    switch (outcome.kind) {
      case Outcome::Kind::kAsRecorded:
        lines += outcome.line;
        continue;
      case Outcome::Kind::kDiffers:
        differs = true;
        break;
      case Outcome::Kind::kError:
        error = true;
        break;
    }
    out << file << ":" << outcome.line << ": " << outcome.message << std::endl;
  }
  if (differs) return kSomeDiffer;
  if (error) return kSomeInError;
  out << args.size() << (args.size() == 1 ? " trace, " : " traces, ") << lines
      << " lines: all as recorded" << std::endl;
  return kAllAsRecorded;
}

}  // namespace conformance
