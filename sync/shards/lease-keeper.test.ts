import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ShardWriter } from '../../store/store.ts';
import { makeFakeLeases, type FakeLeases } from './fake-leases.fixture.ts';
import { LeaseKeeper, type LeaseEnd } from './lease-keeper.ts';

interface Site {
  readonly table: FakeLeases;
  readonly keeper: LeaseKeeper;
  readonly taken: ShardWriter[];
  readonly dropped: (readonly [shard: number, end: LeaseEnd])[];
  readonly troubles: unknown[];
  /** Lets time pass for the replica and for the table, a second at a time. */
  pass(seconds: number): Promise<void>;
  /** Lets time pass without running timers. */
  sleep(seconds: number): void;
  /** Ends the writing of a shard, where it does not end by itself. */
  finish: () => void;
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise(setImmediate);
}

/** @param holdsUp the writing of a shard ends only with `finish` */
async function site(t: TestContext, holdsUp = false): Promise<Site> {
  const table = makeFakeLeases();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let localMs = 0;
  const taken: ShardWriter[] = [];
  const dropped: (readonly [number, LeaseEnd])[] = [];
  const troubles: unknown[] = [];
  const uids = ['r0', 'r1'];
  const made: Site = {
    table,
    taken,
    dropped,
    troubles,
    finish: () => undefined,
    keeper: new LeaseKeeper({
      leases: table,
      replica: 'me',
      weight: 1,
      uids: () => uids,
      rates: () => [],
      onTake: (lease) => void taken.push(lease),
      onDrop: ({ shard }, end) => {
        dropped.push([shard, end]);
        return holdsUp ? new Promise((resolve) => void (made.finish = resolve)) : Promise.resolve();
      },
      onLook: () => undefined,
      onTrouble: (error) => error !== undefined && troubles.push(error),
      localMs: () => localMs,
    }),
    sleep(seconds) {
      localMs += seconds * 1_000;
      table.nowMs += seconds * 1_000;
    },
    async pass(seconds) {
      for (let i = 0; i < seconds; i += 1) {
        localMs += 1_000;
        table.nowMs += 1_000;
        t.mock.timers.tick(1_000);
        await settled();
      }
    },
  };
  await made.keeper.start();
  return made;
}

