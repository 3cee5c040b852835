import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Situation } from '../../store/leases.ts';
import { assign } from './assignment.ts';

const shardCount = 128;
const all = Array<number>(shardCount).fill(1);

/** Shards and who shall have them, over several rounds. */
class Fleet {
  replicas: Situation['replicas'];
  readonly rows = Array<number>(shardCount).fill(0);
  readonly rates = Array<number>(shardCount).fill(0);
  readonly pinned = new Set<number>();
  wanted = Array<string>(shardCount).fill('');
  /** Those that are not, yet, who they are meant to be. */
  owners: Readonly<Record<number, string>> = {};

  constructor(...names: readonly string[]) {
    this.replicas = names.map((name) => ({ name, weight: 1, form: 1, known: all, isSilent: false }));
  }

  round(lately = 0): { readonly moves: number; readonly changed: readonly number[] } {
    const shards = this.wanted.map((wanted, shard) => {
      const owner = this.owners[shard] ?? wanted;
      const isPinned = this.pinned.has(shard);
      return { shard, owner, wanted, rows: this.rows[shard]!, rate: this.rates[shard]!, isPinned };
    });
    const made = assign({ replicas: this.replicas, shards, lately });
    for (const { shard, to } of made) this.wanted[shard] = to;
    return { moves: made.filter(({ isMove }) => isMove).length, changed: made.map(({ shard }) => shard) };
  }

  settle(): number {
    for (let rounds = 1; ; rounds += 1) {
      if (this.round().changed.length === 0) return rounds;
      assert.ok(rounds < 200, 'it never comes to rest');
    }
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      this.replicas.map(({ name }) => [name, this.wanted.filter((each) => each === name).length]),
    );
  }
}

