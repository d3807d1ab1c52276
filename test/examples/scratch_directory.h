// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_EXAMPLES_SCRATCH_DIRECTORY_H_
#define WORKQUEUE_TEST_EXAMPLES_SCRATCH_DIRECTORY_H_

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>  // NOLINT(build/c++11)

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace mirror {

// A directory for one test, removed at its end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string path = ::testing::TempDir() + "/mirror-test-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr) << path;
    path_ = std::filesystem::canonical(path);
  }
  ~ScratchDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void WriteFile(const std::filesystem::path& path,
                      absl::string_view contents) {
  std::ofstream(path) << contents;
}

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline mode_t PermissionsOf(const std::filesystem::path& path) {
  struct stat stat = {};
  EXPECT_EQ(lstat(path.c_str(), &stat), 0) << path;
  return stat.st_mode & 07777;
}

// While this exists, this thread may read only what permissions allow, though
// it may be root's.
class ObeysPermissions {
 public:
  ObeysPermissions() {
    EXPECT_EQ(syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct rights[2] = {before_[0], before_[1]};
    rights[0].effective &=
        ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(syscall(SYS_capset, &header_, rights), 0);
  }
  ~ObeysPermissions() { syscall(SYS_capset, &header_, before_); }

  ObeysPermissions(const ObeysPermissions&) = delete;
  ObeysPermissions& operator=(const ObeysPermissions&) = delete;

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

}  // namespace mirror

#endif  // WORKQUEUE_TEST_EXAMPLES_SCRATCH_DIRECTORY_H_
