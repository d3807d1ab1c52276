// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs the program as its users do.

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"

namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// Starts the program, asks whether it is ready, and sends the signal.
constexpr char kScript[] = R"(
out=$(mktemp) || exit 1
$program > $out & pid=$!
until grep -q http $out; do kill -0 $pid || exit 1; done
python3 -c '
import sys, urllib.request
url = sys.argv[1]
while True:
  try:
    print(urllib.request.urlopen(url).read().decode())
    break
  except urllib.error.HTTPError as error:
    assert error.code == 503, error  # It has not started yet.
' $(grep http $out)
kill -$signal $pid; wait $pid; code=$?
cat $out; rm $out; exit $code
)";

TEST(ProgramTest, IsReadyAndEndsWhenItIsAsked) {
  for (const char* const signal : {"TERM", "INT"}) {
    const examples::Outcome outcome = examples::RunCommand(absl::StrCat(
        "program=", examples::PathOf("service"), "; signal=", signal, kScript));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    EXPECT_THAT(outcome.out,
                AllOf(HasSubstr("OK\n"), HasSubstr("hello, db\n"),
                      HasSubstr("hello, web\n"), HasSubstr("hello, cache\n"),
                      EndsWith("all is done\n")));
  }
}

// The signal is there before the program begins. The source may have added
// names already, which no worker gets.
TEST(ProgramTest, ASignalBeforeTheStartIsNoError) {
  const examples::Outcome outcome = examples::RunCommand(absl::StrCat(
      R"(python3 -c '
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
os.execv(sys.argv[1], sys.argv[1:])
' )",
      examples::PathOf("service"), " 2>&1"));
  EXPECT_THAT(outcome.out,
              EndsWith(outcome.exit_code == 0 ? "all is done\n"
                                              : "something is left\n"));
}

}  // namespace
