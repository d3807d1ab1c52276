// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// The thread that adds items in a cycle. As in a process of its own, adding does
// not take the time of the thread that processes them.

import { parentPort, workerData } from 'node:worker_threads';
import { MAX_OUTSTANDING, PRODUCERS, key, until } from './common.js';

const { peer, server, name, adding, counts } = workerData;
const processed = new Int32Array(counts);
const { openQueue } = await import(`./${peer}.js`);
const queue = await openQueue(server, name);
parentPort.postMessage('ready');
await new Promise((resolve) => parentPort.once('message', resolve));

let added = 0;
const hasRoom = () => added - Atomics.load(processed, 0) < MAX_OUTSTANDING;

async function produce(end) {
  while (performance.now() < end) {
    if (!hasRoom()) await until(hasRoom, () => 'no item is processed');
    await queue.add(key(added++));
  }
}

const end = performance.now() + adding;
await Promise.all(Array.from({ length: PRODUCERS }, () => produce(end)));
await queue.close();
parentPort.postMessage(added);
