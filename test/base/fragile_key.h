// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A key that throws on demand. Use it only in code that is compiled with
// exceptions.

#ifndef WORKQUEUE_TEST_BASE_FRAGILE_KEY_H_
#define WORKQUEUE_TEST_BASE_FRAGILE_KEY_H_

#include <atomic>
#include <cstddef>
#include <thread>  // NOLINT(build/c++11)

#include "absl/base/config.h"

namespace workqueue {

// Operations that can throw. A FragileKey has no moves.
enum class FragileOp { kCopy, kCompare, kHash, kMove };

// Those of a FragileKey.
inline constexpr FragileOp kFragileOps[] = {
    FragileOp::kCopy, FragileOp::kCompare, FragileOp::kHash};

// Fuse
//
// This class makes one of the coming operations throw a `Fuse::Blown`.
class Fuse {
 public:
  struct Blown {};

  // Makes the `n`th `op` from now on throw, on any thread.
  static void Arm(FragileOp op, int n) {
    op_ = op;
    safe_ = std::thread::id();
    left_ = n;
  }

  // Makes the `n`th `op` from now on throw. Counts only threads other than the
  // caller.
  static void ArmForOthers(FragileOp op, int n) {
    op_ = op;
    safe_ = std::this_thread::get_id();
    left_ = n;
  }

  // Returns the number of `op`s so far.
  static int count(FragileOp op) { return counts_[static_cast<int>(op)]; }

  // Cancels the request. Returns whether an operation has thrown.
  static bool Disarm() { return left_.exchange(0) < 0; }

  static void Count(FragileOp op) {
    ++counts_[static_cast<int>(op)];
    if (left_ <= 0 || op != op_) return;
    if (std::this_thread::get_id() == safe_) return;
    if (--left_ > 0) return;
    left_ = -1;
#ifdef ABSL_HAVE_EXCEPTIONS
    throw Blown();
#endif
  }

 private:
  inline static std::atomic<FragileOp> op_{FragileOp::kCopy};
  inline static std::atomic<std::thread::id> safe_{std::thread::id()};
  inline static std::atomic<int> counts_[4] = {};
  // Zero if nothing is requested, negative if an operation has thrown.
  inline static std::atomic<int> left_{0};
};

// FragileKey
//
// An integer that can be neither moved nor assigned. So its use also shows that
// a queue requires only that items can be copied.
class FragileKey {
 public:
  FragileKey(int value) : value_(value) { ++live_; }  // NOLINT: not explicit
  FragileKey(const FragileKey& other) : value_(other.value_) {
    Fuse::Count(FragileOp::kCopy);
    ++live_;
  }
  FragileKey& operator=(const FragileKey&) = delete;
  ~FragileKey() { --live_; }

  int value() const { return value_; }

  // Returns the number of existing keys.
  static int live() { return live_; }

 private:
  inline static std::atomic<int> live_{0};

  const int value_;
};

// Gives two keys the same hash, so that they are compared.
struct FragileHash {
  size_t operator()(const FragileKey& key) const {
    Fuse::Count(FragileOp::kHash);
    return static_cast<size_t>(key.value() / 2);
  }
};

struct FragileEq {
  bool operator()(const FragileKey& a, const FragileKey& b) const {
    Fuse::Count(FragileOp::kCompare);
    return a.value() == b.value();
  }
};

#ifdef ABSL_HAVE_EXCEPTIONS
// Calls `f()`. Returns whether an operation has thrown in it.
template <typename F>
bool Blows(F&& f) {
  try {
    f();
    return false;
  } catch (const Fuse::Blown&) {
    return true;
  }
}
#endif

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_BASE_FRAGILE_KEY_H_
