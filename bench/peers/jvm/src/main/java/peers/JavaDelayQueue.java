// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.TimeUnit;

/** A delayer on {@link java.util.concurrent.DelayQueue}. */
final class JavaDelayQueue implements Delayer {
  private static class Entry implements Delayed {
    private final long due;

    Entry(long delayNanos) {
      due = System.nanoTime() + delayNanos;
    }

    @Override
    public long getDelay(TimeUnit unit) {
      return unit.convert(due - System.nanoTime(), NANOSECONDS);
    }

    @Override
    public int compareTo(Delayed other) {
      return Long.compare(due - ((Entry) other).due, 0);
    }
  }

  private static final class LongEntry extends Entry {
    final long item;

    LongEntry(long item, long delayNanos) {
      super(delayNanos);
      this.item = item;
    }
  }

  private static final class StringEntry extends Entry {
    final String item;

    StringEntry(String item, long delayNanos) {
      super(delayNanos);
      this.item = item;
    }
  }

  /** Runs the case push_take. */
  static void pushTake() throws InterruptedException {
    DelayQueue<Entry> queue = new DelayQueue<>();
    double ns =
        Measure.nsPerOp(
            Inputs.MILLION,
            () -> {
              for (int i = 0; i < Inputs.MILLION; ++i) {
                queue.add(new LongEntry(i, 0));
              }
              for (int i = 0; i < Inputs.MILLION; ++i) {
                queue.take();
              }
            });
    Measure.report("push_take", ns, "ns");
  }

  private final DelayQueue<Entry> queue = new DelayQueue<>();

  @Override
  public Object add(long item, long delayNanos) {
    return add(new LongEntry(item, delayNanos));
  }

  @Override
  public Object add(String item, long delayNanos) {
    return add(new StringEntry(item, delayNanos));
  }

  private Entry add(Entry entry) {
    queue.add(entry);
    return entry;
  }

  @Override
  public void cancel(Object added) {
    queue.remove(added);
  }

  @Override
  public long take() throws InterruptedException {
    queue.take();
    return System.nanoTime();
  }

  @Override
  public void awaitTakenIn() {}

  @Override
  public void close() {}
}
