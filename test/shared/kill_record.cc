// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/kill_record.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace workqueue {

int64_t MonotonicNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

KillRecorder::KillRecorder(const std::string& path)
    : file_(
          open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) {
    perror(path.c_str());
    exit(1);
  }
}

KillRecorder::~KillRecorder() { close(file_); }

void KillRecorder::Write(KillRecord::Kind kind, int64_t time, int64_t number,
                         int64_t value, absl::string_view item) const {
  const std::string line = absl::StrCat(std::string(1, kind), " ", time, " ",
                                        number, " ", value, " ", item, "\n");
  if (write(file_, line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    perror("cannot write a record");
    _exit(1);
  }
}

void ReadKillRecords(const std::string& path, int process,
                     std::vector<KillRecord>* records) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    KillRecord record;
    if (words.size() != 5 || words[0].size() != 1 ||
        !absl::SimpleAtoi(words[1], &record.time) ||
        !absl::SimpleAtoi(words[2], &record.number) ||
        !absl::SimpleAtoi(words[3], &record.value)) {
      continue;
    }
    record.kind = static_cast<KillRecord::Kind>(words[0][0]);
    record.item = std::string(words[4]);
    record.process = process;
    records->push_back(std::move(record));
  }
}

}  // namespace workqueue
