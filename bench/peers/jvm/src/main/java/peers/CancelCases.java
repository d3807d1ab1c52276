// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

import static peers.Measure.report;

/** The cases of timeouts that are cancelled. */
final class CancelCases {
  static final int TASKS = 100_000;

  /** Cancels the tasks in the order of scheduling, and {@code shuffledTasks} in random order. */
  static void run(Delayer.Maker maker, int shuffledTasks) throws InterruptedException {
    report("schedule_cancel", scheduleCancel(maker, Inputs.inOrder(TASKS)), "ns");
    double shuffled = scheduleCancel(maker, Inputs.shuffled(shuffledTasks));
    report("schedule_cancel_shuffled", shuffled, "ns");
  }

  /** Returns the nanoseconds to schedule a task and cancel it. Cancels in the given order. */
  private static double scheduleCancel(Delayer.Maker maker, int[] order)
      throws InterruptedException {
    int n = order.length;
    Object[] scheduled = new Object[n];
    try (Delayer delayer = maker.make()) {
      return Measure.nsPerOp(
          n,
          () -> {
            for (int i = 0; i < n; ++i) {
              scheduled[i] = delayer.add(i, Inputs.HOUR_NANOS);
            }
            for (int i : order) {
              delayer.cancel(scheduled[i]);
            }
          });
    }
  }

  private CancelCases() {}
}
