// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_EXAMPLES_MIRROR_PROGRAM_FIXTURE_H_
#define WORKQUEUE_TEST_EXAMPLES_MIRROR_PROGRAM_FIXTURE_H_

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>  // NOLINT(build/c++17)
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "examples/mirror/fd.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"
#include "test/examples/scratch_directory.h"

namespace mirror {

// MirrorProgramFixture
//
// This fixture runs the mirror on the test's directories and waits for the
// mirror's effects.
class MirrorProgramFixture : public ::testing::Test {
 protected:
  MirrorProgramFixture() {
    std::filesystem::create_directory(from_);
    std::filesystem::create_directory(temporary_);
  }

  ~MirrorProgramFixture() override {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void Start(std::vector<std::string> args) {
    args.insert(args.begin(), examples::PathOf("mirror"));
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (largest_file_ != RLIM_INFINITY) {
      const struct rlimit limit = {largest_file_, largest_file_};
      setrlimit(RLIMIT_FSIZE, &limit);
      signal(SIGXFSZ, SIG_IGN);
    }
    setenv("TMPDIR", temporary_.c_str(), 1);
    dup2(creat((scratch_.path() / "out").c_str(), 0600), STDOUT_FILENO);
    dup2(creat((scratch_.path() / "err").c_str(), 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }

  void StartMirror(std::vector<std::string> args = {}) {
    args.push_back(absl::StrCat("--from=", from_.native()));
    args.push_back(absl::StrCat("--to=", to_.native()));
    Start(std::move(args));
  }

  void Signal(int signal) const {
    ASSERT_GT(pid_, 0);  // Other values would signal other processes.
    kill(pid_, signal);
  }

  // Waits for the program to end and returns its exit status.
  int Wait() {
    int status;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  int Run(std::vector<std::string> args) {
    Start(std::move(args));
    return Wait();
  }

  std::string out() const { return ReadFile(scratch_.path() / "out"); }
  std::string err() const { return ReadFile(scratch_.path() / "err"); }

  // Blocks until `condition` holds. The program must make it hold by a change
  // in `directory`.
  void Await(const std::filesystem::path& directory,
             absl::FunctionRef<bool()> condition) const {
    const Fd inotify(inotify_init1(IN_CLOEXEC));
    ASSERT_GE(inotify_add_watch(inotify.get(), directory.c_str(),
                                IN_CREATE | IN_MODIFY | IN_MOVED_TO),
              0);
    const Fd program(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    while (!condition()) {
      struct pollfd fds[] = {{inotify.get(), POLLIN, 0},
                             {program.get(), POLLIN, 0}};
      poll(fds, 2, -1);
      ASSERT_EQ(fds[1].revents, 0) << "the program has ended: " << err();
      char events[4096];
      ASSERT_GT(read(inotify.get(), events, sizeof(events)), 0);
    }
  }

  void AwaitAnythingIn(const std::filesystem::path& directory) const {
    Await(directory, [&] { return !std::filesystem::is_empty(directory); });
  }

  // Blocks until there is any copy.
  void AwaitCopy() const {
    Await(scratch_.path(), [this] { return std::filesystem::exists(to_); });
    AwaitAnythingIn(to_);
  }

  // Blocks until the copy of the file `name` has these `contents`.
  void AwaitCopy(const std::string& name, const std::string& contents) const {
    AwaitCopy();
    Await(to_, [&] { return ReadFile(to_ / name) == contents; });
  }

  // Blocks until the program has written a message that contains `text`.
  void AwaitMessage(const std::string& text) const {
    Await(scratch_.path(), [&] { return absl::StrContains(err(), text); });
  }

  const ScratchDirectory scratch_;
  const std::filesystem::path from_ = scratch_.path() / "from";
  const std::filesystem::path to_ = scratch_.path() / "to";
  const std::filesystem::path temporary_ = scratch_.path() / "tmp";
  rlim_t largest_file_ = RLIM_INFINITY;
  pid_t pid_ = 0;
};

}  // namespace mirror

#endif  // WORKQUEUE_TEST_EXAMPLES_MIRROR_PROGRAM_FIXTURE_H_
