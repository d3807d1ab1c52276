// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// The constants, and what both threads of a case need.

import { setTimeout as sleep } from 'node:timers/promises';

// These are the constants of bench/shared_cases.
export const PRODUCERS = 8;
export const MAX_OUTSTANDING = 1000;

// Returns the i-th key, which has 20 bytes.
export const key = (i) => `object-name-${String(i).padStart(8, '0')}`;

// Waits, without blocking the thread, until `condition()` is true.
export async function until(condition, failure, patience = 300_000) {
  for (const start = performance.now(); !condition();) {
    if (performance.now() - start > patience) throw new Error(failure());
    await sleep(1);
  }
}
