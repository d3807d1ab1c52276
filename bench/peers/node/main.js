// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs a case of the benchmark on a peer. See bench/peers/README.md.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { cases } from './cases.js';

// Each has a module of its name, and a program that needs it loads no other one.
const PEERS = ['bullmq', 'graphile-worker'];

function version(peer) {
  const url = new URL(`node_modules/${peer}/package.json`, import.meta.url);
  return `${JSON.parse(readFileSync(url)).version}, Node.js ${process.version}`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean' },
    versions: { type: 'boolean' },
    server: { type: 'string', default: '' },
    items: { type: 'string', default: '100000' },
  },
});
const [peer, name] = positionals;
if (values.list) {
  for (const peer of PEERS) {
    for (const name of Object.keys(cases)) console.log(`${peer}\t${name}`);
  }
} else if (values.versions) {
  for (const peer of PEERS) console.log(`${peer}\t${version(peer)}`);
} else if (PEERS.includes(peer) && cases[name]) {
  const module = await import(`./${peer}.js`);
  await cases[name]({ name: peer, ...module }, values.server, Number(values.items));
  process.exit(0);
} else {
  console.error('usage: run PEER CASE --server ADDRESS [--items N] | --list | --versions');
  process.exit(2);
}
