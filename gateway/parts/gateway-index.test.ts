import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClusterStore } from '../../model/store.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import { makeGatewayIndex } from './gateway-index.ts';
import type { GatewayIndex } from './gateway-index.ts';
import type { IndexConfig } from '../../config/sections/index-config.ts';
import { makeLog } from '../../lib/log.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

function make(folder: string, startsAtOnce: boolean, log = makeLog('silent')): GatewayIndex {
  const config: IndexConfig = {
    resources: undefined,
    clusters: undefined,
    maxBytes: Infinity,
    rightsMaxAgeMs: 600_000,
    startsAtOnce,
  };
  return makeGatewayIndex(config, {
    folder,
    records: createClusterStore(),
    sources: { synced: () => true },
    connections: {} as never,
    identity: 'impersonate',
    authorizer: { authorize: () => ({ allowed: true, reason: '' }) },
    outgoing: (user) => user,
    openStreams: makeOpenStreams(),
    bookmarkIntervalMs: 60_000,
    timeScale: 1,
    version: () => ({}),
    log,
  });
}

test('an index that cannot start answers 503 to its own paths, says so in readyz, and keeps the gateway ready', async () => {
  const place = tempDir('index');
  // A file where the folder should be.
  writeFileSync(join(place, 'index'), '');
  const index = make(join(place, 'index'), true);
  for (const _ of [1, 2]) {
    await assert.rejects(index.answer({} as never), (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, 'INDEX_UNAVAILABLE');
      return true;
    });
  }
  assert.equal(index.check.fault(), undefined);
  assert.match(index.check.note?.() ?? '', /EEXIST|ENOTDIR/);
  await index.close();
});

test('an index that is closed while it starts logs no fault, even when its folder is gone', async () => {
  const place = tempDir('index');
  let written = '';
  const log = makeLog('error', { write: (line) => void (written += line) });
  writeFileSync(join(place, 'index'), '');
  const index = make(join(place, 'index'), true, log);
  const asked = assert.rejects(index.answer({} as never));
  await index.close();
  await asked;
  assert.equal(written, '');
});

test('without a flag nothing is started and nothing is written before somebody asks', async () => {
  const place = tempDir('index');
  const index = make(join(place, 'index'), false);
  assert.match(index.check.note?.() ?? '', /not started/);
  await index.close();
  assert.throws(() => rmSync(join(place, 'index')), { code: 'ENOENT' });
  await assert.rejects(index.answer({} as never), /the gateway is shutting down/);
});
