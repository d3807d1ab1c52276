// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_MEASURE_HAND_OVER_H_
#define WORKQUEUE_TEST_SHARED_MEASURE_HAND_OVER_H_

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue {

// Prints how long an Add() of the process of `from` takes, and how long its
// item takes from then to the Get() of the process of `to`, which waits. Then
// prints the same of `transaction(item)`, if there is one, which adds an item.
inline void MeasureHandOver(
    internal::EngineSource* from, internal::EngineSource* to,
    const std::function<void(const std::string& item)>& transaction = {}) {
  SharedQueueOptions<std::string> options;
  options.name = "hand-over";
  options.engine = from;
  const auto adds_to = *SharedQueue<std::string>::Create(options);
  options.engine = to;
  const auto gets_from = *SharedQueue<std::string>::Create(options);
  const auto print = [](const char* what, std::vector<double>& micros) {
    std::sort(micros.begin(), micros.end());
    std::cout << "  " << what << ": median " << micros[micros.size() / 2]
              << " us, 99 of 100 below " << micros[micros.size() * 99 / 100]
              << " us\n";
  };
  for (const bool in_transaction : {false, true}) {
    if (in_transaction && !transaction) break;
    std::vector<double> adds, hand_overs;
    for (int i = 0; i < 300; ++i) {
      auto got = Async([&] {
        const auto lease = gets_from->Acquire();
        return absl::Now();
      });
      absl::SleepFor(absl::Milliseconds(20));
      const absl::Time begin = absl::Now();
      if (in_transaction) {
        transaction(absl::StrCat(i));
      } else {
        EXPECT_TRUE(adds_to->Add(absl::StrCat(i)));
      }
      const absl::Time added = absl::Now();
      adds.push_back(absl::ToDoubleMicroseconds(added - begin));
      hand_overs.push_back(absl::ToDoubleMicroseconds(got.get() - added));
    }
    print(in_transaction ? "a transaction with an add" : "an Add()", adds);
    print("from then to the Get() in another process", hand_overs);
  }
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_MEASURE_HAND_OVER_H_
