// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the mirror in several processes that share a queue, in a server, in a
// file and in a database, and kills them.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>  // NOLINT(build/c++17)
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/mirror/churn.h"
#include "examples/mirror/tree.h"
#include "examples/mirror/tree_compare.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"
#include "test/examples/scratch_directory.h"
#include "test/shared/redis_fixture.h"
#ifdef MIRROR_POSTGRES
#include "absl/status/status.h"
#include "test/shared/postgres_server.h"
#include "workqueue/shared/postgres/postgres_engine.h"
#endif

namespace mirror::mirror_shared_test {
namespace {

namespace fs = ::std::filesystem;
using ::testing::IsEmpty;

constexpr int kProcesses = 3;

// A process of the program, which writes its output to a file.
class Process {
 public:
  Process(std::vector<std::string> args, const fs::path& output) {
    args.insert(args.begin(), examples::PathOf("mirror"));
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    pid_ = fork();
    EXPECT_GE(pid_, 0);
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }

  ~Process() { End(SIGKILL); }

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Sends `signal`, or nothing if that is 0, and waits for the end. Returns the
  // exit status, or a negative number after a signal.
  int End(int signal) {
    if (pid_ <= 0) return 0;
    kill(pid_, signal);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
};

enum class Store { kServer, kFile, kDatabase };

class MirrorSharedTest : public workqueue::RedisFixture,
                         public testing::WithParamInterface<Store> {
 protected:
  void SetUp() override {
    if (GetParam() == Store::kServer) RedisFixture::SetUp();
#ifdef MIRROR_POSTGRES
    if (GetParam() == Store::kDatabase) {
      auto database = workqueue::PostgresServer::Start();
      if (workqueue::IsNotRequired(database.status())) {
        GTEST_SKIP() << database.status();
      }
      ASSERT_TRUE(database.ok()) << database.status();
      database_ = *std::move(database);
      ASSERT_EQ(workqueue::PostgresEngine::Migrate(database_->address()),
                absl::OkStatus());
    }
#endif
    fs::create_directory(from_);
    fs::create_directory(file_.parent_path());
  }

  std::string Address() const {
    switch (GetParam()) {
      case Store::kServer:
        return absl::StrCat("unix://", server()->socket_path());
      case Store::kFile:
        return file_.native();
      case Store::kDatabase:
        break;
    }
#ifdef MIRROR_POSTGRES
    return database_->address();
#else
    return "";
#endif
  }

  std::unique_ptr<Process> Start(std::vector<std::string> args) {
    args.push_back(absl::StrCat("--from=", from_.native()));
    args.push_back(absl::StrCat("--to=", to_.native()));
    args.push_back(absl::StrCat("--shared=", Address()));
    return std::make_unique<Process>(std::move(args), output_);
  }

  std::vector<std::string> Differences() const {
    return CompareTrees(Tree(from_), Tree(to_)).differences;
  }

  std::string output() const { return ReadFile(output_); }

  // Returns the sum of the numbers after `title` in the outputs of all
  // processes.
  int Sum(absl::string_view title) const {
    int sum = 0;
    const std::string text = output();
    for (size_t at = text.find(title.data()); at != std::string::npos;
         at = text.find(title.data(), at + 1)) {
      int number = 0;
      EXPECT_EQ(sscanf(text.c_str() + at + title.size(), "%d", &number), 1);
      sum += number;
    }
    return sum;
  }

  const ScratchDirectory scratch_;
  const fs::path from_ = scratch_.path() / "from";
  const fs::path to_ = scratch_.path() / "to";
  const fs::path output_ = scratch_.path() / "output";
  const fs::path file_ = scratch_.path() / "queue" / "mirror.db";
#ifdef MIRROR_POSTGRES
  std::unique_ptr<workqueue::PostgresServer> database_;
#endif
};

std::string NameOf(const testing::TestParamInfo<Store>& store) {
  static constexpr const char* kNames[] = {"Server", "File", "Database"};
  return kNames[static_cast<int>(store.param)];
}

INSTANTIATE_TEST_SUITE_P(Stores, MirrorSharedTest,
                         testing::Values(Store::kServer
#ifdef MIRROR_SQLITE
                                         ,
                                         Store::kFile
#endif
#ifdef MIRROR_POSTGRES
                                         ,
                                         Store::kDatabase
#endif
                                         ),
                         NameOf);

TEST_P(MirrorSharedTest, EachPathIsCopiedByOneOfTheProcesses) {
  Churn churn(from_, 1);
  churn.CreateFiles(400);
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < kProcesses; ++i) processes.push_back(Start({"--once"}));
  for (auto& process : processes) EXPECT_EQ(process->End(0), 0) << output();
  EXPECT_THAT(Differences(), IsEmpty());
  EXPECT_EQ(Sum("files copied"), 400) << output();
}

TEST_P(MirrorSharedTest, KilledProcessesLeaveNothingUndone) {
  Churn churn(from_, 2);
  churn.CreateFiles(200);
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.push_back(Start({"--resync=2s"}));
  }
  for (int kills = 0; kills < 9; ++kills) {
    for (int i = 0; i < 100; ++i) churn.Step();
    auto& victim = processes[kills % kProcesses];
    EXPECT_EQ(victim->End(SIGKILL), -SIGKILL) << output();
    victim = Start({"--resync=2s"});
  }
  // The last victim's lease, and its unfinished copies, take some seconds.
  const absl::Time deadline = absl::Now() + absl::Minutes(2);
  while (!Differences().empty() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_THAT(Differences(), IsEmpty()) << output();
  for (auto& process : processes) {
    EXPECT_EQ(process->End(SIGTERM), 0) << output();
  }
  EXPECT_THAT(Differences(), IsEmpty()) << output();
}

TEST_P(MirrorSharedTest, SaysThatThereIsNoStore) {
  if (GetParam() == Store::kServer) server()->Kill();
  fs::remove(file_.parent_path());
  std::string named = file_.native();
  if (GetParam() == Store::kServer) named = server()->socket_path();
#ifdef MIRROR_POSTGRES
  if (GetParam() == Store::kDatabase) {
    database_->Crash();
    named = fs::path(database_->database()).parent_path().native();
  }
#endif
  EXPECT_EQ(Start({"--once"})->End(0), 1);
  EXPECT_THAT(output(), ::testing::HasSubstr(named));
}

}  // namespace
}  // namespace mirror::mirror_shared_test
