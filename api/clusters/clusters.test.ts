import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterSpec } from '../../model/records.ts';
import { createClusterStore } from '../../model/store.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import { clustersResource } from './clusters.ts';
import type { Authorized } from '../../request/exchange.ts';
import { watchResource } from './served-watch.ts';

const spec = (round: number): ClusterSpec => ({
  name: 'm1',
  originalName: 'm1',
  uid: 'uid-1',
  source: 'test',
  sourceDetail: `test ${round} ${'x'.repeat(10_000)}`,
  labels: {},
  endpoint: { scheme: 'https', host: 'member.test', port: 6443, basePath: '' },
  tls: { ca: undefined, serverName: undefined, insecure: false },
  proxy: undefined,
  credential: undefined,
  transportKey: 'one',
  problem: undefined,
});

/**
 * Starts a watch for a client that takes `reads` pieces and then no more, and changes the cluster. Returns whether the
 * client was cut off.
 */
async function watchOf(reads: number, changes: number): Promise<{ cut: boolean; bytes: number; open: number }> {
  const store = createClusterStore();
  store.apply('test', [spec(0)]);
  const openStreams = makeOpenStreams();
  let cut = false;
  let bytes = 0;
  let written = 0;
  let onClose: (aborted: boolean) => void = () => undefined;
  const inbound = {
    method: 'GET',
    headers: [],
    respond() {},
    write(piece: Buffer) {
      if (!cut) bytes += piece.length;
      written += 1;
      return written <= reads;
    },
    end() {},
    abort() {
      cut = true;
      onClose(true);
    },
    onDrain() {},
    onClose(listener: (aborted: boolean) => void) {
      onClose = listener;
    },
  };
  const state = {
    inbound,
    headers: [],
    target: { query: '?watch=true' },
    auditId: 'a',
    progress: { status: 0, bytesOut: 0 },
  };
  const done = watchResource(state as unknown as Authorized, clustersResource('impersonate'), {
    store,
    openStreams,
    bookmarkIntervalMs: 60_000,
  });
  for (let round = 1; round <= changes; round++) store.apply('test', [spec(round)]);
  const open = openStreams.size;
  for (const stream of openStreams) stream.endAtBoundary();
  await done;
  return { cut, bytes, open };
}

test('a watcher that reads gets every event', async () => {
  const { cut, open } = await watchOf(Infinity, 1000);
  assert.deepEqual({ cut, open }, { cut: false, open: 1 });
});

test('a watcher that stops reading is cut off before its events fill the memory', async () => {
  const { cut, bytes, open } = await watchOf(3, 1000);
  assert.deepEqual({ cut, open }, { cut: true, open: 0 });
  assert.ok(bytes < 5 * 1024 * 1024, `${bytes} bytes were held`);
});
