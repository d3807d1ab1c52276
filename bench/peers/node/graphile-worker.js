// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Graphile Worker, whose queues are in PostgreSQL.

import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

const logger = new Logger(() => (level, message) => {
  if (level === 'error') throw new Error(message);
});

// A task is what a queue is elsewhere.
export async function openQueue(server, name) {
  const utils = await makeWorkerUtils({
    preset: { worker: { connectionString: server, logger, maxPoolSize: 16 } },
  });
  await utils.migrate();
  return {
    add: (key) => utils.addJob(name, { key }),
    addMany: (keys, delays = []) => {
      const now = Date.now();
      return utils.addJobs(keys.map((key, i) => ({
        identifier: name,
        payload: { key },
        runAt: delays.length > 0 ? new Date(now + Math.ceil(delays[i])) : undefined,
      })));
    },
    length: () => query(server, 'SELECT count(*) FROM graphile_worker.jobs'),
    close: () => utils.release(),
  };
}

// Jobs are taken and completed in batches, as "Performance" in its documentation
// says. A notification wakes a worker, but not for a job that becomes due.
export async function startWorkers(server, name, concurrency, process, delayed = false) {
  const worker = {
    connectionString: server,
    logger,
    concurrentJobs: concurrency,
    maxPoolSize: concurrency + 2,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    ...(delayed && { pollInterval: 1 }),
  };
  const runner = await run({
    preset: { worker },
    noHandleSignals: true,
    taskList: { [name]: async (payload) => { process(payload.key); } },
  });
  return { close: () => runner.stop() };
}

async function query(server, sql) {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  const { rows: [row] } = await client.query(sql);
  await client.end();
  return Number(Object.values(row)[0]);
}

export function usedBytes(server) {
  return query(server, 'SELECT pg_database_size(current_database())');
}

// Returns the transactions of connections that have ended. A connection reports
// its last ones when it ends, which takes a moment.
async function commits(server) {
  await sleep(1000);
  return query(server, 'SELECT xact_commit FROM pg_stat_database'
    + ' WHERE datname = current_database()');
}

export async function countCalls(server) {
  const before = await commits(server);
  return async () => await commits(server) - before;
}
