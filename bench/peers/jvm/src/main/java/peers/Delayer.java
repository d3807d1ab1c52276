// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

/** Hands out what it is given when its delay is over. */
interface Delayer extends AutoCloseable {
  /** Makes one, with nothing in it. */
  interface Maker {
    Delayer make();
  }

  /** Returns what names the item to {@link #cancel}. */
  Object add(long item, long delayNanos);

  /** As for a long. */
  Object add(String item, long delayNanos);

  void cancel(Object added);

  /** Blocks until an item is due, and returns {@link System#nanoTime} as of when it was had. */
  long take() throws InterruptedException;

  /** Returns when all that was added waits for its time, and is not on its way to where it does. */
  void awaitTakenIn() throws InterruptedException;

  @Override
  void close();
}
