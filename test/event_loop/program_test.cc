// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program as a user does, and reads in /proc that it has one thread.
// No check depends on its speed.

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/event_loop/epoll_loop.h"
#include "examples/event_loop/moody_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"

namespace event_loop::program_test {
namespace {

using ::examples::Outcome;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Outcome RunProgram(absl::string_view args) {
  return examples::RunProgram("event_loop", args);
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A program that runs until the test stops it.
class Running {
 public:
  explicit Running(std::vector<std::string> args) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    args.insert(args.begin(), examples::PathOf("event_loop"));
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(ends[1]);
    out_ = fdopen(ends[0], "r");
  }

  ~Running() {
    if (out_ != nullptr) Stop(SIGKILL);
  }

  // Returns the next line that the program prints.
  std::string Line() {
    char line[1000] = "";
    return fgets(line, sizeof(line), out_) == nullptr ? "" : line;
  }

  std::string ProcStatus() const {
    return Contents(absl::StrCat("/proc/", pid_, "/status"));
  }

  // Sends the signal, and returns how the program ended, and what it printed.
  Outcome Stop(int signal) {
    kill(pid_, signal);
    Outcome outcome;
    for (int c = fgetc(out_); c != EOF; c = fgetc(out_)) {
      outcome.out.push_back(static_cast<char>(c));
    }
    fclose(out_);
    out_ = nullptr;
    int status;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
  }

 private:
  pid_t pid_;
  FILE* out_;
};

TEST(ProgramTest, StopsCleanlyOnASignalAndHasOneThread) {
  Running program({"--seconds=600"});
  EXPECT_THAT(program.Line(),
              ContainsRegex("^http://127.0.0.1:[0-9]+ is told"));
  EXPECT_THAT(program.ProcStatus(), HasSubstr("\nThreads:\t1\n"));
  const Outcome outcome = program.Stop(SIGTERM);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("stops: a signal\n"),
                                 HasSubstr("\nthreads: 1\n")));
}

TEST(ProgramTest, RunsByItself) {
  const std::string metrics =
      absl::StrCat(getenv("TEST_TMPDIR"), "/event_loop.prom");
  const Outcome outcome =
      RunProgram(absl::StrCat("--seconds=2 --metrics=", metrics));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("stops: its time is over\n"),
                    ContainsRegex("\n[1-9][0-9]* changes, [1-9][0-9]* "
                                  "requests, of which [1-9][0-9]* failed\n"),
                    HasSubstr("\nthreads: 1\n")));
  const std::string written = Contents(metrics);
  for (const char* const counter :
       {"workqueue_adds_total{controller=\"devices\",name=\"devices\"} ",
        "reconcile_total{controller=\"devices\",result=\"success\"} ",
        "reconcile_total{controller=\"devices\",result=\"error\"} "}) {
    const size_t at = written.find(counter);
    ASSERT_NE(at, std::string::npos) << counter;
    EXPECT_NE(written[at + strlen(counter)], '0') << counter;
  }
}

// One that this test drives: it runs until the program has sent requests.
TEST(ProgramTest, AsksTheServerThatItIsTold) {
  EpollLoop loop;
  MoodyServer server(&loop);
  ASSERT_TRUE(server.ok());
  Running program({absl::StrCat("--url=", server.url()), "--seconds=600"});
  while (server.num_requests() < 30) loop.RunOnce();
  EXPECT_THAT(program.Line(), StartsWith(server.url()));
  const Outcome outcome = program.Stop(SIGINT);
  EXPECT_THAT(outcome.out, HasSubstr("stops: a signal\n"));
}

TEST(ProgramTest, CancelsARequestWithoutAnAnswer) {
  EpollLoop loop;  // which does not run
  MoodyServer server(&loop);
  ASSERT_TRUE(server.ok());
  const Outcome outcome = RunProgram(
      absl::StrCat("--url=", server.url(), " --timeout=10ms --seconds=1"));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              ContainsRegex("requests, of which [1-9][0-9]* failed\n"));
}

TEST(ProgramTest, WrongFlagsGetOneLineAndExitCode2) {
  for (const char* const flag :
       {"--seconds=0", "--timeout=0", "--nonsense", "argument"}) {
    const Outcome outcome = RunProgram(absl::StrCat(flag, " 2>&1 >/dev/null"));
    EXPECT_EQ(outcome.exit_code, 2) << flag;
    EXPECT_THAT(outcome.out, StartsWith(absl::StrCat("event_loop: ", flag)));
  }
}

TEST(ProgramTest, AFileThatCannotBeWrittenIsAnError) {
  const Outcome outcome =
      RunProgram("--seconds=600 --metrics=/nowhere/metrics 2>&1");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("event_loop: /nowhere/metrics cannot be written\n"));
}

TEST(ProgramTest, Help) {
  const Outcome outcome = RunProgram("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("usage: event_loop"), HasSubstr("--url"),
                    HasSubstr("--timeout"), HasSubstr("--metrics"),
                    HasSubstr("--seconds")));
}

}  // namespace
}  // namespace event_loop::program_test
