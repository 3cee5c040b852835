import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { makeBufferReclaim, youngCollector } from './buffer-reclaim.ts';
import { getRequest, recordingHandler, response, startTestMember, memberOptions } from './pools/member.fixture.ts';
import { makeTransport } from './pools/transport.ts';

describe('buffer reclaim', () => {
  it('collects once for every so many bytes, and not within the turn', async () => {
    let collected = 0;
    const passed = makeBufferReclaim(() => collected++, 100);
    passed(99);
    await turn();
    assert.equal(collected, 0);
    for (let i = 0; i < 5; i++) passed(60);
    assert.equal(collected, 0);
    await turn();
    assert.equal(collected, 1);
    passed(99);
    await turn();
    assert.equal(collected, 1);
  });

  it('frees dead buffers that V8 would keep, and only those', () => {
    const collect = youngCollector()!;
    const { arrayBuffers: before } = process.memoryUsage();
    const kept = Buffer.alloc(16_384, 7);
    for (let i = 0; i < 500; i++) Buffer.alloc(16_384, i);
    const { arrayBuffers: full } = process.memoryUsage();
    collect();
    collect();
    const { arrayBuffers: after } = process.memoryUsage();
    assert.ok(full - after > 1_000_000, 'they had piled up');
    assert.ok(after - before < 1_000_000, `${after - before} bytes are left`);
    assert.equal(kept[16_383], 7);
  });

  it('hears of every byte of every answer of a transport', async () => {
    let bytes = 0;
    const member = await startTestMember({ answer: (_head, socket) => socket.write(response('x'.repeat(1000))) });
    const transport = makeTransport(memberOptions(member, { onBody: (count) => (bytes += count) }));
    for (let i = 0; i < 3; i++) {
      const { handler, done } = recordingHandler();
      transport.send(getRequest('/'), handler);
      await done;
    }
    assert.equal(bytes, 3000);
    transport.close('abort');
    await member.close();
  });
});
