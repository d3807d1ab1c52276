// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs a case of the benchmark on BullMQ. See bench/peers/README.md.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { cases } from './cases.js';

const PEER = 'bullmq';

function version() {
  const url = new URL('node_modules/bullmq/package.json', import.meta.url);
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
  for (const name of Object.keys(cases)) console.log(`${PEER}\t${name}`);
} else if (values.versions) {
  console.log(`${PEER}\t${version()}`);
} else if (peer === PEER && cases[name]) {
  await cases[name](values.server, Number(values.items));
  process.exit(0);
} else {
  console.error('usage: run bullmq CASE --server ADDRESS [--items N] | --list | --versions');
  process.exit(2);
}
