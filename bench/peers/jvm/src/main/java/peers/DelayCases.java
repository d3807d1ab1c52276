// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

import static peers.Measure.report;

import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;

/** The cases of every peer with delays. */
final class DelayCases {
  static void addAfterFar(Delayer.Maker maker) throws InterruptedException {
    Measure.warmUp(() -> addAfterFar(maker, Inputs.MILLION / 10));
    report("add_after_far", addAfterFar(maker, Inputs.MILLION), "ns");
  }

  private static double addAfterFar(Delayer.Maker maker, int n) {
    try (Delayer delayer = maker.make()) {
      var random = new Inputs.Random();
      long start = Measure.begin();
      for (int i = 1; i <= n; ++i) {
        delayer.add(i, random.farDelayNanos());
      }
      return Measure.nsEach(start, n);
    }
  }

  static void pendingMemory(Delayer.Maker maker) throws IOException, InterruptedException {
    try (Delayer delayer = maker.make()) {
      Measure.Memory before = Measure.memory();
      var random = new Inputs.Random();
      for (int i = 0; i < Inputs.MILLION; ++i) {
        delayer.add(Inputs.stringKey(i), random.farDelayNanos());
      }
      delayer.awaitTakenIn();
      Measure.Memory after = Measure.memory();
      double n = Inputs.MILLION;
      report("pending_memory", (after.resident() - before.resident()) / n, "B");
      report("pending_memory_heap", (after.heap() - before.heap()) / n, "B");
    }
  }

  static void lateness(Delayer.Maker maker) throws InterruptedException {
    try (Delayer delayer = maker.make()) {
      Measure.warmUp(() -> late(delayer));
      long[] late = new long[1000];
      for (int i = 0; i < late.length; ++i) {
        late[i] = late(delayer);
      }
      Arrays.sort(late);
      report("lateness_p50", late[late.length / 2] / 1e3, "us");
      report("lateness_p99", late[late.length * 99 / 100] / 1e3, "us");
    }
  }

  private static long late(Delayer delayer) throws InterruptedException {
    final long delayNanos = 2_000_000;
    long added = System.nanoTime();
    delayer.add(1, delayNanos);
    return delayer.take() - added - delayNanos;
  }

  static void idle(Delayer.Maker maker, Duration time) throws IOException, InterruptedException {
    Delayer delayer = maker.make();
    delayer.add(1, Inputs.HOUR_NANOS);
    Thread taker =
        new Thread(
            () -> {
              try {
                delayer.take();
              } catch (InterruptedException e) {
                // The case is over.
              }
            });
    taker.start();
    Measure.reportIdle(time);
    taker.interrupt();
    delayer.close();
  }

  static void growth(Delayer.Maker maker) throws InterruptedException {
    Measure.warmUp(() -> addOnceAmong(maker, 1000, 1000));
    report("growth_1K", addAmong(maker, 1000), "ns");
    report("growth_100K", addAmong(maker, 100_000), "ns");
    report("growth_1M", addAmong(maker, Inputs.MILLION), "ns");
    report("growth_10M", addAmong(maker, 10 * Inputs.MILLION), "ns");
  }

  /**
   * Returns the nanoseconds of one add while {@code waiting} items wait. Measures as many adds as
   * items wait, but at most 100,000, and repeats a small number of adds.
   */
  private static double addAmong(Delayer.Maker maker, int waiting) throws InterruptedException {
    int adds = Math.min(waiting, 100_000);
    int rounds = Math.max(1, 20_000 / adds);
    double sum = 0;
    for (int i = 0; i < rounds; ++i) {
      sum += addOnceAmong(maker, waiting, adds);
    }
    return sum / rounds;
  }

  private static double addOnceAmong(Delayer.Maker maker, int waiting, int adds)
      throws InterruptedException {
    try (Delayer delayer = maker.make()) {
      var random = new Inputs.Random();
      for (int i = 1; i <= waiting; ++i) {
        delayer.add(i, random.farDelayNanos());
      }
      delayer.awaitTakenIn();
      long start = Measure.begin();
      for (int i = 1; i <= adds; ++i) {
        delayer.add(waiting + i, random.farDelayNanos());
      }
      return Measure.nsEach(start, adds);
    }
  }

  private DelayCases() {}
}
