// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/reconciler.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/mirror/fd.h"
#include "examples/mirror/file.h"
#include "examples/mirror/remove_tree.h"
#include "examples/mirror/tree.h"

namespace mirror {
namespace {

// An unfinished copy of another process that has not changed for so long was
// left by a process that was killed.
constexpr absl::Duration kAbandoned = absl::Seconds(10);

bool SameTime(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Returns an error unless `file` is the file that `looked_at` describes and is
// unchanged.
absl::Status CheckUnchanged(const File& file, const Entry& looked_at,
                            const std::string& description) {
  const absl::StatusOr<struct stat> now = file.Stat();
  if (!now.ok()) return now.status();
  const struct stat& before = looked_at.stat;
  if (now->st_dev == before.st_dev && now->st_ino == before.st_ino &&
      now->st_mode == before.st_mode && now->st_size == before.st_size &&
      SameTime(now->st_mtim, before.st_mtim) &&
      SameTime(now->st_ctim, before.st_ctim)) {
    return absl::OkStatus();
  }
  return absl::AbortedError(
      absl::StrCat("read ", description, ": it is being changed"));
}

absl::StatusOr<File> OpenUnchanged(const Entry& entry,
                                   const std::string& description) {
  absl::StatusOr<File> file =
      File::Open(entry.parent.get(), entry.name, description);
  if (!file.ok()) return file;
  const absl::Status status = CheckUnchanged(*file, entry, description);
  if (!status.ok()) return status;
  return file;
}

}  // namespace

Reconciler::Reconciler(std::string source, std::string copy, Hooks hooks,
                       bool shared)
    : source_(std::move(source)),
      copy_(std::move(copy)),
      hooks_(std::move(hooks)),
      shared_(shared) {}

absl::Status Reconciler::Reconcile(const std::string& path,
                                   const absl::Notification& stop) {
  if (stop.HasBeenNotified()) return absl::CancelledError("stopped");
  // Look at the source before the copy. If the parent directory has no copy
  // yet, a later call creates that copy, and then enqueues all paths that are
  // in the source by then. See MakeDirectory().
  absl::StatusOr<Entry> source = source_.Look(path);
  if (!source.ok()) return source.status();
  absl::StatusOr<Entry> copy = copy_.Look(path);
  if (!copy.ok()) return copy.status();

  Pair pair{path, stop, *std::move(source), *std::move(copy)};
  absl::Status status = MakeLikeSource(pair);
  if (pair.directory_opened_up) status.Update(hooks_.enqueue(ParentOf(path)));
  return status;
}

absl::Status Reconciler::MakeLikeSource(Pair& pair) {
  const Kind wanted = pair.source.kind;
  NoteSpecialFiles(pair.path, wanted);
  if (wanted == Kind::kAbsent || wanted == Kind::kSpecial) return Remove(pair);

  if (!pair.copy.parent.ok()) {
    // The parent will enqueue this path again.
    return hooks_.enqueue(ParentOf(pair.path));
  }
  switch (wanted) {
    case Kind::kDirectory:
      return MakeDirectory(pair);
    case Kind::kSymlink:
      return MakeSymlink(pair);
    default:
      return MakeFile(pair);
  }
}

absl::Status Reconciler::MakeDirectory(Pair& pair) {
  const int directory = pair.copy.parent.get();
  if (pair.copy.kind != Kind::kDirectory) {
    absl::Status status = Remove(pair);
    if (status.ok()) status = BeginChangeOfDirectory(pair);
    if (!status.ok()) return status;
    if (mkdirat(directory, pair.copy.name.c_str(), 0700) != 0) {
      return ErrnoStatus("create directory", copy_.Describe(pair.path));
    }
    pair.copy.kind = Kind::kDirectory;
    pair.copy.stat.st_mode = S_IFDIR | 0700;
  }

  // Set the permissions first, because the old ones may prevent the next step.
  // If this fails, still do the next step as far as possible.
  absl::Status status;
  if (pair.copy.permissions() != pair.source.permissions()) {
    status = SetPermissions(pair);
  }
  status.Update(EnqueueWhatIsIn(pair));
  return status;
}

absl::Status Reconciler::EnqueueWhatIsIn(const Pair& pair) {
  const absl::StatusOr<Fd> source = source_.OpenDirectory(pair.path, O_PATH);
  if (!source.ok()) return source.status();
  const absl::StatusOr<Fd> copy = copy_.OpenDirectory(pair.path, O_PATH);
  if (!copy.ok()) return copy.status();
  // Include names that are in only one of the two trees.
  absl::btree_set<std::string> names;
  for (const auto& [directory, tree] :
       {std::pair(source->get(), &source_), std::pair(copy->get(), &copy_)}) {
    if (directory < 0) continue;
    absl::StatusOr<std::vector<std::string>> list =
        ListDirectory(directory, tree->Describe(pair.path));
    if (!list.ok()) return list.status();
    names.insert(list->begin(), list->end());
  }
  absl::Status result;
  for (const std::string& name : names) {
    if (temporary_names_.InUse(name)) continue;
    const std::string path = JoinPath(pair.path, name);
    const auto look = [&name](const Fd& directory, struct stat* result) {
      return fstatat(directory.get(), name.c_str(), result,
                     AT_SYMLINK_NOFOLLOW) == 0;
    };
    // Most files can be recognized as unchanged here, without the queue.
    struct stat in_source, in_copy;
    if (shared_ && TemporaryNames::IsOne(name) && look(*copy, &in_copy) &&
        absl::Now() - absl::TimeFromTimespec(in_copy.st_ctim) < kAbandoned) {
      continue;
    }
    if (look(*source, &in_source) && look(*copy, &in_copy) &&
        verified_files_.Contains(path, in_source, in_copy)) {
      continue;
    }
    const absl::Status status = hooks_.enqueue(path);
    result.Update(status);
    // The queue refuses only this path. In an outage, each call would wait.
    if (!status.ok() && !absl::IsInvalidArgument(status)) break;
  }
  return result;
}

absl::Status Reconciler::MakeSymlink(Pair& pair) {
  const absl::StatusOr<std::string> target = ReadLink(
      pair.source.parent.get(), pair.source.name, source_.Describe(pair.path));
  if (!target.ok()) return target.status();
  const int directory = pair.copy.parent.get();
  if (pair.copy.kind == Kind::kSymlink) {
    const absl::StatusOr<std::string> current =
        ReadLink(directory, pair.copy.name, copy_.Describe(pair.path));
    if (!current.ok()) return current.status();
    if (*current == *target) return absl::OkStatus();
  }
  return Replace(pair, [&](const std::string& name) {
    if (symlinkat(target->c_str(), directory, name.c_str()) == 0) {
      return absl::OkStatus();
    }
    return ErrnoStatus("create link", copy_.Describe(pair.path));
  });
}

absl::Status Reconciler::MakeFile(Pair& pair) {
  const bool same_size = pair.copy.kind == Kind::kFile &&
                         pair.copy.stat.st_size == pair.source.stat.st_size;
  if (same_size &&
      verified_files_.Contains(pair.path, pair.source.stat, pair.copy.stat)) {
    return absl::OkStatus();
  }

  const absl::Time now = absl::Now();
  bool same = false;
  if (same_size) {
    const absl::StatusOr<bool> read = ReadTheSame(pair);
    if (!read.ok()) return read.status();
    same = *read;
  }
  const absl::Status status = same ? SetAttributes(pair) : CopyFile(pair);
  if (!status.ok()) return status;

  struct stat copy;
  if (fstatat(pair.copy.parent.get(), pair.copy.name.c_str(), &copy,
              AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus("look at", copy_.Describe(pair.path));
  }
  verified_files_.Insert(pair.path, pair.source.stat, copy, now);
  return absl::OkStatus();
}

absl::StatusOr<bool> Reconciler::ReadTheSame(const Pair& pair) const {
  const std::string source_description = source_.Describe(pair.path);
  absl::StatusOr<File> source = OpenUnchanged(pair.source, source_description);
  if (!source.ok()) return source.status();
  absl::StatusOr<File> copy =
      OpenUnchanged(pair.copy, copy_.Describe(pair.path));
  // A copy that cannot be read can still be replaced.
  if (absl::IsPermissionDenied(copy.status())) return false;
  if (!copy.ok()) return copy.status();

  const absl::StatusOr<bool> same = SameContents(*source, *copy, pair.stop);
  if (!same.ok()) return same;
  const absl::Status status =
      CheckUnchanged(*source, pair.source, source_description);
  if (!status.ok()) return status;
  return same;
}

absl::Status Reconciler::SetPermissions(const Pair& pair) {
  const absl::Status status = BeginChange(pair);
  if (!status.ok()) return status;
  if (fchmodat(pair.copy.parent.get(), pair.copy.name.c_str(),
               pair.source.permissions(), AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus("set permissions of", copy_.Describe(pair.path));
  }
  return absl::OkStatus();
}

absl::Status Reconciler::SetModified(const Pair& pair) {
  const absl::Status status = BeginChange(pair);
  if (!status.ok()) return status;
  const struct timespec times[2] = {{0, UTIME_OMIT}, pair.source.stat.st_mtim};
  if (utimensat(pair.copy.parent.get(), pair.copy.name.c_str(), times,
                AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoStatus("set time of", copy_.Describe(pair.path));
  }
  return absl::OkStatus();
}

absl::Status Reconciler::SetAttributes(const Pair& pair) {
  absl::Status status;
  if (!SameTime(pair.copy.stat.st_mtim, pair.source.stat.st_mtim)) {
    status = SetModified(pair);
  }
  if (status.ok() && pair.copy.permissions() != pair.source.permissions()) {
    status = SetPermissions(pair);
  }
  return status;
}

absl::Status Reconciler::CopyFile(Pair& pair) {
  const std::string description = source_.Describe(pair.path);
  absl::StatusOr<File> source = OpenUnchanged(pair.source, description);
  if (!source.ok()) return source.status();
  absl::Status replaced = Replace(pair, [&](const std::string& name) {
    absl::StatusOr<File> copy =
        File::Create(pair.copy.parent.get(), name, copy_.Describe(pair.path));
    if (!copy.ok()) return copy.status();
    absl::Status status = CopyContents(*source, *copy, pair.stop);
    if (status.ok()) status = CheckUnchanged(*source, pair.source, description);
    if (status.ok()) status = copy->SetPermissions(pair.source.permissions());
    if (status.ok()) status = copy->SetModified(pair.source.stat.st_mtim);
    if (status.ok()) status = copy->Close();
    return status;
  });
  if (replaced.ok()) ++copied_files_;
  return replaced;
}

absl::Status Reconciler::Replace(
    Pair& pair, absl::FunctionRef<absl::Status(const std::string& name)> make) {
  absl::Status status = BeginChangeOfDirectory(pair);
  if (!status.ok()) return status;
  const int directory = pair.copy.parent.get();
  const std::string name = temporary_names_.Take();
  status = make(name);
  if (status.ok() && pair.copy.kind == Kind::kDirectory) status = Remove(pair);
  if (status.ok() && renameat(directory, name.c_str(), directory,
                              pair.copy.name.c_str()) != 0) {
    status = ErrnoStatus("replace", copy_.Describe(pair.path));
  }
  const bool left_behind = !status.ok() &&
                           unlinkat(directory, name.c_str(), 0) != 0 &&
                           errno != ENOENT;
  temporary_names_.GiveBack(name);
  if (left_behind) {
    status.Update(hooks_.enqueue(JoinPath(ParentOf(pair.path), name)));
  }
  return status;
}

absl::Status Reconciler::Remove(Pair& pair) {
  verified_files_.EraseTree(pair.path);
  if (pair.copy.kind == Kind::kAbsent) return absl::OkStatus();
  const absl::Status status = BeginChangeOfDirectory(pair);
  if (!status.ok()) return status;
  return RemoveTree(pair.copy.parent.get(), pair.copy.name,
                    copy_.Describe(pair.path));
}

absl::Status Reconciler::BeginChange(const Pair& pair) const {
  if (hooks_.before_change == nullptr) return absl::OkStatus();
  return hooks_.before_change(pair.path);
}

absl::Status Reconciler::BeginChangeOfDirectory(Pair& pair) {
  const absl::Status status = BeginChange(pair);
  if (!status.ok()) return status;
  // The copy of a write-protected directory is write-protected, too. A later
  // reconciliation of the directory restores the write protection.
  pair.directory_opened_up |= OpenUpDirectory(pair.copy.parent.get());
  return absl::OkStatus();
}

void Reconciler::NoteSpecialFiles(const std::string& path, Kind kind) {
  const std::lock_guard<std::mutex> lock(mu_);
  if (kind == Kind::kDirectory) {
    special_files_.erase(path);  // Special files below it may remain.
  } else {
    EraseTree(special_files_, path, [](bool) {});
  }
  if (kind == Kind::kSpecial) special_files_[path] = true;
}

size_t Reconciler::special_files() const {
  const std::lock_guard<std::mutex> lock(mu_);
  return special_files_.size();
}

}  // namespace mirror
