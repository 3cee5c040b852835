import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastMessages, MessageBoundary, tellsStatus } from './websocket-messages.ts';

const bytes = (head: readonly number[], length: number): Buffer =>
  Buffer.concat([Buffer.from(head), Buffer.alloc(length)]);
const short = bytes([0x82, 5], 5);
const medium = bytes([0x82, 126, 1, 0], 256);
const long = bytes([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0], 65_536);
const ping = bytes([0x89, 2], 2);
const masked = bytes([0x82, 0x83, 1, 2, 3, 4], 3);
const firstFragment = bytes([0x02, 3], 3);
const lastFragment = bytes([0x80, 4], 4);

test('Ends of messages are found in every split of the bytes', () => {
  const all = [short, medium, ping, long, masked, bytes([0x82, 0], 0), firstFragment, ping, lastFragment];
  const whole = Buffer.concat(all);
  const ends = new Set<number>();
  let at = 0;
  for (const [index, one] of all.entries()) {
    at += one.length;
    if (index !== 6 && index !== 7) ends.add(at);
  }
  for (const size of [1, 2, 3, 7, 100, 4096, whole.length]) {
    const boundary = new MessageBoundary();
    for (let from = 0; from < whole.length; from += size) {
      const piece = whole.subarray(from, from + size);
      const found = boundary.feed(piece);
      const expected = [...ends].filter((end) => end > from && end <= from + piece.length).at(-1);
      assert.equal(found, expected === undefined ? -1 : expected - from);
      assert.equal(boundary.atBoundary, ends.has(from + piece.length));
    }
  }
});

test('The last messages are the Status on channel 3 and a close', () => {
  const status = JSON.stringify({ kind: 'Status', message: 'x'.repeat(200) });
  const sent = lastMessages(status);
  assert.deepEqual([...sent.subarray(0, 5)], [0x82, 126, 0, status.length + 1, 3]);
  assert.equal(sent.toString('latin1', 5, 5 + status.length), status);
  assert.deepEqual([...sent.subarray(5 + status.length)], [0x88, 2, 0x03, 0xe8]);
  const boundary = new MessageBoundary();
  assert.equal(boundary.feed(sent), sent.length);
});

test('Only protocols that end with a Status are told one', () => {
  assert.deepEqual(
    ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io', 'SPDY/3.1+portforward.k8s.io', ''].map(
      tellsStatus,
    ),
    [true, true, false, false, false],
  );
});
