import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { allIndexedPaths } from '../../store/indexed-paths.ts';
import { rowForm } from '../../store/row-form.ts';
import type { StoredType } from '../../store/store.ts';
import { makeFakeMember, type FakeMember } from '../fake-member.fixture.ts';
import { makeFakeStore, type FakeStore } from '../fake-store.fixture.ts';
import { makeSharedGate } from '../../lib/concurrency/gates.ts';
import { pods, timing, type, until } from '../follow/follow.fixture.ts';
import type { TypeInfo } from '../../query/types.ts';
import type { TypeFilter } from '../member/sync-types.ts';
import { makeTypeSet, type TypeSet } from './type-set.ts';

const incarnation = { id: 'r1/life-1', cluster: 'm1' };
const writer = { shard: 1, epoch: 1 };
const newerForm = rowForm + 1;

interface Begin {
  readonly otherFormMs?: number;
  readonly writer?: typeof writer | undefined;
  /** What is followed now; without it, all pods of the type as it is in the fixture. */
  readonly type?: TypeInfo;
  readonly filter?: TypeFilter;
}

interface Site {
  readonly member: FakeMember;
  readonly store: FakeStore;
  /** Follows pods, as a process that has just taken them over. */
  begin(more?: Begin): Promise<TypeSet>;
  /** The same; resolves when all is read. */
  follow(...more: Parameters<Site['begin']>): Promise<TypeSet>;
  stored(): Promise<StoredType>;
}

function site(t: TestContext): Site {
  const member = makeFakeMember({ [pods]: 'Pod' }, new Set([pods]));
  for (let i = 0; i < 4; i += 1) member.put(pods, { namespace: 'a', name: `p${i}` });
  const store = makeFakeStore();
  store.epochs.set(writer.shard, writer.epoch);
  const here: Site = {
    member,
    store,
    async begin({ otherFormMs = 60_000, type: followed = type, filter = {}, ...more } = {}) {
      const over = new AbortController();
      const chosen = [{ type: followed, isChosen: true, filter }];
      const set: TypeSet = makeTypeSet({
        incarnation,
        ask: member.ask,
        asks: { ask: member.ask },
        store,
        writer,
        lists: makeSharedGate(4).of('m1'),
        timing: { ...timing, otherFormMs },
        onObject: () => undefined,
        onState: () => undefined,
        onFenced: assert.ifError,
        onOutdated: () => void set.follow(chosen, () => false),
        verify: async () => undefined,
        random: () => 1,
        now: () => Date.now(),
        signal: over.signal,
        ...more,
      });
      t.after(async () => {
        over.abort();
        await set.close();
      });
      await set.follow(chosen, () => false);
      return set;
    },
    async follow(more) {
      const set = await here.begin(more);
      await until(() => assert.equal(set.of('pods.')?.isCurrent(), true));
      return set;
    },
    stored: async () => (await store.types())[0]!,
  };
  return here;
}

/** Stores the rows, and says of them that another form wrote them. */
async function storedAs(
  form: number,
  { follow, store, stored }: Site,
  from: { readonly resourceVersion?: string } = {},
  before: Partial<TypeInfo> = {},
): Promise<void> {
  const set = await follow();
  await set.close();
  const { type: info, position } = await stored();
  const [, ...rest] = JSON.parse(info.keptAs!) as readonly unknown[];
  const keptAs = JSON.stringify([form, ...rest]);
  await store.apply(
    { incarnation, type: { ...info, ...before, keptAs }, upserts: [], deletes: [], position: { ...position, ...from } },
    writer,
  );
}

async function formOf({ stored }: Site): Promise<unknown> {
  return (JSON.parse((await stored()).type.keptAs!) as readonly unknown[])[0];
}

function written({ store }: Site, after: number): readonly string[] {
  return store.batches.slice(after).flatMap(({ upserts }) => upserts.map(({ name }) => name));
}

