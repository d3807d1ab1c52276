// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program as a user does.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>  // NOLINT(build/c++17)
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/mirror/churn.h"
#include "examples/mirror/tree.h"
#include "examples/mirror/tree_compare.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/mirror_program_fixture.h"
#include "test/examples/scratch_directory.h"

namespace mirror {
namespace {

namespace fs = ::std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ProgramTest : public MirrorProgramFixture {
 protected:
  std::vector<std::string> Differences() const {
    return CompareTrees(Tree(from_), Tree(to_)).differences;
  }
};

TEST_F(ProgramTest, WrongFlagsGetOneLineAndExitCode2) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"--nonsense"},
                                             {"--workers=0"},
                                             {"--resync=never"},
                                             {"argument"},
                                             {"--from=/"},
                                             {"--once"},
                                             {"--from=/none", "--to=/tmp/x"},
                                             {"--from=/", "--to=/"}}) {
    EXPECT_EQ(Run(args), 2) << args[0];
    EXPECT_EQ(out(), "");
    const std::string message = err();
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
    EXPECT_THAT(message, StartsWith("mirror: "));
  }
}

TEST_F(ProgramTest, Help) {
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out(), HasSubstr("usage: mirror"));
  EXPECT_EQ(err(), "");
}

TEST_F(ProgramTest, Demo) {
  EXPECT_EQ(Run({"--demo-files=200"}), 0) << out() << err();
  EXPECT_THAT(out(), AllOf(HasSubstr("events seen"), HasSubstr("deduplicated"),
                           HasSubstr("reconciles run"), HasSubstr("retries"),
                           HasSubstr("p50"), HasSubstr("p99"),
                           HasSubstr("the trees are the same")));
  EXPECT_THAT(err(), Not(HasSubstr("\r")));  // It is no terminal.
  EXPECT_TRUE(fs::is_empty(temporary_));
}

TEST_F(ProgramTest, DemoRemovesItsFilesWhenInterrupted) {
  Start({"--demo-files=100000"});
  Await(scratch_.path(), [this] { return !out().empty(); });
  ASSERT_FALSE(fs::is_empty(temporary_));
  AwaitAnythingIn(fs::directory_iterator(temporary_)->path() / "to");
  Signal(SIGINT);
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_TRUE(fs::is_empty(temporary_));
}

TEST_F(ProgramTest, Once) {
  Churn churn(from_, 1);
  churn.CreateFiles(200);
  for (int i = 0; i < 200; ++i) churn.Step();
  ASSERT_EQ(mkfifo((from_ / "fifo").c_str(), 0600), 0);
  StartMirror({"--once"});
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_THAT(Differences(), IsEmpty());
  EXPECT_EQ(err(), "");
  StartMirror({"--once"});
  EXPECT_EQ(Wait(), 0) << out() << err();
}

TEST_F(ProgramTest, OnceReportsFailures) {
  largest_file_ = 10 << 20;
  WriteFile(from_ / "small", "contents");
  WriteFile(from_ / "large", "");
  ASSERT_EQ(truncate((from_ / "large").c_str(), 11 << 20), 0);
  StartMirror({"--once"});
  EXPECT_EQ(Wait(), 1);
  EXPECT_EQ(ReadFile(to_ / "small"), "contents");
  EXPECT_THAT(out(), AllOf(HasSubstr("NOT MIRRORED: 1\n"),
                           HasSubstr("THE TREES DIFFER: 1\n"),
                           HasSubstr((to_ / "large").native())));
  const std::string message = err();
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
}

TEST_F(ProgramTest, MirrorsTreeThatChangesUntilItIsTerminated) {
  Churn churn(from_, 2);
  churn.CreateFiles(200);
  StartMirror();
  AwaitCopy();
  for (int i = 0; i < 2000; ++i) churn.Step();
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_THAT(Differences(), IsEmpty());
}

// Changes made before the signal are mirrored.
TEST_F(ProgramTest, FinishesKnownChanges) {
  for (int run = 0; run < 3; ++run) {
    StartMirror();
    WriteFile(from_ / "started", absl::StrCat(run));
    AwaitCopy("started", absl::StrCat(run));
    const std::string name = absl::StrCat("directory", run);
    fs::create_directories(from_ / name / "b" / "c");
    for (int i = 0; i < 300; ++i) {
      WriteFile(from_ / name / "b" / "c" / absl::StrCat(i), absl::StrCat(i));
    }
    fs::rename(from_ / name / "b", from_ / name / "d");
    Signal(run == 0 ? SIGINT : SIGTERM);
    EXPECT_EQ(Wait(), 0) << out() << err();
    EXPECT_THAT(Differences(), IsEmpty());
  }
}

TEST_F(ProgramTest, RepairsCopyAtResync) {
  WriteFile(from_ / "file", "contents");
  StartMirror({"--resync=100ms"});
  AwaitCopy("file", "contents");
  WriteFile(to_ / "file", "damaged!");
  AwaitCopy("file", "contents");
  fs::remove(to_ / "file");
  AwaitCopy("file", "contents");
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0) << out() << err();
}

TEST_F(ProgramTest, LosesNoFailure) {
  WriteFile(from_ / "first", "contents");
  StartMirror();
  AwaitCopy("first", "contents");
  fs::rename(to_, scratch_.path() / "away");
  for (int i = 0; i < 100; ++i) WriteFile(from_ / absl::StrCat(i), "contents");
  Await(scratch_.path(), [this] { return !err().empty(); });
  fs::rename(scratch_.path() / "away", to_);
  for (int i = 0; i < 100; ++i) AwaitCopy(absl::StrCat(i), "contents");
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_THAT(Differences(), IsEmpty());
  const std::string messages = err();
  EXPECT_LE(std::count(messages.begin(), messages.end(), '\n'), 3) << messages;
}

TEST_F(ProgramTest, SecondSignalForces) {
  // Copying this file takes longer than the test. If the test fails, it does
  // not fill a disk.
  largest_file_ = rlim_t{8} << 30;
  WriteFile(from_ / "large", "");
  ASSERT_EQ(truncate((from_ / "large").c_str(), off_t{256} << 30), 0);
  StartMirror();
  AwaitCopy();
  // A second signal of the same kind could merge with the first one.
  Signal(SIGINT);
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 1);
  EXPECT_THAT(err(), HasSubstr("stopped before everything was mirrored"));
  EXPECT_TRUE(fs::is_empty(to_));
}

}  // namespace
}  // namespace mirror
