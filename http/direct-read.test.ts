import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { readDirectly } from './direct-read.ts';

async function pair(t: TestContext): Promise<{ readonly reader: Socket; readonly writer: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const writer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [reader] = (await once(server, 'connection')) as [Socket];
  t.after(() => {
    writer.destroy();
    reader.destroy();
    server.close();
  });
  return { reader, writer };
}

test('every byte comes once and in order, however often the reader pauses and resumes', async (t) => {
  const { reader, writer } = await pair(t);
  const sent: Buffer[] = [];
  const got: Buffer[] = [];
  let pieces = 0;
  readDirectly(reader, (chunk) => {
    got.push(chunk);
    pieces += 1;
    if (pieces % 3 !== 0) return;
    reader.pause();
    if (pieces % 2 === 0) setImmediate(() => reader.resume());
    else reader.resume();
  });
  const ended = once(reader, 'end');
  for (let i = 0; i < 3_000; i += 1) {
    const piece = Buffer.from(`${i},`.repeat(1 + (i % 500)));
    sent.push(piece);
    if (!writer.write(piece)) await once(writer, 'drain');
  }
  writer.end();
  await ended;
  assert.ok(Buffer.concat(got).equals(Buffer.concat(sent)));
  assert.ok(pieces > 10);
});

test('a paused socket holds its writer back', async (t) => {
  const { reader, writer } = await pair(t);
  let bytes = 0;
  const giveBack = readDirectly(reader, (chunk) => {
    bytes += chunk.length;
    reader.pause();
  });
  const piece = Buffer.alloc(1 << 20);
  let written = 0;
  while (writer.write(piece) && written < 200) written += 1;
  await once(reader, 'pause');
  for (let i = 0; i < 50 && !writer.writableNeedDrain; i += 1) writer.write(piece);
  assert.ok(writer.writableNeedDrain);
  assert.ok(bytes <= 1 << 16, `${bytes} bytes came`);
  giveBack();
  reader.resume();
  await once(writer, 'drain');
});

test('whoever has the socket afterwards reads it alone', async (t) => {
  const { reader, writer } = await pair(t);
  const first: string[] = [];
  const giveBack = readDirectly(reader, (chunk) => first.push(String(chunk)));
  writer.write('mine');
  while (first.length === 0) await new Promise((resolve) => setImmediate(resolve));
  giveBack();
  reader.pause();
  writer.write('yours');
  const next = once(reader, 'data');
  reader.resume();
  assert.equal(String((await next)[0]), 'yours');
  assert.deepEqual(first, ['mine']);
});
