import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaseWrites } from './lease-writes.ts';

const lease = { shard: 1, epoch: 7 };

describe('how often a lease has written', () => {
  it('is not known before its first write, and then exactly', () => {
    const writes = new LeaseWrites();
    assert.deepEqual(writes.of(lease), { least: 0, most: Number.MAX_SAFE_INTEGER });
    writes.committed(lease, 41);
    assert.deepEqual(writes.of(lease), { least: 41, most: 41 });
    assert.deepEqual([...writes.acknowledged()], [['1/7', 41]]);
  });

  it('may be one more after each write whose end is not known, and never less than was acknowledged', () => {
    const writes = new LeaseWrites();
    writes.failed(lease);
    assert.deepEqual(writes.of(lease), { least: 0, most: Number.MAX_SAFE_INTEGER });
    writes.committed(lease, 41);
    writes.failed(lease);
    writes.failed(lease);
    assert.deepEqual(writes.of(lease), { least: 41, most: 43 });
    writes.committed(lease, 43);
    assert.deepEqual(writes.of(lease), { least: 43, most: 43 });
  });

  it('says nothing of another term of the same shard', () => {
    const writes = new LeaseWrites();
    writes.committed(lease, 41);
    assert.equal(writes.of({ shard: 1, epoch: 8 }).least, 0);
    writes.committed({ shard: 1, epoch: 8 }, 3);
    assert.deepEqual([...writes.acknowledged()], [['1/8', 3]]);
  });
});
