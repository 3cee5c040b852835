import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import type { OpenStream, OpenStreams } from '../../routing/forward/open-streams.ts';
import { drain } from './drain.ts';

/**
 * A drain of the given streams that writes down what happens; the last connection closes when `disconnect` is called.
 */
function draining(openStreams: OpenStreams, graceMs: number) {
  const happened: string[] = [];
  const { promise: disconnected, resolve: disconnect } = Promise.withResolvers<void>();
  const done = drain({
    listener: {
      drain() {
        happened.push('listener');
        return disconnected;
      },
    },
    openStreams,
    setUnready: () => void happened.push('unready'),
    setRefusing: () => void happened.push('refusing'),
    delayMs: 0,
    graceMs,
  }).then(() => void happened.push('done'));
  return { happened, disconnect, done };
}

function stream(kind: OpenStream['kind'], openStreams: OpenStreams, happened: string[]): OpenStream {
  const self: OpenStream = {
    kind,
    clusterName: 'm1',
    clusterUid: 'u1',
    endAtBoundary() {
      happened.push(`${kind} ends`);
      openStreams.delete(self);
      return true;
    },
    blockedSinceMs: 0,
    end: () => assert.fail('a drain tells nobody why'),
    abort({ code }) {
      happened.push(`${kind} aborted: ${code}`);
      openStreams.delete(self);
    },
  };
  openStreams.add(self);
  return self;
}

test('first unready, then refusing; watches end, the rest is aborted when the grace is over', async () => {
  const openStreams = makeOpenStreams();
  const reported: string[] = [];
  for (const kind of ['watch', 'stream', 'upgrade', 'short'] as const) stream(kind, openStreams, reported);
  const { happened, done } = draining(openStreams, 0);
  await done;
  assert.deepEqual(happened, ['unready', 'refusing', 'listener', 'done']);
  const [first, ...later] = reported;
  assert.equal(first, 'watch ends');
  assert.deepEqual(later.sort(), ['short aborted: DRAINING', 'stream aborted: DRAINING', 'upgrade aborted: DRAINING']);
  assert.equal(openStreams.size, 0);
});

test('thousands of watches end a few at a time, all of them well within the grace (FLT-01)', async () => {
  const openStreams = makeOpenStreams();
  const reported: string[] = [];
  for (let i = 0; i < 3_000; i++) stream('watch', openStreams, reported);
  const { disconnect, done } = draining(openStreams, 1_500);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(reported.length > 0 && reported.length < 500, `${reported.length} in the first moment`);
  disconnect();
  await done;
  assert.deepEqual([reported.length, new Set(reported)], [3_000, new Set(['watch ends'])]);
});

test('an answer that is written may still be on its way: the drain waits for the connections, not for the streams alone', async () => {
  const openStreams = makeOpenStreams();
  const reported: string[] = [];
  const short = stream('short', openStreams, reported);
  const { happened, disconnect, done } = draining(openStreams, 3_600_000);
  openStreams.delete(short);
  await openStreams.whenEmpty();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(happened.at(-1), 'listener');
  disconnect();
  await done;
  assert.deepEqual(reported, []);
});
