// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <filesystem>  // NOLINT(build/c++17)
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/mirror/options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/scratch_directory.h"

namespace mirror::mirror_options_test {
namespace {

namespace fs = ::std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

absl::StatusOr<Options> Parse(std::vector<std::string> args) {
  args.insert(args.begin(), "mirror");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  return ParseOptions(static_cast<int>(args.size()), argv.data());
}

std::string ErrorOf(std::vector<std::string> args) {
  const absl::StatusOr<Options> options = Parse(std::move(args));
  EXPECT_TRUE(absl::IsInvalidArgument(options.status())) << options.status();
  EXPECT_THAT(options.status().message(), Not(HasSubstr("\n")));
  return std::string(options.status().message());
}

TEST(OptionsTest, WithoutFlagsRunsTheDemo) {
  const absl::StatusOr<Options> options = Parse({});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->from, "");
  EXPECT_FALSE(options->once);
  EXPECT_FALSE(options->help);
  EXPECT_EQ(options->metrics_port, std::nullopt);
  EXPECT_EQ(options->shared, "");
  EXPECT_EQ(options->queue, "mirror");
}

TEST(OptionsTest, All) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch.path() / "from");
  const std::string from = scratch.path() / "from";
  const std::string to = scratch.path() / "to";
  const absl::StatusOr<Options> options =
      Parse({"--from", from, absl::StrCat("--to=", to), "--workers=1024",
             "--resync", "1h30m", "--metrics-port=9100",
             "--shared=localhost:6379", "--queue", "mine"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->from, from);
  EXPECT_EQ(options->to, to);
  EXPECT_EQ(options->workers, 1024);
  EXPECT_EQ(options->resync, absl::Minutes(90));
  EXPECT_EQ(options->metrics_port, 9100);
  EXPECT_EQ(options->shared, "localhost:6379");
  EXPECT_EQ(options->queue, "mine");
}

