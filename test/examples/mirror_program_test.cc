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

namespace mirror::mirror_program_test {
namespace {

namespace fs = ::std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
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
  // The injected failures were there, and end before the program does.
  EXPECT_THAT(out(), HasSubstr("until the changes end"));
  EXPECT_THAT(out(), ContainsRegex("failed reconciles +[1-9]"));
  EXPECT_THAT(out(), ContainsRegex("failing at the end +0\n"));
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

// The page is served until somebody has seen it.
TEST_F(ProgramTest, DemoWithMetricsGoesOnUntilInterrupted) {
  Start({"--demo-files=300", "--metrics-port=0"});
  Await(scratch_.path(), [this] { return !out().empty(); });
  EXPECT_THAT(out(), HasSubstr("until Ctrl-C"));
  const fs::path from = fs::directory_iterator(temporary_)->path() / "from";
  // The changes begin with an empty tree, again and again. They leave some of
  // so many files alone until then.
  for (int round = 0; round < 2; ++round) {
    const auto name = [&](int i) { return from / absl::StrCat("mine", i); };
    for (int i = 0; i < 50; ++i) WriteFile(name(i), "");
    Await(from, [&] {
      for (int i = 0; i < 50; ++i) {
        if (fs::exists(name(i))) return false;
      }
      return true;
    });
  }
  Signal(SIGINT);
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_THAT(out(), HasSubstr("the trees are the same"));
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

TEST_F(ProgramTest, SaysOnceThatItIsInSync) {
  WriteFile(from_ / "file", "contents");
  StartMirror();
  AwaitMessage("in sync");
  EXPECT_EQ(ReadFile(to_ / "file"), "contents");
  // It is out of sync and then in sync again.
  WriteFile(from_ / "second", "contents");
  AwaitCopy("second", "contents");
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_EQ(err(), "mirror: in sync\n");
}

TEST_F(ProgramTest, IsNotInSyncWhileAPathFails) {
  largest_file_ = 10 << 20;
  WriteFile(from_ / "large", "");
  ASSERT_EQ(truncate((from_ / "large").c_str(), 11 << 20), 0);
  StartMirror();
  AwaitMessage("large");
  WriteFile(from_ / "small", "contents");
  AwaitCopy("small", "contents");
  EXPECT_THAT(err(), Not(HasSubstr("in sync")));
  WriteFile(from_ / "large", "contents");
  AwaitMessage("in sync");
  EXPECT_EQ(ReadFile(to_ / "large"), "contents");
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_THAT(err(), EndsWith("mirror: in sync\n"));
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
  AwaitMessage("No such file");
  fs::rename(scratch_.path() / "away", to_);
  for (int i = 0; i < 100; ++i) AwaitCopy(absl::StrCat(i), "contents");
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0) << out() << err();
  EXPECT_THAT(Differences(), IsEmpty());
  const std::string messages = err();
  EXPECT_LE(std::count(messages.begin(), messages.end(), '\n'), 4) << messages;
}

TEST_F(ProgramTest, SecondSignalForces) {
  // Copying these files takes longer than the test. Links are quick to create,
  // and the mirror copies each link as a file.
  WriteFile(from_ / "0", "contents");
  for (int i = 1; i < 5000; ++i) {
    fs::create_hard_link(from_ / "0", from_ / absl::StrCat(i));
  }
  StartMirror({"--workers=1"});
  AwaitCopy();
  // A second signal of the same kind could merge with the first one.
  Signal(SIGINT);
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 1);
  EXPECT_THAT(err(), HasSubstr("stopped before everything was mirrored"));
  // No file is left that the mirror has begun to copy.
  for (const fs::directory_entry& copy : fs::directory_iterator(to_)) {
    EXPECT_TRUE(fs::exists(from_ / copy.path().filename())) << copy.path();
  }
}

}  // namespace
}  // namespace mirror::mirror_program_test
