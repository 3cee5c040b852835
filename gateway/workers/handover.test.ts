import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { startHandover } from './handover.ts';

const at = { host: '127.0.0.1', port: 0 };

async function open(port: number): Promise<{ readonly socket: Socket; readonly closed: Promise<void> }> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.resume();
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, closed };
}

test('connections that find no worker wait for the next one, unread', async () => {
  const taken: Socket[] = [];
  const arrived = Promise.withResolvers<void>();
  let taker: ((socket: Socket) => void) | undefined;
  const asked = (): typeof taker => {
    if (taker === undefined) arrived.resolve();
    return taker;
  };
  const handover = await startHandover(at, { taker: asked, maxWaiting: 10 });
  const client = await open(handover.port);
  client.socket.write('hello');
  await arrived.promise;
  const first = Promise.withResolvers<void>();
  taker = (socket) => {
    taken.push(socket);
    first.resolve();
  };
  handover.flush();
  await first.promise;
  const heard = new Promise((resolve) => taken[0]!.once('data', resolve));
  taken[0]!.resume();
  assert.equal(String(await heard), 'hello');
  // And once more for another, when that one ended before it got it.
  handover.giveAgain(taken[0]!);
  assert.equal(taken.length, 2);
  taken[0]!.destroy();
  await client.closed;
  handover.close();
});

test('connections above the bound are closed, and so are those that waited too long or until the end', async () => {
  const handover = await startHandover(at, { taker: () => undefined, maxWaiting: 1, waitMs: 20 });
  const [one, more] = [await open(handover.port), await open(handover.port)];
  await Promise.all([one.closed, more.closed]);
  handover.close();
  const patient = await startHandover(at, { taker: () => undefined, maxWaiting: 1 });
  const arrived = await open(patient.port);
  const second = await open(patient.port);
  await second.closed;
  patient.close();
  await arrived.closed;
});
