import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeFakeStore } from '../fake-store.fixture.ts';
import { type } from '../follow/follow.fixture.ts';
import { makeFakeLeases } from './fake-leases.fixture.ts';
import { makeUnregistered } from './unregistered.ts';

async function bench() {
  const table = makeFakeLeases();
  const store = makeFakeStore();
  let localMs = 0;
  for (const uid of ['r1', 'r2']) {
    await store.apply({ incarnation: { id: `${uid}/life`, cluster: uid }, type, upserts: [], deletes: [] });
  }
  store.epochs.set(1, 5);
  const owned = new Map([[1, { shard: 1, epoch: 5 }]]);
  const look = makeUnregistered({
    store,
    leases: table,
    types: () => store.types(),
    leaseOf: (shard) => owned.get(shard),
    onForgotten: (uids) => table.withdraw(uids),
    missingMs: 10_000,
    localMs: () => localMs,
    log: { info: () => undefined },
  });
  const beat = (replica: string, uids?: readonly string[]) =>
    table.beat({ replica, weight: 1, form: 1, rates: [], ...(uids === undefined ? {} : { uids }) });
  const lookAt = async (ms: number): Promise<readonly string[]> => {
    localMs = ms;
    await look();
    return store.forgotten;
  };
  return { table, owned, beat, lookAt };
}

describe('rows of clusters that are not registered', () => {
  it('are forgotten by the owner of the shard once no replica has named the cluster for long', async () => {
    const { beat, lookAt } = await bench();
    await beat('a', []);
    assert.deepEqual(await lookAt(0), []);
    assert.deepEqual(await lookAt(9_000), []);
    assert.deepEqual(await lookAt(10_000), ['r1/life'], 'and not those of a shard that somebody else owns');
  });

  it('stay while another replica knows the cluster, although the owner does not', async () => {
    const { beat, lookAt } = await bench();
    await beat('a', []);
    await beat('b', ['r1']);
    await lookAt(0);
    assert.deepEqual(await lookAt(60_000), []);
    await beat('b', []);
    assert.deepEqual(await lookAt(61_000), [], 'it is missing only since now');
    assert.deepEqual(await lookAt(71_000), ['r1/life']);
  });

  it('stay while a replica has not read its clusters yet', async () => {
    const { beat, lookAt } = await bench();
    await beat('a', []);
    await lookAt(0);
    await beat('starting');
    assert.deepEqual(await lookAt(60_000), []);
    await beat('starting', ['r1']);
    assert.deepEqual(await lookAt(120_000), []);
  });
});
