// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.time.Duration;
import java.util.concurrent.SynchronousQueue;

/** A delayer on Netty's {@link HashedWheelTimer}. A task has the item when the task runs. */
final class NettyWheel implements Delayer {
  private final class LongTask implements TimerTask {
    final long item;

    LongTask(long item) {
      this.item = item;
    }

    @Override
    public void run(Timeout timeout) throws InterruptedException {
      ran.put(System.nanoTime());
    }
  }

  private final class StringTask implements TimerTask {
    final String item;

    StringTask(String item) {
      this.item = item;
    }

    @Override
    public void run(Timeout timeout) throws InterruptedException {
      ran.put(System.nanoTime());
    }
  }

  private final HashedWheelTimer timer;
  private final SynchronousQueue<Long> ran = new SynchronousQueue<>();

  /** Makes a timer with the default tick, 100 ms. */
  NettyWheel() {
    timer = new HashedWheelTimer();
  }

  NettyWheel(Duration tick) {
    timer = new HashedWheelTimer(tick.toMillis(), MILLISECONDS);
  }

  @Override
  public Object add(long item, long delayNanos) {
    return timer.newTimeout(new LongTask(item), delayNanos, NANOSECONDS);
  }

  @Override
  public Object add(String item, long delayNanos) {
    return timer.newTimeout(new StringTask(item), delayNanos, NANOSECONDS);
  }

  @Override
  public void cancel(Object added) {
    ((Timeout) added).cancel();
  }

  @Override
  public long take() throws InterruptedException {
    return ran.take();
  }

  /**
   * Adds one more task and waits until it runs. The timer's thread puts up to 100,000 tasks on the
   * wheel in each tick, in the order in which they were added.
   */
  @Override
  public void awaitTakenIn() throws InterruptedException {
    add(0, 0);
    take();
  }

  @Override
  public void close() {
    timer.stop();
  }
}
