// For tests: copies one type from a fake cluster into a fake store, by list and watch. Waits are short, so the number
// of requests varies, and tests must not count them.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { TypeInfo } from '../../query/types.ts';
import type { BatchLimits } from './batch.ts';
import { makeByteBudget, makeGate } from '../../lib/concurrency/gates.ts';
import { makeDocumentReader } from '../document/document.ts';
import { makeFakeMember, type FakeMember } from '../fake-member.fixture.ts';
import { makeFakeStore, type FakeStore } from '../fake-store.fixture.ts';
import { startFollower, type Follower } from './follow.ts';
import type { FollowOptions } from './following.ts';
import { defaultSyncTiming } from '../member/sync-types.ts';

export const pods = '/api/v1/pods';
const incarnation = { id: 'r1/life-1', cluster: 'm1' };
export const type: TypeInfo = {
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
  keptAs: 'form-1',
};
export const timing = {
  ...defaultSyncTiming,
  firstBackoffMs: 1,
  maxBackoffMs: 2,
  batchWaitMs: 1,
  positionEveryMs: 1,
  fullRetryMs: 1,
};

interface Site {
  readonly member: FakeMember;
  readonly store: FakeStore;
  start(more?: Partial<FollowOptions>): Promise<Follower>;
  /** Resolves when the rows in the index store equal the objects of the member cluster. */
  agree(): Promise<void>;
}

export function site(t: TestContext, limits?: BatchLimits): Site {
  const member = makeFakeMember({ [pods]: 'Pod' }, new Set([pods]));
  const store = makeFakeStore();
  return {
    member,
    store,
    async start(more = {}) {
      const [stored] = await store.types();
      const follower = startFollower({
        incarnation,
        type,
        isChosen: true,
        filter: {},
        stored,
        isAtomic: false,
        reader: makeDocumentReader({ cluster: 'm1', type, paths: [], redacts: false }),
        ask: member.ask,
        store,
        lists: makeGate(1),
        budget: makeByteBudget(1024 * 1024),
        verify: async () => undefined,
        onState: () => undefined,
        onFenced: assert.ifError,
        timing,
        limits,
        random: () => 0.5,
        now: Date.now,
        ...more,
      });
      t.after(() => follower.close(10));
      return follower;
    },
    agree: () => until(() => assert.deepEqual(versionsOf(store), memberVersions(member))),
  };
}

/** Repeats `check` until it does not throw. After five seconds it rejects with the last error. */
export async function until(check: () => void | Promise<void>): Promise<void> {
  const endMs = performance.now() + 5_000;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

const versionIn = (text: string): string => /"resourceVersion":"(\d+)"/.exec(text)![1]!;

export function versionsOf(store: FakeStore): Record<string, string> {
  return Object.fromEntries(Object.entries(store.rows(type)).map(([key, text]) => [key, versionIn(text)]));
}

export function memberVersions(member: FakeMember): Record<string, string> {
  const [, collections] = JSON.parse(member.save()) as [number, [string, [string, string][]][]];
  const of = new Map(collections).get(pods) ?? [];
  return Object.fromEntries(of.map(([key, text]) => [key, versionIn(text)] as const).sort());
}

export function fill(member: FakeMember, count: number): void {
  for (let i = 0; i < count; i += 1) member.put(pods, { namespace: 'a', name: `p${i}` });
}

export const lists = (member: FakeMember): readonly string[] =>
  member.asked.filter(
    (path) =>
      path.startsWith(`${pods}?`) &&
      !path.includes('watch=') &&
      !path.includes('limit=1&') &&
      !path.endsWith('limit=1'),
  );
