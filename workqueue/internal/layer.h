// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/layer.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_INTERNAL_LAYER_H_
#define WORKQUEUE_WORKQUEUE_INTERNAL_LAYER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "workqueue/interfaces.h"

namespace workqueue {
namespace internal {

// Layer
//
// A queue that offers `Offered` and owns one that offers `Below`, to which it
// passes on all of `Interface<T>`.
template <typename T, typename Offered, typename Below>
class Layer : public Offered {
 public:
  bool Add(const T& item) override { return below_->Add(item); }
  std::optional<T> Get() override { return below_->Get(); }
  bool Done(const T& item) override { return below_->Done(item); }
  size_t Len() const override { return below_->Len(); }
  void ShutDown() override { below_->ShutDown(); }
  bool ShutDownWithDrain() override { return below_->ShutDownWithDrain(); }
  bool ShuttingDown() const override { return below_->ShuttingDown(); }

 protected:
  // `below` is not null.
  explicit Layer(std::unique_ptr<Below> below) : below_(std::move(below)) {}

  Below& below() { return *below_; }
  const Below& below() const { return *below_; }

 private:
  const std::unique_ptr<Below> below_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_LAYER_H_
