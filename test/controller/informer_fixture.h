// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONTROLLER_INFORMER_FIXTURE_H_
#define WORKQUEUE_TEST_CONTROLLER_INFORMER_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/informer.h"
#include "workqueue/testing/fake_object_server.h"

namespace workqueue {

// An object of the server.
struct Pod {
  std::string name;
  std::string node;
  int64_t version = 0;
};

inline std::string PodName(const Pod& pod) { return pod.name; }

// Returns "name@node", or "-" if there is no pod.
inline std::string Print(const std::shared_ptr<const Pod>& pod) {
  return pod == nullptr ? "-" : absl::StrCat(pod->name, "@", pod->node);
}

// InformerFixture
//
// A fixture with a server, a clock and a log.
class InformerFixture : public testing::Test {
 protected:
  // The delay before the first retry. The informer does not vary its delays.
  static constexpr absl::Duration kRetry = absl::Seconds(1);

  InformerOptions<Pod> Options() {
    InformerOptions<Pod> options;
    options.name = "pods";
    options.lister_watcher = server_.NewListerWatcher();
    options.key = PodName;
    options.is_newer = [](const Pod& a, const Pod& b) {
      return a.version > b.version;
    };
    options.indexers = {{"node", [](const Pod& pod) {
                           return std::vector<std::string>{pod.node};
                         }}};
    options.backoff = {kRetry, 4 * kRetry};
    options.backoff_jitter = {1, 1};
    options.clock = &clock_;
    options.log_sink = &log_;
    return options;
  }

  std::unique_ptr<Informer<Pod>> New(InformerOptions<Pod> options) {
    auto informer = Informer<Pod>::Create(std::move(options));
    EXPECT_TRUE(informer.ok()) << informer.status();
    return *std::move(informer);
  }

  // Returns an informer that has been started and watches.
  std::unique_ptr<Informer<Pod>> Started(InformerOptions<Pod> options) {
    auto informer = New(std::move(options));
    EXPECT_TRUE(informer->Start().ok());
    server_.AwaitWatched();
    return informer;
  }

  RecordingLog log_;
  FakeClock clock_;
  FakeObjectServer<Pod> server_{
      PodName, [](Pod& pod, int64_t version) { pod.version = version; }};
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_CONTROLLER_INFORMER_FIXTURE_H_
