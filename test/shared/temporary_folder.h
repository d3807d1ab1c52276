// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_TEMPORARY_FOLDER_H_
#define WORKQUEUE_TEST_SHARED_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>  // NOLINT(build/c++17)
#include <string>
#include <system_error>  // NOLINT(build/c++11)

namespace workqueue {

// A folder that is removed with all that is in it. Ends the program if there
// can be none.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    for (const char* place : {"/dev/shm", "/tmp"}) {
      path_ = std::string(place) + "/workqueue-XXXXXX";
      if (mkdtemp(path_.data()) != nullptr) return;
    }
    std::abort();
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_TEMPORARY_FOLDER_H_
