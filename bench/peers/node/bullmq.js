// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// BullMQ, whose queues are in Redis.

import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { until } from './common.js';

export async function openQueue(server, name) {
  const queue = new Queue(name, { connection: { path: server } });
  await queue.waitUntilReady();
  const job = (key, delay = 0) => ({ name: 'item', data: key, opts: { delay } });
  return {
    add: (key) => queue.add('item', key),
    // Delays are whole milliseconds.
    addMany: (keys, delays = []) =>
      queue.addBulk(keys.map((key, i) => job(key, Math.ceil(delays[i] ?? 0)))),
    length: () => queue.getWaitingCount(),
    close: () => queue.close(),
  };
}

export async function startWorkers(server, name, concurrency, process) {
  const worker = new Worker(name, async (job) => process(job.data), {
    connection: { path: server },
    concurrency,
    removeOnComplete: { count: 0 },
  });
  worker.on('error', (error) => { throw error; });
  await worker.waitUntilReady();
  return { close: () => worker.close() };
}

export async function usedBytes(server) {
  const redis = new Redis({ path: server });
  return Number(/\nused_memory:(\d+)/.exec(await redis.info('memory'))[1]);
}

// Counts the commands that clients send, as MONITOR shows them, until the returned
// function is called. Leaves out the commands that scripts call.
export async function countCalls(server) {
  const redis = new Redis({ path: server });
  const monitor = await redis.monitor();
  let count = 0;
  let ended = false;
  monitor.on('monitor', (time, args, source) => {
    if (args[1] === 'end-of-count') ended = true;
    if (!ended && source !== 'lua') ++count;
  });
  return async () => {
    await redis.echo('end-of-count');
    await until(() => ended, () => 'MONITOR has ended');
    return count;
  };
}
