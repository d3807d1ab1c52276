// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/tree_watcher.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/mirror/fd.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/tree.h"
#include "workqueue/clock/clock.h"

namespace mirror {
namespace {

constexpr uint32_t kEvents = IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE |
                             IN_DELETE | IN_MODIFY | IN_MOVED_FROM |
                             IN_MOVED_TO;

// The time between checks for a root that does not exist.
constexpr absl::Duration RootPeriod() { return absl::Seconds(1); }

absl::Time Now() { return workqueue::Clock::GetRealClock()->TimeNow(); }

// Converts `d` for poll(2), to milliseconds. Rounds up to avoid a busy loop.
int PollTimeout(absl::Duration d) {
  const int64_t ms = absl::ToInt64Milliseconds(
      absl::Ceil(std::max(d, absl::ZeroDuration()), absl::Milliseconds(1)));
  return static_cast<int>(std::min<int64_t>(ms, INT_MAX));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TreeWatcher>> TreeWatcher::Create(
    std::string root, Options options) {
  Fd inotify(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify.ok()) return ErrnoStatus("create inotify instance for", root);
  Fd stop(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!stop.ok()) return ErrnoStatus("create eventfd for", root);
  return absl::WrapUnique(new TreeWatcher(std::move(root), std::move(options),
                                          std::move(inotify), std::move(stop)));
}

TreeWatcher::TreeWatcher(std::string root, Options options, Fd inotify, Fd stop)
    : tree_(std::move(root)),
      options_(std::move(options)),
      inotify_(std::move(inotify)),
      stop_(std::move(stop)) {}

void TreeWatcher::Stop() { eventfd_write(stop_.get(), 1); }

void TreeWatcher::Cancel() {
  cancelled_ = true;
  Stop();
}

void TreeWatcher::Run() {
  Resync();
  synced_ = true;
  absl::Time last_resync = Now();
  struct pollfd fds[] = {{inotify_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  bool stopping = false;
  while (!stopping) {
    const absl::Duration period = watch_at_.contains("")
                                      ? options_.resync
                                      : std::min(options_.resync, RootPeriod());
    poll(fds, 2, PollTimeout(last_resync + period - Now()));
    stopping = (fds[1].revents & POLLIN) != 0;
    HandleEvents();
    if (resync_needed_ || (stopping && !all_watched_) ||
        Now() >= last_resync + period) {
      Resync();
      last_resync = Now();
    }
  }
  ended_.Notify();
}

void TreeWatcher::Resync() {
  all_watched_ = true;
  resync_needed_ = false;
  seen_.clear();
  Watch("");
  // The directories that were not seen have been moved away.
  std::vector<std::string> gone;
  for (const auto& [watch, path] : path_of_) {
    if (!seen_.contains(watch)) gone.push_back(path);
  }
  for (const std::string& path : gone) Unwatch(path);
}

void TreeWatcher::HandleEvents() {
  alignas(struct inotify_event) char buffer[64 << 10];
  int left = 0;
  ioctl(inotify_.get(), FIONREAD, &left);
  while (left > 0) {
    const ssize_t size = read(inotify_.get(), buffer, sizeof(buffer));
    if (size <= 0) return;
    left -= size;
    for (const char* next = buffer; next < buffer + size;) {
      if (cancelled_) return;
      const auto& event = *reinterpret_cast<const struct inotify_event*>(next);
      Handle(event);
      next += sizeof(event) + event.len;
    }
  }
}

void TreeWatcher::Handle(const struct inotify_event& event) {
  ++events_;
  if (event.mask & IN_Q_OVERFLOW) {
    resync_needed_ = true;
    return;
  }
  const auto it = path_of_.find(event.wd);
  if (it == path_of_.end()) return;  // The event is older than Unwatch().
  const std::string directory = it->second;

  if (event.mask & IN_IGNORED) {  // The directory was removed.
    path_of_.erase(it);
    watch_at_.erase(directory);
    return;
  }
  if (event.mask & IN_MOVE_SELF) {  // Only the root's watch reports this event.
    Unwatch(directory);
    return;
  }
  if (event.len == 0) {
    options_.on_change(directory);
    return;
  }
  const std::string path = JoinPath(directory, event.name);
  if ((event.mask & IN_ISDIR) == 0) {
    options_.on_change(path);
    return;
  }
  // Look at the path for every kind of event. When two directories exchange
  // places, one arrives before the other leaves. Permissions may also have
  // prevented a watch of this directory or of directories below it.
  if (event.mask & IN_MOVED_FROM) Unwatch(path);
  Watch(path);
}

void TreeWatcher::Watch(const std::string& path) {
  std::vector<std::string> to_do = {path};
  while (!to_do.empty() && !cancelled_) {
    const std::string next = std::move(to_do.back());
    to_do.pop_back();
    const absl::StatusOr<Fd> directory = tree_.OpenDirectory(next, O_RDONLY);
    if (!directory.ok()) NoteUnwatched(directory.status());
    if (directory.ok() && directory->ok()) {
      AddWatch(*directory, next);
      const auto names = ListDirectory(directory->get(), tree_.Describe(next));
      if (!names.ok()) NoteUnwatched(names.status());
      for (const std::string& name :
           names.value_or(std::vector<std::string>())) {
        struct stat stat;
        const std::string path_of_name = JoinPath(next, name);
        if (fstatat(directory->get(), name.c_str(), &stat,
                    AT_SYMLINK_NOFOLLOW) != 0) {
          if (errno == ENOENT) continue;
          NoteUnwatched(ErrnoStatus("look at", tree_.Describe(path_of_name)));
        } else if (S_ISDIR(stat.st_mode)) {
          to_do.push_back(path_of_name);
        }
      }
    }
    // Report the directory only after the watch begins. Also report a directory
    // that cannot be watched, because its reconciliation reveals the reason.
    options_.on_change(next);
  }
}

void TreeWatcher::AddWatch(const Fd& directory, const std::string& path) {
  // Use the descriptor, because another directory may be at the path by now. If
  // the directory is already watched, the call returns the existing watch.
  const int watch = inotify_add_watch(
      inotify_.get(), absl::StrCat("/proc/self/fd/", directory.get()).c_str(),
      kEvents | IN_ONLYDIR | (path.empty() ? IN_MOVE_SELF : 0));
  if (watch < 0) {
    NoteUnwatched(
        errno == ENOSPC
            ? absl::ResourceExhaustedError(absl::StrCat(
                  "watch ", tree_.Describe(path),
                  ": the limit fs.inotify.max_user_watches is reached; only a "
                  "resync finds changes there"))
            : ErrnoStatus("watch", tree_.Describe(path)));
    return;
  }
  seen_.insert(watch);
  const auto [it, inserted] = path_of_.try_emplace(watch, path);
  if (!inserted && it->second == path) return;
  if (!inserted) {  // The directory was elsewhere before.
    watch_at_.erase(it->second);
    it->second = path;
  }
  const auto [at, vacant] = watch_at_.try_emplace(path, watch);
  if (!vacant) {  // Another directory was here before.
    inotify_rm_watch(inotify_.get(), at->second);
    path_of_.erase(at->second);
    at->second = watch;
  }
}

void TreeWatcher::NoteUnwatched(const absl::Status& reason) {
  all_watched_ = false;
  if (options_.on_failure != nullptr) options_.on_failure(reason);
}

void TreeWatcher::Unwatch(const std::string& path) {
  EraseTree(watch_at_, path, [this](int watch) {
    inotify_rm_watch(inotify_.get(), watch);
    path_of_.erase(watch);
  });
}

}  // namespace mirror
