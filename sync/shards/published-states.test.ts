import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterState, TypeState } from '../member/sync-types.ts';
import { partOf } from './published-state.ts';
import { makeFakeLeases } from './fake-leases.fixture.ts';
import { PublishedStates } from './published-states.ts';

const info: TypeState['type'] = {
  group: '',
  resource: 'pods',
  version: 'v1',
  versions: ['v1'],
  kind: 'Pod',
  singular: 'pod',
  shortNames: [],
  categories: [],
  namespaced: true,
  convertible: false,
};

function stateOf(more: Partial<TypeState> = {}): ClusterState {
  const type: TypeState = {
    type: info,
    isChosen: true,
    phase: 'watching',
    isWhole: true,
    objects: 7,
    rate: 0,
    lagMs: 0,
    confirmedAtMs: 1_000_000,
    fault: undefined,
    ...more,
  };
  const incarnation = { id: 'r1/life', cluster: 'm1' };
  return { cluster: 'm1', uid: 'r1', incarnation, fault: undefined, types: [type], refused: [] };
}

function bench() {
  const table = makeFakeLeases();
  table.epochs[1] = 3;
  const published: number[] = [];
  const publish = table.publish.bind(table);
  table.publish = (states) => {
    published.push(states.length);
    return publish(states);
  };
  return { table, published, owner: new PublishedStates(table), reader: new PublishedStates(table) };
}

const lease = { shard: 1, epoch: 3 };
const held = (): boolean => true;

describe('what replicas publish each other of clusters', () => {
  it('everybody knows what the owner knows: phase, fault, incarnation, confirmation, count and what is left out', async () => {
    const { owner, reader } = bench();
    const state = stateOf({ phase: 'failing', fault: { reason: 'Refused', message: 'it answers with 503' } });
    await owner.publish([{ state, lease }], held);
    assert.equal(await reader.refresh(), true);
    assert.deepEqual(reader.of('r1')?.state, state);
    const lacking = stateOf({ leftOut: { count: 1, example: 'a/x (too long)' } });
    await owner.publish([{ state: lacking, lease }], held);
    assert.equal(await reader.refresh(), true, 'an object is left out');
    assert.deepEqual(partOf(reader.of('r1')!, new Set(['pods.'])).types, lacking.types);
    const never = stateOf({ confirmedAtMs: undefined });
    await owner.publish([{ state: never, lease }], held);
    await reader.refresh();
    assert.deepEqual(reader.of('r1')?.state.types[0], never.types[0]);
  });

  it('what has not changed is not published again, and a confirmation that is little newer neither', async () => {
    const { owner, reader, published } = bench();
    await owner.publish([{ state: stateOf(), lease }], held);
    await reader.refresh();
    await owner.publish([{ state: stateOf({ confirmedAtMs: 1_001_000, objects: 8, rate: 3, lagMs: 9 }), lease }], held);
    assert.deepEqual(published, [1, 0]);
    await owner.publish([{ state: stateOf({ confirmedAtMs: 1_005_000, objects: 8 }), lease }], held);
    assert.deepEqual(published, [1, 0, 1]);
    assert.equal(await reader.refresh(), false, 'times and counts are no news');
    assert.deepEqual(reader.of('r1')?.state, stateOf({ confirmedAtMs: 1_005_000, objects: 8 }));
  });

  it('it is news when a cluster begins or ceases to serve a type that the index does not hold', async () => {
    const { owner, reader } = bench();
    const metrics = { ...info, group: 'metrics.k8s.io', verbs: ['get', 'list'] };
    for (const live of [[], [metrics], []]) {
      await owner.publish([{ state: { ...stateOf(), live }, lease }], held);
      assert.equal(await reader.refresh(), true);
      assert.deepEqual(reader.of('r1')?.state.live, live);
    }
  });

  it('who has lost the lease is not heard, and who has it tells everything anew', async () => {
    const { table, owner, reader } = bench();
    await owner.publish([{ state: stateOf(), lease }], held);
    table.epochs[1] = 4;
    await new PublishedStates(table).publish(
      [{ state: stateOf({ phase: 'listing' }), lease: { shard: 1, epoch: 4 } }],
      held,
    );
    await owner.publish([{ state: stateOf({ phase: 'failing' }), lease }], held);
    await reader.refresh();
    assert.equal(reader.of('r1')?.state.types[0]?.phase, 'listing');
    table.epochs[1] = 5;
    await owner.publish([{ state: stateOf({ phase: 'failing' }), lease: { shard: 1, epoch: 5 } }], held);
    await reader.refresh();
    assert.equal(reader.of('r1')?.state.types[0]?.phase, 'failing');
  });

  it('a cluster that its owner no longer knows is not followed, unless somebody else owns the shard', async () => {
    const { owner, reader } = bench();
    await owner.publish([{ state: stateOf(), lease }], held);
    await owner.publish([], () => false);
    await reader.refresh();
    assert.equal(reader.of('r1')?.state.fault, undefined);
    await owner.publish([{ state: stateOf(), lease }], held);
    await owner.publish([], held);
    await reader.refresh();
    assert.match(reader.of('r1')!.state.fault!.message, /would follow cluster "m1" does not know it/);
    assert.equal(reader.of('r1')?.state.types[0]?.confirmedAtMs, 1_000_000);
    await owner.publish([{ state: stateOf(), lease }], held);
    await reader.refresh();
    assert.equal(reader.of('r1')?.state.fault, undefined);
  });

  it('what could not be published is published when the store is back', async () => {
    const { table, owner, reader } = bench();
    table.isAway = true;
    await assert.rejects(owner.publish([{ state: stateOf(), lease }], held));
    table.isAway = false;
    await owner.publish([{ state: stateOf(), lease }], held);
    await reader.refresh();
    assert.equal(reader.of('r1')?.epoch, 3);
  });
});
