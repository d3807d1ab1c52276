// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker as Thread } from 'node:worker_threads';
import { key, until } from './common.js';

// These are the constants of bench/shared_cases, too. Times are in ms.
const WARM_UP = 500;
const CYCLE = 3000;
const BATCH = 1000;

function report(name, value, unit) {
  console.log(`${name}\t${value.toFixed(1)}\t${unit}`);
}

function indexOf(key) {
  return Number(key.slice('object-name-'.length));
}

// Returns the keys from the i-th until before the j-th.
function keys(i, j) {
  return Array.from({ length: j - i }, (_, k) => key(i + k));
}

function percentile(sorted, p) {
  return sorted[Math.floor(sorted.length * p / 100)];
}

// Returns the first time that each item is processed, and their number.
function firstTimes() {
  const times = [];
  const self = {
    times,
    count: 0,
    process(i) {
      if (times[i] !== undefined) return false;
      times[i] = performance.now();
      ++self.count;
      return true;
    },
  };
  return self;
}

// Adds items for so long, while workers process them. Returns the time until all
// have been processed, and their number.
async function cycle(peer, server, name, concurrency, adding) {
  const counts = new SharedArrayBuffer(4);
  const processed = new Int32Array(counts);
  const first = firstTimes();
  const worker = await peer.startWorkers(server, name, concurrency, (key) => {
    if (first.process(indexOf(key))) Atomics.add(processed, 0, 1);
  });
  const thread = new Thread(new URL('producer.js', import.meta.url), {
    workerData: { peer: peer.name, server, name, adding, counts },
  });
  await once(thread, 'message');
  const start = performance.now();
  thread.postMessage('start');
  const [items] = await once(thread, 'message');
  await until(() => first.count === items, () => `${first.count} of ${items} processed`);
  const time = Math.max(...first.times.slice(-1000)) - start;
  await worker.close();
  return { items, time };
}

function cycleCase(concurrency) {
  return async (peer, server) => {
    await cycle(peer, server, 'warm-up', concurrency, WARM_UP);
    const { items, time } = await cycle(peer, server, 'cycle', concurrency, CYCLE);
    report(`shared_cycle_${concurrency}`, time * 1000 / items, 'us');
  };
}

async function reportCalls(peer, server) {
  await cycle(peer, server, 'warm-up', 8, WARM_UP);
  const stop = await peer.countCalls(server);
  const { items } = await cycle(peer, server, 'cycle', 8, CYCLE);
  report('shared_calls', await stop() * 100 / items, 'calls/100');
}

async function reportHandover(peer, server) {
  const WARM_UPS = 50;
  const SAMPLES = 500;
  const queue = await peer.openQueue(server, 'handover');
  let got;
  await peer.startWorkers(server, 'handover', 1, () => got(performance.now()));
  const times = [];
  for (let i = 0; i < WARM_UPS + SAMPLES; ++i) {
    await sleep(5); // until the worker waits
    const end = new Promise((resolve) => { got = resolve; });
    const start = performance.now();
    await queue.add(key(i));
    const time = await end - start;
    if (i >= WARM_UPS) times.push(time * 1000);
  }
  times.sort((a, b) => a - b);
  report('shared_handover_p50', percentile(times, 50), 'us');
  report('shared_handover_p99', percentile(times, 99), 'us');
}

async function reportDelayed(peer, server, n) {
  const SPREAD = 10_000;
  const queue = await peer.openQueue(server, 'delayed');
  const first = firstTimes();
  await peer.startWorkers(
    server, 'delayed', 64, (key) => { first.process(indexOf(key)); }, /* delayed = */ true);
  // By then all items have been added.
  const begin = performance.now() + 3000 + n * 0.25;
  const due = (i) => begin + SPREAD * i / n;
  for (let i = 0; i < n; i += BATCH) {
    const batch = keys(i, Math.min(n, i + BATCH));
    const now = performance.now();
    await queue.addMany(batch, batch.map((_, j) => due(i + j) - now));
  }
  if (performance.now() > begin) throw new Error('adding took too long');
  await until(() => first.count === n, () => `${first.count} of ${n} processed`);
  const lateness = first.times.map((time, i) => time - due(i));
  lateness.sort((a, b) => a - b);
  // The clock of the delays has only milliseconds.
  if (lateness[0] < -1) throw new Error('an item came early');
  report('shared_delayed_p50', percentile(lateness, 50), 'ms');
  report('shared_delayed_p99', percentile(lateness, 99), 'ms');
  report('shared_delayed_max', lateness[n - 1], 'ms');
}

async function reportBytes(peer, server, n) {
  const queue = await peer.openQueue(server, 'bytes');
  const before = await peer.usedBytes(server);
  for (let i = 0; i < n; i += BATCH) await queue.addMany(keys(i, Math.min(n, i + BATCH)));
  report('shared_bytes', (await peer.usedBytes(server) - before) / n, 'bytes');
  if (await queue.length() !== n) throw new Error('an item was lost');
}

export const cases = {
  shared_cycle_1: cycleCase(1),
  shared_cycle_8: cycleCase(8),
  shared_cycle_64: cycleCase(64),
  shared_handover: reportHandover,
  shared_delayed: reportDelayed,
  shared_bytes: reportBytes,
  shared_calls: reportCalls,
};
