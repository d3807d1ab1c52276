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
// Changes a tree at random, as fast as it can: the other side of the demo and
// of tests. Of the same seed it makes the same choices.
class Churn {
 public:
  Churn(std::filesystem::path root, uint32_t seed);

  // Creates `n` files, in as many directories as seem fit.
  void CreateFiles(int n);

  // Makes one change: creates, rewrites, moves or removes a file, a directory
  // or a symbolic link, or changes its permissions, or puts one of these in
  // another's place. A change that the system refuses is none.
  void Step();

 private:
  using Path = std::filesystem::path;

  // Returns a number from 0 to n - 1.
  uint32_t Random(uint32_t n);
  const Path& RandomDirectory();  // may be the root, or gone
  // Returns what is in a random directory; empty if that is.
  Path RandomEntry();
  Path NewName();

  void WriteFile(const Path& path);
  // Writes again and again.
  void RewriteFile(const Path& path);
  void CreateDirectory();
  void MoveDirectory();
  void RemoveDirectory();
  void ChangePermissions(const Path& path);
  void ReplaceByOtherKind(const Path& path);

  std::mt19937 random_;
  std::vector<Path> directories_;  // first of all the root
  int64_t names_ = 0;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_CHURN_H_