describe('who follows which shard', () => {
  it('every shard with clusters has one replica, and each replica about its share', () => {
    const fleet = new Fleet('a', 'b', 'c');
    fleet.settle();
    assert.ok(fleet.wanted.every((name) => name !== ''));
    for (const count of Object.values(fleet.counts())) assert.ok(count >= 38 && count <= 47, `${count} shards`);
  });

  it('a replica that joins gets its share by at most four moves at a time, and nobody else gets anything', () => {
    const fleet = new Fleet('a', 'b');
    fleet.settle();
    const before = [...fleet.wanted];
    fleet.replicas = [...fleet.replicas, { name: 'c', weight: 1, form: 1, known: all, isSilent: false }];
    for (let rounds = 0; ; rounds += 1) {
      assert.ok(rounds < 100);
      const { moves, changed } = fleet.round();
      assert.equal(moves, changed.length);
      assert.ok(moves <= 4, `${moves} moves`);
      if (moves === 0) break;
    }
    assert.ok(fleet.counts()['c']! >= 34);
    for (const [shard, name] of fleet.wanted.entries()) assert.ok(name === 'c' || name === before[shard]);
  });

  it('moves of the last ten seconds count: after four there is none', () => {
    const fleet = new Fleet('a');
    fleet.settle();
    fleet.replicas = [...fleet.replicas, { name: 'b', weight: 1, form: 1, known: all, isSilent: false }];
    assert.equal(fleet.round(4).changed.length, 0);
    assert.equal(fleet.round(3).changed.length, 1);
  });

  it('what a replica had that died is given away at once, and nothing else moves more than it may', () => {
    const fleet = new Fleet('a', 'b', 'c');
    fleet.settle();
    const orphans = fleet.wanted.flatMap((name, shard) => (name === 'c' ? [shard] : []));
    fleet.replicas = fleet.replicas.filter(({ name }) => name !== 'c');
    const { moves, changed } = fleet.round();
    assert.ok(moves <= 4);
    assert.deepEqual(
      orphans.filter((shard) => !changed.includes(shard)),
      [],
    );
    assert.ok(changed.length <= orphans.length + 4);
  });

  it('a shard goes only to a replica whose records have its clusters', () => {
    const fleet = new Fleet('a', 'b');
    const half = all.map((count, shard) => (shard < 64 ? count : 0));
    fleet.replicas = [
      { name: 'a', weight: 1, form: 1, known: all, isSilent: false },
      { name: 'b', weight: 1, form: 1, known: half, isSilent: false },
    ];
    fleet.settle();
    assert.ok(fleet.wanted.slice(64).every((name) => name === 'a'));
    fleet.replicas = [
      { name: 'a', weight: 1, form: 1, known: half, isSilent: false },
      { name: 'b', weight: 1, form: 1, known: all, isSilent: false },
    ];
    fleet.round();
    assert.ok(fleet.wanted.slice(64).every((name) => name === 'b'));
  });

  it('rows that belong to no record any more have an owner who may forget them, and empty shards have none', () => {
    const fleet = new Fleet('a', 'b');
    const none = all.map(() => 0);
    fleet.replicas = fleet.replicas.map((replica) => ({ ...replica, known: none, isSilent: false }));
    fleet.rows[7] = 10;
    fleet.settle();
    assert.notEqual(fleet.wanted[7], '');
    assert.ok(fleet.wanted.every((name, shard) => shard === 7 || name === ''));
    fleet.rows[7] = 0;
    fleet.settle();
    assert.equal(fleet.wanted[7], '');
  });

  it('nothing changes while no replica knows its clusters', () => {
    const fleet = new Fleet('a', 'b');
    fleet.settle();
    const before = [...fleet.wanted];
    fleet.replicas = [];
    fleet.round();
    assert.deepEqual(fleet.wanted, before);
  });

  it('a shard with many rows and one with many changes count for more, and a weak replica gets less', () => {
    const fleet = new Fleet('a', 'b');
    fleet.rows[0] = 200 * 5_000;
    fleet.rates[1] = 200 * 20;
    fleet.settle();
    assert.notEqual(fleet.wanted[0], fleet.wanted[1]);
    const weak = new Fleet('a', 'b');
    weak.replicas = [
      { name: 'a', weight: 3, form: 1, known: all, isSilent: false },
      { name: 'b', weight: 1, form: 1, known: all, isSilent: false },
    ];
    weak.settle();
    assert.ok(weak.counts()['b']! <= 36, `${weak.counts()['b']} shards`);
  });

  it('what an operator gave to a replica stays there while it lives, however much that is', () => {
    const fleet = new Fleet('a', 'b');
    fleet.settle();
    for (const shard of fleet.wanted.keys()) {
      fleet.wanted[shard] = 'a';
      fleet.pinned.add(shard);
    }
    assert.equal(fleet.round().changed.length, 0);
    fleet.pinned.delete(7);
    assert.deepEqual(fleet.round().changed, [7]);
    fleet.replicas = fleet.replicas.filter(({ name }) => name === 'b');
    fleet.settle();
    assert.ok(fleet.wanted.every((name) => name === 'b'));
  });

  it('loads that change a little move nothing', () => {
    const fleet = new Fleet('a', 'b', 'c');
    fleet.settle();
    for (const shard of fleet.rates.keys()) fleet.rates[shard] = (shard % 7) / 10;
    assert.equal(fleet.round().changed.length, 0);
  });

  it('a replica that has missed a heartbeat keeps what it has, and gets nothing new', () => {
    const fleet = new Fleet('a', 'b', 'c');
    fleet.settle();
    const before = fleet.counts();
    const ofC = [...fleet.wanted.keys()].filter((shard) => fleet.wanted[shard] === 'c');
    const ofB = [...fleet.wanted.keys()].filter((shard) => fleet.wanted[shard] === 'b');
    fleet.replicas = fleet.replicas.map((each) => ({ ...each, isSilent: each.name === 'b' }));
    fleet.settle();
    assert.deepEqual(fleet.counts(), before);
    // One that has died leaves its shards; of those that b was to have, b has taken none.
    fleet.replicas = fleet.replicas.filter(({ name }) => name !== 'c');
    fleet.owners = { [ofB[0]!]: 'd' };
    fleet.settle();
    for (const shard of [...ofC, ofB[0]!]) assert.equal(fleet.wanted[shard], 'a');
    for (const shard of ofB.slice(1)) assert.equal(fleet.wanted[shard], 'b');
  });

  it('during an upgrade shards go to replicas of the newer form only, in a rollback back once the last of them is gone', () => {
    const fleet = new Fleet('old-1', 'old-2', 'old-3');
    fleet.settle();
    const isNew = (name: string): boolean => name.startsWith('new');
    const changes = fleet.wanted.map(() => 0);
    const settle = (replicas: readonly string[]): void => {
      const known = { weight: 1, known: all, isSilent: false };
      fleet.replicas = replicas.map((name) => ({ ...known, name, form: isNew(name) ? 2 : 1 }));
      const before = [...fleet.wanted];
      fleet.settle();
      for (const [shard, name] of fleet.wanted.entries())
        changes[shard]! += Number(isNew(name) !== isNew(before[shard]!));
    };
    settle(['old-1', 'old-2', 'old-3', 'new-1']);
    const { 'new-1': joined, ...others } = fleet.counts();
    assert.ok(
      joined! >= 25 && Object.values(others).every((count) => count >= 25),
      'it gets its share, not everything',
    );
    for (const left of [
      ['old-2', 'old-3', 'new-1'],
      ['old-2', 'old-3', 'new-1', 'new-2'],
      ['old-3', 'new-1', 'new-2', 'new-3'],
      ['new-1', 'new-2', 'new-3'],
    ]) {
      settle(left);
    }
    assert.deepEqual(new Set(changes), new Set([1]), 'each shard has changed its form once');
    for (const left of [
      ['new-1', 'new-2', 'old-4'],
      ['new-2', 'old-4', 'old-5'],
      ['old-4', 'old-5'],
    ])
      settle(left);
    assert.deepEqual(new Set(changes), new Set([2]), 'and once more in the rollback');
  });

  it('when all have missed a heartbeat the store is slow, and shards are given away as ever', () => {
    const fleet = new Fleet('a', 'b');
    fleet.replicas = fleet.replicas.map((each) => ({ ...each, isSilent: true }));
    fleet.settle();
    assert.ok(fleet.wanted.every((name) => name !== ''));
  });
});
