// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines the process that `kill_test` kills: a user of a shared
// queue that records what it does.

#ifndef WORKQUEUE_TEST_SHARED_KILL_WORKER_H_
#define WORKQUEUE_TEST_SHARED_KILL_WORKER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "workqueue/shared/shared_queue_options.h"

namespace workqueue {

// KillWorker
//
// The task of the process, which gets it as its arguments.
struct KillWorker {
  std::string socket;   // of the server, or of a proxy
  std::string queue;    // its name
  std::string records;  // the path of its file
  absl::Duration lease;
  uint32_t seed = 0;
  bool adds = true;  // or only processes what is there

  // The options of its queue. Who looks at the queue must have the same ones: a
  // lease that expires is retried by the schedule of who finds it out.
  SharedQueueOptions<std::string> Options() const;

  // Starts the process, which runs this program again. Returns -1 if that
  // fails. The process is killed when the thread that has started it ends.
  pid_t Start() const;

  // Returns what `Start()` has passed to this process, or nothing if this
  // process is none of those.
  static std::optional<KillWorker> FromArguments(int argc, char** argv);

  // Runs until the process is killed. Returns an exit status if the queue
  // cannot be opened.
  int Run() const;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_KILL_WORKER_H_
