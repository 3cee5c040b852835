import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ShardState } from '../../store/leases.ts';
import { Unpublished } from './unpublished.ts';

function bench() {
  const published = new Map<string, number>();
  const shard: ShardState = { shard: 0, owner: 'b', wanted: 'b', epoch: 3, isHeld: true, hasLostWrites: false };
  const clock = { nowMs: 100_000 };
  const unpublished = new Unpublished({
    shardOf: () => 0,
    publishedIn: (uid) => published.get(uid),
    localMs: () => clock.nowMs,
  });
  return { published, shard, clock, unpublished };
}

describe('clusters that the owner of their shard does not know', () => {
  it('are those of which it has said nothing for some seconds', () => {
    const { published, shard, clock, unpublished } = bench();
    published.set('followed', 3);
    unpublished.look(['followed'], [shard]);
    unpublished.look(['followed', 'new'], [shard]);
    assert.deepEqual([unpublished.has('followed'), unpublished.has('new')], [false, false]);
    clock.nowMs += 5_000;
    unpublished.look(['followed', 'new'], [shard]);
    assert.deepEqual([unpublished.has('followed'), unpublished.has('new')], [false, true]);
    published.set('new', 3);
    unpublished.look(['followed', 'new'], [shard]);
    assert.equal(unpublished.has('new'), false);
  });

  it('are also those that an owner before it has followed', () => {
    const { published, shard, clock, unpublished } = bench();
    published.set('c', 3);
    unpublished.look(['c'], [shard]);
    unpublished.look(['c'], [{ ...shard, owner: 'd', epoch: 4 }]);
    assert.equal(unpublished.has('c'), false, 'the new owner may tell of it yet');
    clock.nowMs += 5_000;
    assert.equal(unpublished.has('c'), true);
  });

  it('are known at once to a process that has just started', () => {
    const { published, shard, unpublished } = bench();
    published.set('c', 2);
    unpublished.look(['c'], [shard]);
    assert.equal(unpublished.has('c'), true);
  });

  it('are not those of a shard that nobody owns, of which the lease says enough', () => {
    const { shard, unpublished } = bench();
    unpublished.look(['c'], [{ ...shard, owner: '' }]);
    assert.equal(unpublished.has('c'), false);
  });
});