describe('rows of programs of two forms in one store', () => {
  it('an older program follows on from the rows of a newer one and writes what changes', async (t) => {
    const here = site(t);
    await storedAs(newerForm, here);
    const before = here.store.batches.length;
    await here.follow();
    here.member.put(pods, { namespace: 'a', name: 'p1' });
    await until(() => assert.deepEqual(written(here, before), ['p1']));
    await until(async () => assert.equal(await formOf(here), -rowForm, 'a newer program reads them all again'));
  });

  it('an older program writes the rows in its own form when the newer one stays away', async (t) => {
    const here = site(t);
    await storedAs(newerForm, here);
    const before = here.store.batches.length;
    await here.follow({ otherFormMs: 5 });
    await until(() => assert.deepEqual(written(here, before).toSorted(), ['p0', 'p1', 'p2', 'p3']));
    await until(async () => assert.equal(await formOf(here), rowForm));
  });

  it('rows of an older form, and of several with an older one, are written again at once', async (t) => {
    for (const form of [rowForm - 1, 1 - rowForm]) {
      const here = site(t);
      await storedAs(form, here);
      const before = here.store.batches.length;
      await here.follow();
      await until(() => assert.deepEqual(written(here, before).toSorted(), ['p0', 'p1', 'p2', 'p3']));
      await until(async () => assert.equal(await formOf(here), rowForm));
    }
  });

  it('an older program leaves the rows that a newer one had written when it was killed in a list', async (t) => {
    for (const form of [-rowForm, -newerForm]) {
      const here = site(t);
      await storedAs(form, here, { resourceVersion: '' });
      here.member.put(pods, { namespace: 'a', name: 'p1' });
      const before = here.store.batches.length;
      await here.follow();
      await until(() => assert.deepEqual(written(here, before), ['p1']));
      await until(async () => assert.equal(await formOf(here), -rowForm));
    }
  });

  it('an older program writes such rows in its own form when the newer one stays away', async (t) => {
    const here = site(t);
    await storedAs(-rowForm, here, { resourceVersion: '' });
    const before = here.store.batches.length;
    await here.follow({ otherFormMs: 5 });
    await until(() => assert.deepEqual(written(here, before).toSorted(), ['p0', 'p1', 'p2', 'p3']));
    await until(async () => assert.equal(await formOf(here), rowForm));
  });

  it('rows of several filters, pruned fields or versions of the type are written again, whatever their form', async (t) => {
    const changes = [
      { filter: { namespaces: ['a'] } },
      { type: { ...type, pruned: ['spec'] } },
      // The stored one has another version.
      {},
    ];
    for (const change of changes) {
      const here = site(t);
      await storedAs(newerForm, here, {}, 'filter' in change || 'type' in change ? {} : { version: 'v1alpha1' });
      here.store.gate = async ({ upserts }) => {
        if (upserts.length > 0) throw new Error('crashed');
      };
      const set = await here.begin({ ...change });
      await until(async () => assert.equal(await formOf(here), -rowForm));
      await set.close();
      here.store.gate = async () => undefined;
      const before = here.store.batches.length;
      await here.follow({ ...change });
      assert.deepEqual(written(here, before).toSorted(), ['p0', 'p1', 'p2', 'p3'], JSON.stringify(change));
      assert.equal(await formOf(here), rowForm);
    }
  });

  it('while rows are written again, and after a crash meanwhile, they count as of the older form', async (t) => {
    const here = site(t);
    await storedAs(rowForm - 1, here);
    here.store.gate = async ({ upserts }) => {
      if (upserts.length > 0) throw new Error('crashed');
    };
    const set = await here.begin();
    await until(async () => assert.equal(await formOf(here), 1 - rowForm));
    await set.close();
    here.store.gate = async () => undefined;
    const before = here.store.batches.length;
    await here.follow();
    assert.deepEqual(written(here, before).toSorted(), ['p0', 'p1', 'p2', 'p3']);
    assert.equal(await formOf(here), rowForm);
  });

  it('a store of one process has no newer program to wait for', async (t) => {
    const here = site(t);
    await storedAs(newerForm, here);
    const before = here.store.batches.length;
    await here.follow({ writer: undefined });
    await until(() => assert.deepEqual(written(here, before).toSorted(), ['p0', 'p1', 'p2', 'p3']));
  });

  it('the number of the form rises when the indexed paths change', () => {
    const digest = createHash('sha256').update(JSON.stringify(allIndexedPaths())).digest('hex').slice(0, 8);
    const hint = 'indexed-paths.ts has changed: increase rowForm, and note the new digest here';
    assert.deepEqual([rowForm, digest], [1, 'd5a0eb62'], hint);
  });
});
