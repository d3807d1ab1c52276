// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/churn.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mirror {
namespace {

namespace fs = ::std::filesystem;

constexpr uint32_t kFilesPerDirectory = 20;
constexpr uint32_t kLargestFile = 16 << 10;

}  // namespace

Churn::Churn(fs::path root, uint32_t seed)
    : random_(seed), directories_({std::move(root)}) {}

uint32_t Churn::Random(uint32_t n) { return random_() % n; }

const fs::path& Churn::RandomDirectory() {
  return directories_[Random(directories_.size())];
}

fs::path Churn::RandomEntry() {
  std::error_code error;
  std::vector<Path> entries;
  for (fs::directory_iterator it(RandomDirectory(), error), end;
       !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  return entries.empty() ? Path() : entries[Random(entries.size())];
}

fs::path Churn::NewName() { return absl::StrCat("n", ++names_); }

void Churn::CreateFiles(int n) {
  for (int i = 0; i < n; ++i) {
    if (i % kFilesPerDirectory == 0) CreateDirectory();
    WriteFile(directories_.back() / NewName());
  }
}

void Churn::Step() {
  const Path path = RandomEntry();
  if (path.empty()) {
    WriteFile(RandomDirectory() / NewName());
    return;
  }
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  const uint32_t choice = Random(100);
  if (choice < 20) {
    WriteFile(path.parent_path() / NewName());
  } else if (choice < 30) {
    ChangePermissions(path);
  } else if (choice < 34) {
    CreateDirectory();
  } else if (choice < 37) {
    MoveDirectory();
  } else if (choice < 39) {
    RemoveDirectory();
  } else if (choice < 44) {
    fs::create_symlink(NewName(), path.parent_path() / NewName(), error);
  } else if (type == fs::file_type::directory) {
    WriteFile(path / NewName());
  } else if (choice < 54) {
    fs::remove(path, error);
  } else if (choice < 62) {
    fs::rename(path, RandomDirectory() / NewName(), error);
  } else if (choice < 65) {
    ReplaceByOtherKind(path);
  } else if (choice < 70) {
    const Path temporary = path.parent_path() / NewName();
    WriteFile(temporary);
    fs::rename(temporary, path, error);
  } else if (type == fs::file_type::regular) {
    RewriteFile(path);
  }
}

void Churn::WriteFile(const Path& path) {
  std::ofstream(path) << std::string(Random(kLargestFile),
                                     static_cast<char>('a' + Random(26)));
}

void Churn::RewriteFile(const Path& path) {
  const int times = 1 + Random(20);
  for (int i = 0; i < times; ++i) {
    // Sometimes the new size equals the old one.
    std::fstream file(path, std::ios::in | std::ios::out);
    if (i % 4 == 3) file.seekp(0, std::ios::end);
    file << i << ' ' << names_;
  }
}

void Churn::CreateDirectory() {
  std::error_code error;
  const Path path = RandomDirectory() / NewName();
  if (fs::create_directory(path, error)) directories_.push_back(path);
}

void Churn::MoveDirectory() {
  const Path from = RandomDirectory();
  const Path to = RandomDirectory() / NewName();
  std::error_code error;
  // This fails, for example, if `to` is inside `from`.
  fs::rename(from, to, error);
  if (error || from == directories_.front()) return;
  for (Path& each : directories_) {
    if (each == from) {
      each = to;
    } else if (absl::StartsWith(each.native(), from.native() + "/")) {
      each = to.native() + each.native().substr(from.native().size());
    }
  }
}

void Churn::RemoveDirectory() {
  const Path path = RandomDirectory();
  const auto is_removed = [&path](const Path& each) {
    return each == path || absl::StartsWith(each.native(), path.native() + "/");
  };
  // Do not remove half of the tree, which would soon be empty.
  if (path == directories_.front() ||
      std::count_if(directories_.begin(), directories_.end(), is_removed) > 5) {
    return;
  }
  std::error_code error;
  fs::remove_all(path, error);
  directories_.erase(
      std::remove_if(directories_.begin(), directories_.end(), is_removed),
      directories_.end());
}

void Churn::ChangePermissions(const Path& path) {
  static constexpr int kPermissions[] = {0755, 0700, 0775, 0750};
  static constexpr int kExecute = 0111;
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  const bool directory = status.type() == fs::file_type::directory;
  if (!directory && status.type() != fs::file_type::regular) return;
  const int permissions = kPermissions[Random(std::size(kPermissions))];
  fs::permissions(
      path,
      static_cast<fs::perms>(directory ? permissions : permissions & ~kExecute),
      error);
}

void Churn::ReplaceByOtherKind(const Path& path) {
  std::error_code error;
  fs::remove(path, error);
  switch (Random(3)) {
    case 0:
      WriteFile(path);
      break;
    case 1:
      fs::create_symlink(NewName(), path, error);
      break;
    default:
      if (!fs::create_directory(path, error)) break;
      WriteFile(path / NewName());
      directories_.push_back(path);
      break;
  }
}

}  // namespace mirror