TEST(OptionsTest, Once) {
  const ScratchDirectory scratch;
  const absl::StatusOr<Options> options =
      Parse({"--from", scratch.path(), "--to=/none", "--once"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->once);
}

TEST(OptionsTest, FlagsThatWouldHaveNoEffect) {
  EXPECT_EQ(ErrorOf({"--queue=q"}), "--queue=q: requires --shared");
  EXPECT_EQ(ErrorOf({"--from=/", "--to=/none", "--queue=mirror"}),
            "--queue=mirror: requires --shared");
  EXPECT_EQ(ErrorOf({"--from=/", "--to=/none", "--once", "--resync=1m"}),
            "--resync=1m: is not for --once");
  EXPECT_EQ(ErrorOf({"--from=/", "--to=/none", "--demo-files=3000"}),
            "--demo-files=3000: is not for --from and --to");
}

TEST(OptionsTest, HelpNamesAllFlags) {
  const absl::StatusOr<Options> options = Parse({"--help"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(options->help);
  for (const char* const flag :
       {"--from", "--to", "--workers", "--resync", "--once", "--demo-files",
        "--metrics-port", "--shared", "--queue", "--help"}) {
    EXPECT_TRUE(absl::StrContains(Usage(), flag)) << flag;
  }
}

TEST(OptionsTest, WrongFlags) {
  EXPECT_THAT(ErrorOf({"--nonsense"}), StartsWith("--nonsense: unknown"));
  EXPECT_THAT(ErrorOf({"--nonsense=1"}), StartsWith("--nonsense=1: unknown"));
  EXPECT_THAT(ErrorOf({"-x"}), StartsWith("-x: unknown"));
  EXPECT_THAT(ErrorOf({"--new\nline"}), StartsWith("--new\\nline: unknown"));
  EXPECT_THAT(ErrorOf({"--once=yes"}), StartsWith("--once=yes: "));
  EXPECT_THAT(ErrorOf({"directory"}), StartsWith("directory: unexpected"));
  EXPECT_THAT(ErrorOf({"directory", "--help"}), StartsWith("directory: "));
  EXPECT_THAT(ErrorOf({"--", "--help"}), StartsWith("--help: unexpected"));
  EXPECT_THAT(ErrorOf({""}), HasSubstr("unexpected"));
}

TEST(OptionsTest, WrongValues) {
  for (const char* const value :
       {"0", "-1", "1025", "many", "", "1e3", "99999999999999999999"}) {
    EXPECT_THAT(ErrorOf({absl::StrCat("--workers=", value)}),
                HasSubstr("from 1 to 1024"));
  }
  for (const char* const value : {"0", "0s", "-1s", "inf", "5", "soon", ""}) {
    EXPECT_THAT(ErrorOf({absl::StrCat("--resync=", value)}),
                HasSubstr("must be a positive time"));
  }
  EXPECT_THAT(ErrorOf({"--demo-files=0"}), HasSubstr("from 1 to 1000000"));
  for (const char* const value : {"-1", "65536", "http", ""}) {
    EXPECT_THAT(ErrorOf({absl::StrCat("--metrics-port=", value)}),
                HasSubstr("from 0 to 65535"));
  }
  EXPECT_EQ(ErrorOf({"--workers"}), "--workers: requires a value");
}

TEST(OptionsTest, OneDirectoryIsNotEnough) {
  EXPECT_EQ(ErrorOf({"--from=/"}), "--from: requires --to");
  EXPECT_EQ(ErrorOf({"--to=/"}), "--to: requires --from");
  EXPECT_EQ(ErrorOf({"--once"}), "--once: requires --from and --to");
  EXPECT_EQ(ErrorOf({"--from="}), "--from: must not be empty");
  EXPECT_EQ(ErrorOf({"--shared=x:1"}),
            "--shared=x:1: requires --from and --to");
  EXPECT_EQ(ErrorOf({"--shared="}), "--shared: must not be empty");
}

TEST(OptionsTest, RejectsUnsuitableDirectories) {
  const ScratchDirectory scratch;
  const fs::path a = scratch.path() / "a";
  fs::create_directories(a / "b" / "c");
  WriteFile(scratch.path() / "file", "");
  fs::create_directory_symlink(a / "b", scratch.path() / "link");
  fs::create_symlink("nowhere", scratch.path() / "dangling");
  const auto error_of = [&scratch](const std::string& from,
                                   const std::string& to) {
    return ErrorOf({absl::StrCat("--from=", scratch.path().native(), "/", from),
                    absl::StrCat("--to=", scratch.path().native(), "/", to)});
  };
  EXPECT_THAT(error_of("none", "to"), HasSubstr("none: No such file"));
  EXPECT_THAT(error_of("file", "to"), HasSubstr("file: is not a directory"));
  EXPECT_THAT(error_of("a", "file"), HasSubstr("file: is not a directory"));
  EXPECT_THAT(error_of("a", "none/to"), HasSubstr("none/to: No such file"));
  EXPECT_THAT(error_of("a", "file/to"), HasSubstr("file/to: "));
  EXPECT_THAT(error_of("a", "dangling"), HasSubstr("dangling: No such file"));
  EXPECT_THAT(error_of("a", "a"), HasSubstr("the same directory"));
  EXPECT_THAT(error_of("a", "a/"), HasSubstr("the same directory"));
  EXPECT_THAT(error_of("a", "a/b/.."), HasSubstr("the same directory"));
  EXPECT_THAT(error_of("a/b", "link"), HasSubstr("the same directory"));
  EXPECT_THAT(error_of("a", "a/b"), HasSubstr("is inside"));
  EXPECT_THAT(error_of("a", "a/new"), HasSubstr("is inside"));
  EXPECT_THAT(error_of("a", "a/new/"), HasSubstr("is inside"));
  EXPECT_THAT(error_of("a", "link/c"), HasSubstr("is inside"));
  EXPECT_THAT(error_of("a/b/c", "a"), HasSubstr("is inside"));
  EXPECT_THAT(error_of("link/c", "a"), HasSubstr("is inside"));
}

TEST(OptionsTest, AcceptsSuitableDirectories) {
  const ScratchDirectory scratch;
  fs::create_directories(scratch.path() / "a");
  fs::create_directories(scratch.path() / "ab");
  for (const char* const to : {"ab", "ab/", "new", "new/", "a/../new"}) {
    const absl::StatusOr<Options> options =
        Parse({absl::StrCat("--from=", (scratch.path() / "a").native()),
               absl::StrCat("--to=", scratch.path().native(), "/", to)});
    EXPECT_TRUE(options.ok()) << options.status();
  }
}

}  // namespace
}  // namespace mirror::mirror_options_test
