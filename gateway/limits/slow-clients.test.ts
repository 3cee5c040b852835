import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OpenStream } from '../../routing/forward/open-streams.ts';
import { startSlowClients } from './slow-clients.ts';

function setting(timeoutMs: number) {
  const open = new Set<OpenStream>();
  const ended: string[] = [];
  const clock = { nowMs: 100_000 };
  const slow = startSlowClients({ [Symbol.iterator]: () => [...open].values() }, timeoutMs, () => clock.nowMs);
  const add = (name: string, kind: OpenStream['kind'], blockedSinceMs: number): void => {
    const stream = {
      kind,
      blockedSinceMs,
      abort() {
        ended.push(name);
        open.delete(stream);
      },
    } as unknown as OpenStream;
    open.add(stream);
  };
  return { slow, add, ended, clock };
}

test('an answer or a watch whose client takes nothing for its time is ended, logs and sessions are not, nor who takes (FLT-13)', () => {
  const { slow, add, ended } = setting(60_000);
  add('stuck list', 'short', 40_000);
  add('stuck watch', 'watch', 39_000);
  add('slow list', 'short', 40_001);
  add('reading watch', 'watch', 0);
  add('log in a pager', 'stream', 1);
  add('paused exec', 'upgrade', 1);
  slow.sweep();
  assert.deepEqual(ended, ['stuck list', 'stuck watch']);
  assert.equal(slow.ended, 2);
  slow.close();
});

test('when memory is short the longest blocked are ended first, of every kind, a tenth at a time (FLT-13)', () => {
  const { slow, add, ended } = setting(Infinity);
  for (let i = 0; i < 20; i++) add(`blocked-${i}`, i % 2 === 0 ? 'upgrade' : 'stream', 5_000 - i);
  for (let i = 0; i < 50; i++) add(`reading-${i}`, 'watch', 0);
  slow.endSlowest();
  assert.deepEqual(ended, ['blocked-19', 'blocked-18']);
  for (let i = 0; i < 100; i++) slow.endSlowest();
  assert.equal(ended.length, 20);
});
