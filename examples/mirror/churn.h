// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/churn.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_CHURN_H_
#define WORKQUEUE_EXAMPLES_MIRROR_CHURN_H_

#include <cstdint>
#include <filesystem>  // NOLINT(build/c++17)
#include <random>
#include <vector>

namespace mirror {

// Churn
//
// This class makes random changes to a directory tree. The demo and the tests
// use it to change the source. The same seed makes the same choices.
class Churn {
 public:
  Churn(std::filesystem::path root, uint32_t seed);

  // Creates `n` files, and a new directory for every 20 files.
  void CreateFiles(int n);

  // Makes one random change: creates, rewrites, moves or removes a file, a
  // directory or a symbolic link, changes its permissions, or replaces it by
  // another kind. Ignores a change that the system refuses.
  void Step();

 private:
  using Path = std::filesystem::path;

  // Returns a random number from 0 to n - 1.
  uint32_t Random(uint32_t n);
  const Path& RandomDirectory();  // may be the root, or removed already
  // Returns a random entry of a random directory. Returns an empty path if that
  // directory is empty.
  Path RandomEntry();
  Path NewName();

  void WriteFile(const Path& path);
  // Overwrites the file many times.
  void RewriteFile(const Path& path);
  void CreateDirectory();
  void MoveDirectory();
  void RemoveDirectory();
  void ChangePermissions(const Path& path);
  void ReplaceByOtherKind(const Path& path);

  std::mt19937 random_;
  std::vector<Path> directories_;  // the first one is the root
  int64_t names_ = 0;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_CHURN_H_
