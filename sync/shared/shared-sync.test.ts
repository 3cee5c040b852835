import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexPeers, PeerMessage } from './peers.ts';
import { startSharedSync } from './shared-sync.ts';
import type { ClusterState, SyncHandle, TypeState } from '../member/sync-types.ts';

const type = {
  group: '',
  resource: 'pods',
  version: 'v1',
  versions: ['v1'],
  kind: 'Pod',
  namespaced: true,
  convertible: false,
  singular: 'pod',
  shortNames: [],
  categories: [],
};
const watching: TypeState = {
  type,
  isChosen: true,
  phase: 'watching',
  isWhole: true,
  objects: 1,
  rate: 0,
  lagMs: 0,
  confirmedAtMs: 1000,
  fault: undefined,
};

function stateOf(cluster: string, change: Partial<TypeState> = {}): ClusterState {
  const incarnation = { id: `${cluster}-uid/1`, cluster };
  return {
    cluster,
    uid: `${cluster}-uid`,
    incarnation,
    fault: undefined,
    types: [{ ...watching, ...change }],
    refused: [],
  };
}

/** Processes that hear one another at once. */
function peersOf(count: number): { readonly peers: readonly IndexPeers[]; readonly sent: PeerMessage[] } {
  const listeners = Array.from({ length: count }, () => new Set<(message: PeerMessage) => void>());
  const sent: PeerMessage[] = [];
  const peers = listeners.map((own) => ({
    send(message: PeerMessage) {
      sent.push(message);
      for (const other of listeners) if (other !== own) for (const listener of other) listener(message);
    },
    onMessage(listener: (message: PeerMessage) => void) {
      own.add(listener);
      return () => void own.delete(listener);
    },
    isEnding: () => false,
  }));
  return { peers, sent };
}

/** Follows as the test says. */
function followed(first: readonly ClusterState[]) {
  const listeners = new Set<() => void>();
  let states = first;
  const handle: SyncHandle = {
    state: () => states,
    stateOf: () => [],
    confirmedAtMs: () => 5000,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    rebuild: async () => false,
    close: async () => undefined,
  };
  const change = (next: readonly ClusterState[]): void => {
    states = next;
    for (const listener of listeners) listener();
  };
  return { handle, change };
}

const never = new Promise<void>(() => undefined);
const onBroken = (error: unknown): never => assert.fail(String(error));
const pods = new Set(['pods.']);

test('a process that does not follow says of the members what the one that follows says', async () => {
  const { peers } = peersOf(2);
  const own = followed([stateOf('m1'), stateOf('m2', { isWhole: false, phase: 'listing' })]);
  const one = await startSharedSync({
    peers: peers[0]!,
    writing: Promise.resolve(),
    start: async () => own.handle,
    onBroken,
  });
  const other = await startSharedSync({ peers: peers[1]!, writing: never, start: assert.fail as never, onBroken });
  assert.deepEqual(other.state(), one.state());
  const parts = other.stateOf(pods);
  assert.deepEqual(
    parts.map(({ cluster, types, hasTypes }) => [cluster, types.map(({ phase }) => phase), hasTypes]),
    [
      ['m1', [], true],
      ['m2', ['listing'], true],
    ],
  );
  assert.equal(other.confirmedAtMs('m1-uid/1', type), 1000);
  assert.equal(other.confirmedAtMs('m1-uid/2', type), undefined, 'another life of the member');
  await Promise.all([one.close(), other.close()]);
});

test('a change is told once, a cluster that is gone is gone everywhere', async () => {
  const { peers, sent } = peersOf(2);
  const own = followed([stateOf('m1'), stateOf('m2')]);
  const one = await startSharedSync({
    peers: peers[0]!,
    writing: Promise.resolve(),
    start: async () => own.handle,
    onBroken,
  });
  const other = await startSharedSync({ peers: peers[1]!, writing: never, start: assert.fail as never, onBroken });
  const changed = new Promise<void>((resolve) => other.onChange(resolve));
  own.change([stateOf('m2', { objects: 2 })]);
  await changed;
  assert.deepEqual(
    other.state().map(({ cluster, types }) => [cluster, types[0]!.objects]),
    [['m2', 2]],
  );
  const last = sent.at(-1)!;
  assert.ok(last.kind === 'states');
  assert.deepEqual([last.changed.map(({ cluster }) => cluster), last.uids], [['m2'], ['m2-uid']]);
  await Promise.all([one.close(), other.close()]);
});

test('a process that begins to write says what it follows itself, and tells the others', async () => {
  const { peers } = peersOf(2);
  const first = followed([stateOf('m1')]);
  const one = await startSharedSync({
    peers: peers[0]!,
    writing: Promise.resolve(),
    start: async () => first.handle,
    onBroken,
  });
  const turn = Promise.withResolvers<void>();
  const second = followed([stateOf('m1', { phase: 'waiting' })]);
  const other = await startSharedSync({
    peers: peers[1]!,
    writing: turn.promise,
    start: async () => second.handle,
    onBroken,
  });
  await one.close();
  const third = startSharedSync({ peers: peers[0]!, writing: never, start: assert.fail as never, onBroken });
  turn.resolve();
  assert.equal((await third).state()[0]!.types[0]!.phase, 'waiting');
  assert.equal(other.confirmedAtMs('m1-uid/1', type), 5000);
  await Promise.all([(await third).close(), other.close()]);
});

test('when all processes end, one that was told nothing yet waits no longer', async () => {
  const { peers } = peersOf(1);
  const ending = { ...peers[0]!, isEnding: () => true };
  const start = startSharedSync({ peers: ending, writing: never, start: assert.fail as never, onBroken });
  await assert.rejects(start, { code: 'INDEX_UNAVAILABLE' });
});

test('a process that cannot follow although it writes says that the index must start again', async () => {
  const { peers } = peersOf(1);
  const broken = Promise.withResolvers<unknown>();
  const start = (): Promise<SyncHandle> => Promise.reject(new Error('the store cannot be read'));
  const sync = startSharedSync({ peers: peers[0]!, writing: Promise.resolve(), start, onBroken: broken.resolve });
  await assert.rejects(sync, /cannot be read/);
  assert.match(String(await broken.promise), /cannot be read/);
});
