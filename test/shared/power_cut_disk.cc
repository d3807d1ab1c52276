// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/power_cut_disk.h"

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "test/shared/disk_log.h"
#include "test/shared/unsynced_file.h"

namespace workqueue {
namespace {

DiskLogRecord RecordAt(const std::string& log, size_t at) {
  DiskLogRecord record;
  std::memcpy(&record, log.data() + at, sizeof(record));
  return record;
}

}  // namespace

PowerCutDisk::PowerCutDisk(std::string folder) : folder_(std::move(folder)) {
  for (const auto& it :
       std::filesystem::recursive_directory_iterator(folder_)) {
    File& file = names_[PathIn(it.path().string())];
    struct stat found;
    if (!it.is_regular_file() || stat(it.path().c_str(), &found) != 0) continue;
    std::ifstream in(it.path(), std::ios::binary);
    file = std::make_shared<UnsyncedFile>(
        std::string(std::istreambuf_iterator<char>(in), {}));
    files_[found.st_ino] = file;
  }
}

std::string PowerCutDisk::PathIn(absl::string_view path) const {
  if (absl::ConsumePrefix(&path, folder_)) absl::ConsumePrefix(&path, "/");
  absl::ConsumePrefix(&path, "./");
  return std::string(path);
}

std::vector<size_t> PowerCutDisk::TakeLog(std::string log) {
  log_ = std::move(log);
  std::vector<size_t> ends;
  for (size_t at = 0; at + sizeof(DiskLogRecord) <= log_.size();) {
    at += sizeof(DiskLogRecord) + RecordAt(log_, at).size;
    if (at <= log_.size()) ends.push_back(at);
  }
  return ends;
}

void PowerCutDisk::RunUntil(size_t end) {
  while (done_ < end) {
    const DiskLogRecord record = RecordAt(log_, done_);
    done_ += sizeof(record);
    Do(record, absl::string_view(log_).substr(done_, record.size));
    done_ += record.size;
  }
}

void PowerCutDisk::Do(const DiskLogRecord& record, absl::string_view bytes) {
  const auto kind = static_cast<DiskLogRecord::Kind>(record.kind);
  const auto found = files_.find(record.file);
  const File file = found == files_.end() ? nullptr : found->second;
  switch (kind) {
    case DiskLogRecord::kWrite:
      if (file) file->Write(record.at, std::string(bytes));
      return;
    case DiskLogRecord::kTruncate:
      if (file) file->Truncate(record.at);
      return;
    case DiskLogRecord::kSync:
      if (file) file->Sync();
      for (const Change& it : changes_) it.DoTo(&names_);
      changes_.clear();
      return;
    default:
      break;
  }
  const size_t zero = bytes.find('\0');
  Change change = {kind, PathIn(bytes.substr(0, zero)), "", nullptr};
  if (zero != absl::string_view::npos) {
    change.other = PathIn(bytes.substr(zero + 1));
  }
  if (kind == DiskLogRecord::kCreate) {
    change.file = files_[record.file] = std::make_shared<UnsyncedFile>();
  }
  changes_.push_back(std::move(change));
}

void PowerCutDisk::Change::DoTo(Names* names) const {
  if (kind == DiskLogRecord::kCreate || kind == DiskLogRecord::kMakeFolder) {
    names->emplace(path, file);
    return;
  }
  const auto found = names->find(path);
  // It was not in the log, or the call has failed.
  if (found == names->end()) return;
  if (kind != DiskLogRecord::kRemove) (*names)[other] = found->second;
  if (kind != DiskLogRecord::kLink) names->erase(found);
}

size_t PowerCutDisk::NumUnsynced() const {
  size_t n = 0;
  for (const auto& [inode, file] : files_) n += file->num_unsynced();
  return n;
}

void PowerCutDisk::Restore(uint32_t seed, const std::string& folder) const {
  std::mt19937 random(seed);
  Names names = names_;
  const size_t changed = random() % (changes_.size() + 1);
  for (size_t i = 0; i < changed; ++i) changes_[i].DoTo(&names);
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  for (const auto& [path, file] : names) {
    const std::string to = folder + "/" + path;
    if (file == nullptr) {
      std::filesystem::create_directory(to);
    } else {
      std::ofstream(to, std::ios::binary) << file->AfterCut(&random);
    }
  }
}

}  // namespace workqueue
