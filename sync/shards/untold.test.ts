import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ShardState } from '../../store/leases.ts';
import { Untold } from './untold.ts';

function bench() {
  const told = new Map<string, number>();
  const shard: ShardState = { shard: 0, owner: 'b', wanted: 'b', epoch: 3, isHeld: true, hasLostWrites: false };
  const clock = { nowMs: 100_000 };
  const untold = new Untold({ shardOf: () => 0, toldIn: (uid) => told.get(uid), localMs: () => clock.nowMs });
  return { told, shard, clock, untold };
}

describe('clusters that the owner of their shard does not know', () => {
  it('are those of which it has said nothing for some seconds', () => {
    const { told, shard, clock, untold } = bench();
    told.set('followed', 3);
    untold.look(['followed'], [shard]);
    untold.look(['followed', 'new'], [shard]);
    assert.deepEqual([untold.has('followed'), untold.has('new')], [false, false]);
    clock.nowMs += 5_000;
    untold.look(['followed', 'new'], [shard]);
    assert.deepEqual([untold.has('followed'), untold.has('new')], [false, true]);
    told.set('new', 3);
    untold.look(['followed', 'new'], [shard]);
    assert.equal(untold.has('new'), false);
  });

  it('are also those that an owner before it has followed', () => {
    const { told, shard, clock, untold } = bench();
    told.set('c', 3);
    untold.look(['c'], [shard]);
    untold.look(['c'], [{ ...shard, owner: 'd', epoch: 4 }]);
    assert.equal(untold.has('c'), false, 'the new owner may tell of it yet');
    clock.nowMs += 5_000;
    assert.equal(untold.has('c'), true);
  });

  it('are known at once to a process that has just started', () => {
    const { told, shard, untold } = bench();
    told.set('c', 2);
    untold.look(['c'], [shard]);
    assert.equal(untold.has('c'), true);
  });

  it('are not those of a shard that nobody owns, of which the lease says enough', () => {
    const { shard, untold } = bench();
    untold.look(['c'], [{ ...shard, owner: '' }]);
    assert.equal(untold.has('c'), false);
  });
});