describe('leases of a replica', () => {
  it('takes what is meant for it and free, and keeps it as long as it is renewed', async (t) => {
    const { table, keeper, taken, dropped, pass } = await site(t);
    table.wanted[1] = 'me';
    await pass(1);
    assert.deepEqual(taken, [{ shard: 1, epoch: 1 }]);
    await pass(60);
    assert.ok(keeper.mayWrite({ shard: 1, epoch: 1 }));
    assert.deepEqual([taken.length, dropped], [1, []]);
    assert.ok(!keeper.mayWrite({ shard: 1, epoch: 0 }), 'an older term');
    assert.ok(!keeper.mayWrite({ shard: 2, epoch: 1 }), 'another shard');
  });

  it('begins again, in another term, where the store has lost what it had acknowledged', async (t) => {
    const { table, keeper, taken, dropped, pass } = await site(t);
    table.wanted[1] = 'me';
    await pass(1);
    table.setBack.add(1);
    await pass(2);
    assert.deepEqual(dropped, [[1, 'lost']]);
    assert.deepEqual(taken, [
      { shard: 1, epoch: 1 },
      { shard: 1, epoch: 2 },
    ]);
    assert.ok(!keeper.mayWrite({ shard: 1, epoch: 1 }));
    await pass(5);
    assert.equal(taken.length, 2);
  });

  it('hands a shard over only after it has written all of it', async (t) => {
    const handing = await site(t, true);
    const { table, keeper, dropped, pass } = handing;
    table.wanted[1] = 'me';
    await pass(1);
    table.wanted[1] = 'other';
    await pass(5);
    assert.deepEqual(dropped, [[1, 'given back']]);
    assert.ok(keeper.mayWrite({ shard: 1, epoch: 1 }), 'what was read is still committed');
    assert.equal(table.owners[1], 'me');
    handing.finish();
    await settled();
    assert.equal(table.owners[1], '');
    assert.ok(!keeper.mayWrite({ shard: 1, epoch: 1 }));
  });

  it('gives a shard back at once when its writing has ended', async (t) => {
    const { table, keeper, pass } = await site(t);
    table.wanted[1] = 'me';
    await pass(1);
    table.wanted[1] = 'other';
    await pass(1);
    assert.equal(table.owners[1], '');
    assert.ok(!keeper.mayWrite({ shard: 1, epoch: 1 }));
  });

  it('stops writing before others may take its shards when the store is away, and takes them again later', async (t) => {
    const { table, keeper, taken, dropped, troubles, pass } = await site(t);
    table.wanted[1] = 'me';
    await pass(3);
    table.isAway = true;
    await pass(8);
    assert.ok(keeper.mayWrite({ shard: 1, epoch: 1 }));
    await pass(4);
    assert.ok(!keeper.mayWrite({ shard: 1, epoch: 1 }));
    assert.deepEqual(dropped, [[1, 'lost']]);
    assert.ok(troubles.length > 0);
    await pass(8);
    table.isAway = false;
    await pass(2);
    assert.deepEqual(taken.at(-1), { shard: 1, epoch: 2 });
    assert.ok(keeper.mayWrite({ shard: 1, epoch: 2 }));
  });

  it('says that what it read of shards is old when the store no longer takes its heartbeats', async (t) => {
    const { table, keeper, pass } = await site(t);
    await pass(3);
    assert.ok(keeper.isCurrent);
    table.isAway = true;
    await pass(7);
    assert.ok(keeper.isCurrent);
    await pass(1);
    assert.ok(!keeper.isCurrent);
    table.isAway = false;
    await pass(1);
    assert.ok(keeper.isCurrent);
  });

  it('writes nothing after a sleep, even before its timers have run', async (t) => {
    const { table, keeper, dropped, pass, sleep } = await site(t);
    table.wanted[1] = 'me';
    await pass(2);
    sleep(9);
    assert.ok(keeper.mayWrite({ shard: 1, epoch: 1 }));
    sleep(1);
    assert.ok(!keeper.mayWrite({ shard: 1, epoch: 1 }));
    assert.deepEqual(dropped, [[1, 'lost']]);
  });

  it('has lost what somebody else has taken', async (t) => {
    const { table, keeper, dropped, pass } = await site(t);
    table.wanted[1] = 'me';
    await pass(1);
    table.owners[1] = 'other';
    table.epochs[1] = 2;
    table.wanted[1] = 'other';
    await pass(1);
    assert.deepEqual(dropped, [[1, 'lost']]);
    assert.ok(!keeper.mayWrite({ shard: 1, epoch: 1 }));
    assert.deepEqual(table.released, []);
  });

  it('a refused write ends the lease, which is taken anew in another term when it is still meant for it', async (t) => {
    const { table, keeper, taken, dropped, pass } = await site(t);
    table.wanted[1] = 'me';
    await pass(1);
    keeper.refused({ shard: 1, epoch: 0 });
    assert.deepEqual(dropped, []);
    keeper.refused({ shard: 1, epoch: 1 });
    assert.deepEqual(dropped, [[1, 'lost']]);
    await pass(1);
    assert.deepEqual(taken.at(-1), { shard: 1, epoch: 2 });
  });

  it('has lost everything when it was taken for dead, also what nobody has taken yet', async (t) => {
    const { table, dropped, taken, pass } = await site(t);
    table.wanted[0] = table.wanted[1] = 'me';
    await pass(1);
    await table.leave('me');
    await pass(3);
    assert.deepEqual(dropped.toSorted(), [
      [0, 'lost'],
      [1, 'lost'],
    ]);
    await pass(1);
    assert.deepEqual(
      taken.map(({ epoch }) => epoch),
      [1, 1, 2, 2],
    );
  });

  it('gives back what it ended while the store was away', async (t) => {
    const { table, pass } = await site(t);
    table.wanted[1] = 'me';
    await pass(1);
    table.isAway = true;
    await pass(13);
    // It is not dead yet for the store, and others shall have the shard.
    table.nowMs -= 13_000;
    table.isAway = false;
    table.wanted[1] = 'other';
    await pass(2);
    assert.equal(table.owners[1], '');
  });

  it('gives all back when it ends', async (t) => {
    const { table, keeper, dropped, pass } = await site(t);
    table.wanted[0] = table.wanted[1] = 'me';
    await pass(1);
    await keeper.close();
    assert.deepEqual(dropped.toSorted(), [
      [0, 'given back'],
      [1, 'given back'],
    ]);
    assert.deepEqual(table.owners, ['', '', '', '']);
  });
});
