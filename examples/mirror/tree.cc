// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "examples/mirror/fd.h"

namespace mirror {
namespace {

// Returns whether the last call failed because its path does not exist or is
// not a directory, as expected. With O_NOFOLLOW a symbolic link gives ELOOP.
bool FailedSinceAbsent() {
  return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

}  // namespace

Kind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return Kind::kFile;
  if (S_ISDIR(mode)) return Kind::kDirectory;
  if (S_ISLNK(mode)) return Kind::kSymlink;
  return Kind::kSpecial;
}

absl::StatusOr<Entry> Tree::Look(absl::string_view path) const {
  const absl::string_view parent_path = path.substr(0, path.rfind('/'));
  const bool in_root = path.find('/') == absl::string_view::npos;
  absl::StatusOr<Fd> parent = OpenDirectory(in_root ? "" : parent_path, O_PATH);
  if (!parent.ok()) return parent.status();

  Entry entry;
  if (!parent->ok()) return entry;
  entry.parent = *std::move(parent);
  entry.name = path.empty() ? "."
               : in_root    ? std::string(path)
                            : std::string(path.substr(parent_path.size() + 1));
  if (fstatat(entry.parent.get(), entry.name.c_str(), &entry.stat,
              AT_SYMLINK_NOFOLLOW) == 0) {
    entry.kind = KindOf(entry.stat.st_mode);
  } else if (!FailedSinceAbsent()) {
    return ErrnoStatus("look at", Describe(path));
  }
  return entry;
}

absl::StatusOr<Fd> Tree::OpenDirectory(absl::string_view path,
                                       int flags) const {
  constexpr int kStep = O_PATH | O_DIRECTORY | O_CLOEXEC;
  flags |= O_DIRECTORY | O_CLOEXEC;
  Fd directory(open(root_.c_str(), path.empty() ? flags : kStep));
  if (!directory.ok()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("open ", Describe("")));
  }
  if (path.empty()) return directory;

  const std::vector<std::string> names = absl::StrSplit(path, '/');
  for (size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    directory = Fd(openat(directory.get(), names[i].c_str(),
                          (last ? flags : kStep) | O_NOFOLLOW));
    if (directory.ok()) continue;
    if (FailedSinceAbsent()) return Fd();
    return ErrnoStatus("open", Describe(path));
  }
  return directory;
}

absl::StatusOr<std::vector<std::string>> Tree::List(
    absl::string_view path) const {
  absl::StatusOr<Fd> directory = OpenDirectory(path, O_PATH);
  if (!directory.ok()) return directory.status();
  if (!directory->ok()) return std::vector<std::string>();
  return ListDirectory(directory->get(), Describe(path));
}

std::string Tree::Describe(absl::string_view path) const {
  return absl::Utf8SafeCEscape(path.empty() ? root_ : JoinPath(root_, path));
}

absl::StatusOr<std::vector<std::string>> ListDirectory(
    int directory, absl::string_view description) {
  Fd readable(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.ok() && FailedSinceAbsent()) return std::vector<std::string>();
  if (!readable.ok()) return ErrnoStatus("list", description);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(readable.get()),
                                                   closedir);
  if (stream == nullptr) return ErrnoStatus("list", description);
  readable.Release();  // The stream now owns the descriptor.

  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = readdir(stream.get())) {
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return ErrnoStatus("list", description);
  return names;
}

absl::StatusOr<std::string> ReadLink(int directory, const std::string& name,
                                     absl::string_view description) {
  char target[PATH_MAX];
  const ssize_t size =
      readlinkat(directory, name.c_str(), target, sizeof(target));
  if (size < 0 && errno == EINVAL) errno = ENOENT;  // It is no longer a link.
  if (size < 0) return ErrnoStatus("read link", description);
  return std::string(target, size);
}

std::string JoinPath(absl::string_view directory, absl::string_view name) {
  if (directory.empty()) return std::string(name);
  return absl::StrCat(directory, "/", name);
}

std::string ParentOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return "";
  return std::string(path.substr(0, slash));
}

absl::Status ErrnoStatus(absl::string_view doing,
                         absl::string_view description) {
  const int error = errno;
  const absl::Status status =
      absl::ErrnoToStatus(error, absl::StrCat(doing, " ", description));
  switch (error) {
    case EEXIST:
    case EISDIR:
    case ELOOP:
    case ENOENT:
    case ENOTDIR:
    case ENOTEMPTY:
    case ENXIO:
      return absl::AbortedError(status.message());
    default:
      return status;
  }
}

}  // namespace mirror
