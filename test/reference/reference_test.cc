// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that each subject behaves like its model, in runs of random operations
// and in the runs of the fuzzers' corpus.
//
// Flags: --operations=N sets the number of random operations. --seed=N selects
// other operations. --subject=NAME --replay=HEX only performs the run with
// these choices, and prints it. For example, at night:
//
//     tools/bazelw test //test/reference:all --test_timeout=3600
//         --test_arg=--operations=10000000

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "test/reference/choices.h"
#include "test/reference/failure.h"
#include "test/reference/subject.h"

namespace reference {
namespace {

// Threads that wait for each other are much slower under TSan.
#if defined(ABSL_HAVE_THREAD_SANITIZER)
int64_t operations_to_do = 50000;
#else
int64_t operations_to_do = 100000;
#endif
uint64_t seed = 1;

// Returns choices for a run of up to 4,096 operations. Most runs are short,
// because many different short runs find more than a few long ones.
std::vector<uint8_t> RandomBytes(std::mt19937_64& random) {
  const uint64_t most = uint64_t{1} << (4 + random() % 9);
  const size_t operations = 1 + random() % most;
  std::vector<uint8_t> bytes((1 + operations) * Choices::kBytesPerOperation);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

class ReferenceTest : public testing::TestWithParam<Subject> {};

TEST_P(ReferenceTest, RandomOperations) {
  const Subject& subject = GetParam();
  std::mt19937_64 random(seed);
  for (int64_t done = 0; done < operations_to_do / subject.slowness;) {
    const std::vector<uint8_t> bytes = RandomBytes(random);
    const std::string failure = FindFailure(subject, bytes);
    ASSERT_TRUE(failure.empty()) << failure;
    done +=
        static_cast<int64_t>(bytes.size() / Choices::kBytesPerOperation) - 1;
  }
}

TEST_P(ReferenceTest, Corpus) {
  const Subject& subject = GetParam();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("test/reference/corpus/", subject.corpus))) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    const std::string failure = FindFailure(subject, bytes);
    EXPECT_TRUE(failure.empty()) << entry.path() << ":\n" << failure;
    ++files;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceTest, testing::ValuesIn(AllSubjects()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// Abseil 20250814 deprecates the function for this that Abseil 20220623 has.
bool ParseHex(absl::string_view hex, std::vector<uint8_t>* bytes) {
  for (; !hex.empty(); hex.remove_prefix(2)) {
    uint32_t byte;
    if (hex.size() < 2 || !absl::SimpleHexAtoi(hex.substr(0, 2), &byte)) {
      return false;
    }
    bytes->push_back(static_cast<uint8_t>(byte));
  }
  return true;
}

// Prints the run of a subject with `choices`. Returns whether there is such a
// subject, and it agrees with its model.
bool Replay(absl::string_view name, const std::vector<uint8_t>& choices) {
  for (const Subject& subject : AllSubjects()) {
    if (subject.name != name) continue;
    std::string log;
    const std::string disagreement = subject.run(Choices(choices), &log);
    std::cout << log << disagreement << "\n";
    return disagreement.empty();
  }
  std::cerr << "there is no subject '" << name << "'\n";
  return false;
}

// Returns the exit status.
int Main(int argc, char** argv) {
  std::string name;
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    std::vector<uint8_t> choices;
    if (absl::ConsumePrefix(&flag, "--subject=")) {
      name = std::string(flag);
      continue;
    }
    if (absl::ConsumePrefix(&flag, "--replay=") && ParseHex(flag, &choices)) {
      return Replay(name, choices) ? 0 : 1;
    }
    const bool is_known = (absl::ConsumePrefix(&flag, "--operations=") &&
                           absl::SimpleAtoi(flag, &operations_to_do)) ||
                          (absl::ConsumePrefix(&flag, "--seed=") &&
                           absl::SimpleAtoi(flag, &seed));
    if (!is_known) {
      std::cerr << "bad flag: " << argv[i] << "\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace reference

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return reference::Main(argc, argv);
}
