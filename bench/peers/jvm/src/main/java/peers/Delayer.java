// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package peers;

/** Hands out each item when the item's delay has passed. */
interface Delayer extends AutoCloseable {
  /** Makes an empty delayer. */
  interface Maker {
    Delayer make();
  }

  /** Adds an item. Returns the object to pass to {@link #cancel}. */
  Object add(long item, long delayNanos);

  /** Does the same with a string. */
  Object add(String item, long delayNanos);

  void cancel(Object added);

  /** Blocks until an item is due. Returns {@link System#nanoTime} when it had the item. */
  long take() throws InterruptedException;

  /** Blocks until all added items are in the waiting set, and none is left in a buffer. */
  void awaitTakenIn() throws InterruptedException;

  @Override
  void close();
}
