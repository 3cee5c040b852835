import assert from 'node:assert/strict';
import { test } from 'node:test';

import { makeOpenStreams } from './open-streams.ts';
import type { OpenStream } from './open-streams.ts';

function stream(clusterName: string): OpenStream {
  return {
    kind: 'short',
    clusterName,
    clusterUid: '',
    endAtBoundary: () => false,
    abort: () => undefined,
    end: () => undefined,
    blockedSinceMs: 0,
  };
}

test('whatever order streams come and go in, exactly the open ones are there', () => {
  const open = makeOpenStreams();
  const expected = new Set<OpenStream>();
  const all = Array.from({ length: 12 }, (_, i) => stream(`c${i}`));
  // Every step of a fixed, mixed-up walk: in when it is out, out when it is in.
  for (let step = 0; step < 2_000; step++) {
    const one = all[(step * 7 + ((step * step) % 5)) % all.length]!;
    if (expected.delete(one)) open.delete(one);
    else {
      expected.add(one);
      open.add(one);
    }
    assert.equal(open.size, expected.size);
    assert.deepEqual(new Set(open), expected);
    for (const each of all) assert.equal(open.has(each), expected.has(each));
  }
});

test('a stream that is added or taken out twice counts once', () => {
  const open = makeOpenStreams();
  const [one, other] = [stream('a'), stream('b')];
  for (const each of [one, other, one]) open.add(each);
  assert.equal(open.size, 2);
  open.delete(one);
  open.delete(one);
  assert.deepEqual([...open], [other]);
});

test('streams that end while somebody walks over them are all visited', () => {
  const open = makeOpenStreams();
  for (const name of ['a', 'b', 'c']) open.add(stream(name));
  const seen: string[] = [];
  for (const each of open) {
    seen.push(each.clusterName);
    open.delete(each);
  }
  assert.deepEqual(seen, ['a', 'b', 'c']);
  assert.equal(open.size, 0);
});

test('whoever waits is told when the last one leaves', async () => {
  const open = makeOpenStreams();
  const one = stream('a');
  await open.whenEmpty();
  open.add(one);
  let reported = false;
  const waiting = open.whenEmpty().then(() => (reported = true));
  await Promise.resolve();
  assert.equal(reported, false);
  open.delete(one);
  await waiting;
});
