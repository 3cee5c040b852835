import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { makeChannel } from './channel.ts';

/** Two ends; `cut` says how the bytes of one direction are torn. */
function ends(cut: (bytes: Buffer) => Buffer[]): readonly [Duplex, Duplex] {
  const make = (other: () => Duplex): Duplex =>
    new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        for (const piece of cut(chunk)) other().push(piece);
        done();
      },
      final(done) {
        other().push(null);
        done();
      },
    });
  const one: Duplex = make(() => two);
  const two: Duplex = make(() => one);
  return [one, two];
}

const whole = (bytes: Buffer): Buffer[] => [bytes];
const single = (bytes: Buffer): Buffer[] => Array.from(bytes, (byte) => Buffer.from([byte]));

for (const [name, cut] of [
  ['whole', whole],
  ['byte by byte', single],
] as const) {
  test(`messages arrive ${name} in order, with what JSON has no word for`, async () => {
    const [one, two] = ends(cut);
    const sent = [{ a: Infinity, b: undefined }, 'x'.repeat(3000), new Map([['k', Buffer.from([0, 255])]]), [1, 2]];
    const seen: unknown[] = [];
    const ended = Promise.withResolvers<unknown>();
    makeChannel<unknown, unknown>(two, { onMessage: (message) => void seen.push(message), onEnd: ended.resolve });
    const channel = makeChannel<unknown, unknown>(one, { onMessage: () => undefined, onEnd: () => undefined });
    for (const message of sent) channel.send(message);
    channel.close();
    assert.equal(await ended.promise, undefined);
    assert.deepEqual(seen, sent);
  });
}

test('a message that cannot be handled ends the channel, and no later one is handled', async () => {
  const [one, two] = ends(whole);
  const seen: unknown[] = [];
  const ended = Promise.withResolvers<unknown>();
  makeChannel<unknown, unknown>(two, {
    onMessage(message) {
      seen.push(message);
      if (message === 2) throw new Error('not this one');
    },
    onEnd: ended.resolve,
  });
  const channel = makeChannel<unknown, unknown>(one, { onMessage: () => undefined, onEnd: () => undefined });
  for (const message of [1, 2, 3]) channel.send(message);
  assert.match(String(await ended.promise), /not this one/);
  assert.deepEqual(seen, [1, 2]);
});

test('a message that cannot be cloned is refused before a byte is sent', () => {
  const [one, two] = ends(whole);
  const channel = makeChannel<unknown, unknown>(one, { onMessage: () => undefined, onEnd: () => undefined });
  assert.throws(() => channel.send({ credential: { current: () => 'secret' } }), /could not be cloned/);
  assert.equal(two.readableLength, 0);
});
