// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/label_selector.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_LABEL_SELECTOR_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_LABEL_SELECTOR_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/objects.h"

namespace kubernetes {

// LabelSelector
//
// A condition on labels in the notation of Kubernetes, for example
// "team=a,tier in (web,db),!legacy". An empty selector matches everything.
//
//     KEY             there is a label KEY
//     !KEY            there is no label KEY
//     KEY=V, KEY==V   there is a label KEY with the value V
//     KEY!=V          there is no label KEY with the value V
//     KEY in (V,...)     there is a label KEY with one of the values
//     KEY notin (V,...)  there is no label KEY with one of the values
//
// It has no comparisons of numbers (KEY>N, KEY<N).
class LabelSelector {
 public:
  // An error tells where `text` is wrong.
  static absl::StatusOr<LabelSelector> Parse(absl::string_view text);

  bool Matches(const StringMap& labels) const;

 private:
  // A condition on one label.
  struct Requirement {
    std::string key;
    bool any_value = false;  // else one of `values`
    absl::flat_hash_set<std::string> values;
    bool negated = false;
  };

  std::vector<Requirement> requirements_;
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_LABEL_SELECTOR_H_
