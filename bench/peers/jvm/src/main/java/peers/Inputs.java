// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

import java.util.stream.IntStream;

/** The inputs of the cases, which are the same for every peer. */
final class Inputs {
  static final int MILLION = 1_000_000;
  static final long HOUR_NANOS = 3_600_000_000_000L;

  /** Returns the i-th string key. All keys are different. */
  static String stringKey(int i) {
    return "namespace-" + i % 100 + "/object-name-" + i;
  }

  /** Returns the numbers from 0 to n - 1 in order. */
  static int[] inOrder(int n) {
    return IntStream.range(0, n).toArray();
  }

  /** Returns the numbers from 0 to n - 1 in random order. */
  static int[] shuffled(int n) {
    int[] numbers = inOrder(n);
    Random random = new Random();
    for (int i = n - 1; i > 0; --i) {
      int j = (int) random.below(i + 1);
      int swapped = numbers[i];
      numbers[i] = numbers[j];
      numbers[j] = swapped;
    }
    return numbers;
  }

  /** The generator of bench/random_delays.h, which draws the same numbers. */
  static final class Random {
    private long state = 1;

    long below(long bound) {
      state ^= state >>> 12;
      state ^= state << 25;
      state ^= state >>> 27;
      long random = state * 0x2545F4914F6CDD1DL;
      // The high half of the product of unsigned numbers.
      return Math.multiplyHigh(random, bound) + (random < 0 ? bound : 0);
    }

    /** Draws a delay from 1 h to 1,300 h. */
    long farDelayNanos() {
      return HOUR_NANOS + below(1299 * HOUR_NANOS);
    }
  }

  private Inputs() {}
}
