import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { eventBoundary } from './event-boundary.ts';

test('JSON events end at newlines', () => {
  const boundary = eventBoundary('application/json;stream=watch', '')!;
  assert.ok(boundary.atBoundary);
  assert.equal(boundary.feed(Buffer.from('{"a":1}\n{"b"')), 8);
  assert.ok(!boundary.atBoundary);
  assert.equal(boundary.feed(Buffer.from(':2}')), -1);
  assert.equal(boundary.feed(Buffer.from('\n')), 1);
  assert.ok(boundary.atBoundary);
});

test('protobuf frames are followed over any split of the bytes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 50 })),
      (frames, cuts) => {
        const bytes = Buffer.concat(
          frames.flatMap((frame) => [Buffer.from([0, 0, frame.length >> 8, frame.length & 255]), Buffer.from(frame)]),
        );
        const ends = new Set<number>([0]);
        let at = 0;
        for (const frame of frames) ends.add((at += 4 + frame.length));
        const boundary = eventBoundary('application/vnd.kubernetes.protobuf;stream=watch', '')!;
        let position = 0;
        for (let i = 0; position < bytes.length; i++) {
          const chunk = bytes.subarray(position, position + (cuts[i % cuts.length] ?? 7));
          const last = boundary.feed(chunk);
          if (last >= 0) assert.ok(ends.has(position + last));
          position += chunk.length;
          assert.equal(boundary.atBoundary, ends.has(position));
        }
      },
    ),
  );
});

test('an encoding that cannot be followed has no boundary', () => {
  assert.equal(eventBoundary('application/cbor-seq', ''), undefined);
  assert.equal(eventBoundary('application/json', 'gzip'), undefined);
});
