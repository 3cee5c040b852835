import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FencedError } from '../../store/fenced-error.ts';
import { IndexFullError } from '../../store/index-full.ts';
import { makeDocumentReader } from '../document/document.ts';
import type { Follower } from './follow.ts';
import { OtherIncarnation } from '../member/incarnation.ts';
import { fill, lists, memberVersions, pods, site, timing, type, until, versionsOf } from './follow.fixture.ts';

describe('a follower', () => {
  it('lists in pages, then applies every change', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 1200);
    const follower = await start();
    await agree();
    assert.equal(lists(member).length, 3);
    await until(() => assert.equal(follower.state().phase, 'watching'));
    member.put(pods, { namespace: 'a', name: 'p1', more: '"spec":{"n":1.0}' });
    member.put(pods, { namespace: 'b', name: 'new' });
    member.remove(pods, { namespace: 'a', name: 'p2' });
    await agree();
    assert.ok(store.rows(type)['a/p1']!.includes('"n":1.0'));
    const state = follower.state();
    assert.deepEqual([state.isWhole, state.objects, state.fault], [true, 1200, undefined]);
  });

  it('resumes from where it stopped: nothing is listed again, and what changed meanwhile comes', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 5);
    const first = await start();
    await agree();
    await first.close();
    member.put(pods, { namespace: 'a', name: 'p1' });
    member.remove(pods, { namespace: 'a', name: 'p3' });
    const before = [lists(member).length, store.written];
    const second = await start();
    await agree();
    assert.deepEqual([lists(member).length, store.written], [before[0], before[1]! + 1]);
    assert.equal(second.state().phase, 'watching');
  });

  it('rows and position are committed together: no position is ever ahead of the rows that lead to it', async (t) => {
    const { member, store, start, agree } = site(t, { objects: 2, bytes: 1 << 20, heldBytes: 1 << 20 });
    await start();
    await until(() => assert.equal(member.watches, 1));
    const listed = store.batches.length;
    for (let i = 0; i < 20; i += 1) member.put(pods, { namespace: 'a', name: `p${i}` });
    await agree();
    let newest = 0;
    for (const { upserts, position } of store.batches.slice(listed)) {
      for (const row of upserts) newest = Math.max(newest, Number(row.resourceVersion));
      if (upserts.length > 0) assert.equal(Number(position?.resourceVersion), newest);
    }
    assert.ok(newest > 0);
  });

  it('notices a member that went back to an older revision, though it refuses no watch', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 3);
    const old = member.save();
    fill(member, 6);
    const first = await start();
    await agree();
    await first.close();
    member.restore(old);
    await start();
    await agree();
    assert.equal(Object.keys(memberVersions(member)).length, 3);
  });

  it('notices a member that went back and has got further than before until it is asked', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 3);
    await start();
    await agree();
    await until(() => assert.equal(member.watches, 1));
    const old = member.save();
    member.put(pods, { namespace: 'a', name: 'lost' });
    member.put(pods, { namespace: 'a', name: 'p1' });
    await agree();
    member.restore(old);
    for (let i = 0; i < 5; i += 1) member.put(pods, { namespace: 'a', name: 'p2' });
    await agree();
    assert.equal(Object.keys(memberVersions(member)).length, 3);
  });

  it('notices a member that went back and has got further than before until another process follows it', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 3);
    const first = await start();
    await agree();
    await until(() => assert.equal(member.watches, 1));
    const old = member.save();
    member.put(pods, { namespace: 'a', name: 'lost' });
    await agree();
    await first.close();
    member.restore(old);
    for (let i = 0; i < 5; i += 1) member.put(pods, { namespace: 'a', name: 'p2' });
    await start();
    await agree();
    assert.equal(Object.keys(memberVersions(member)).length, 3);
  });

  it('lists nothing again where the object it saw last is still what it was, is forgotten, or was deleted since', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 3);
    await start();
    await agree();
    const resumed = async (): Promise<void> => {
      member.endWatches();
      const before = member.asked.length;
      await until(() => assert.ok(member.asked.slice(before).some((path) => path.includes('watch=true'))));
      await agree();
    };
    await until(() => assert.equal(member.watches, 1));
    member.put(pods, { namespace: 'a', name: 'p1' });
    await agree();
    const before = lists(member).length;
    await resumed();
    assert.ok(member.asked.some((path) => path.includes('/namespaces/a/pods?') && path.includes('Match=Exact')));
    member.remove(pods, { namespace: 'a', name: 'p1' });
    await resumed();
    member.put(pods, { namespace: 'a', name: 'p2' });
    await agree();
    member.fault = ({ path }) => (path.includes('Exact') ? 410 : undefined);
    await resumed();
    assert.equal(lists(member).length, before);
  });

  it('a resume that is too old becomes a list, which writes only what differs', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 10);
    const first = await start();
    await agree();
    await first.close();
    member.put(pods, { namespace: 'a', name: 'p1' });
    member.remove(pods, { namespace: 'a', name: 'p2' });
    member.put(pods, { namespace: 'a', name: 'p10' });
    member.forgetHistory();
    const before = store.written;
    const batches = store.batches.length;
    await start();
    await agree();
    assert.equal(store.written - before, 2);
    assert.equal(store.batches.slice(batches).flatMap(({ upserts }) => upserts).length, 2);
  });

  it('starts a list over when its pages are forgotten in the middle, and deletes nothing by half a list', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 900);
    const first = await start();
    await agree();
    await first.close();
    member.remove(pods, { namespace: 'a', name: 'p1' });
    member.forgetHistory();
    let failed = false;
    member.fault = ({ path }) => {
      if (!path.includes('continue=') || failed) return undefined;
      failed = true;
      return 410;
    };
    const batches = store.batches.length;
    await start();
    await agree();
    assert.ok(failed);
    assert.deepEqual(
      store.batches.slice(batches).flatMap(({ deletes }) => deletes),
      [{ namespace: 'a', name: 'p1' }],
    );
    assert.equal(store.batches.at(batches)!.position?.resourceVersion, '', 'a crash in the middle must list again');
  });

  it('a change that cannot be read leads to a new list, and shows as a fault', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 2);
    const shown: (string | undefined)[] = [];
    let follower: Follower | undefined;
    follower = await start({ onState: () => void shown.push(follower?.state().fault?.reason) });
    await until(() => assert.equal(follower?.state().phase, 'watching'));
    const before = lists(member).length;
    member.say(pods, '{"type":"ADDED","object":{"metadata":{"name":"x","namespace":"a"},"a":01}}');
    await until(() => assert.equal(lists(member).length, before + 1));
    await agree();
    assert.ok(shown.includes('Malformed'));
  });

  it('a member that asks for a moment is asked again without a fault; one that does so for long shows one', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 2);
    const isWatch = (path: string): boolean => path.includes('watch=true');
    let left = 4;
    // As of a kind that has just come: its cache is not filled yet.
    member.fault = ({ path }) => (isWatch(path) && left-- > 0 ? 429 : undefined);
    const shown: unknown[] = [];
    let follower: Follower | undefined;
    follower = await start({ onState: () => void shown.push(follower?.state().fault?.message) });
    await until(() => assert.equal(follower?.state().phase, 'watching'));
    assert.equal(member.asked.filter(isWatch).length, 5);
    assert.deepEqual(new Set(shown), new Set([undefined]));
    member.put(pods, { namespace: 'a', name: 'later' });
    await agree();
    await follower?.close();

    member.fault = () => 429;
    const other = await start({ timing: { ...timing, busyGraceMs: 20 } });
    await until(() => assert.match(other.state().fault?.message ?? '', /was answered with 429/));
    member.fault = () => undefined;
    await until(() => assert.equal(other.state().fault, undefined));
  });

  it('a watch that goes silent is given up after its time and resumed', async (t) => {
    const { member, start, agree } = site(t);
    fill(member, 2);
    let deaf = true;
    const follower = await start({
      timing: { ...timing, watchSecondsMin: 0, watchSecondsMax: 0, stallGraceMs: 10 },
      async ask(question) {
        const answer = await member.ask(question);
        if (!question.path.includes('watch=') || !deaf) return answer;
        deaf = false;
        answer.cancel();
        const { promise, reject } = Promise.withResolvers<never>();
        return {
          ...answer,
          chunks: { [Symbol.asyncIterator]: () => ({ next: () => promise }) },
          cancel: () => reject(new Error('cut')),
        };
      },
    });
    await until(() => assert.equal(deaf, false));
    member.put(pods, { namespace: 'a', name: 'late' });
    await agree();
    assert.equal(follower.state().isWhole, true);
  });

  it('reads no further than the store follows', async (t) => {
    const { member, store, start, agree } = site(t, { objects: 10, bytes: 1 << 20, heldBytes: 1 << 20 });
    fill(member, 400);
    let read = 0;
    const open = Promise.withResolvers<void>();
    store.gate = () => open.promise;
    const reader = makeDocumentReader({ cluster: 'm1', type, paths: [], redacts: false });
    await start({
      reader: {
        read(raw) {
          read += 1;
          return reader.read(raw);
        },
      },
    });
    await until(() => assert.ok(read >= 20));
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(read <= 30, `${read} objects were read while nothing could be written`);
    open.resolve();
    await agree();
  });

  it('keeps asking a store that refuses, and says so', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 3);
    let left = 3;
    store.gate = async () => {
      left -= 1;
      if (left >= 0) throw new Error('locked');
    };
    const faults: (string | undefined)[] = [];
    let follower: Follower | undefined;
    follower = await start({ onState: () => void faults.push(follower?.state().fault?.message) });
    await agree();
    assert.ok(faults.includes('locked'));
    assert.equal(follower.state().fault, undefined);
  });

  it('writes nothing after it was closed, though the store took longer than it waited', async (t) => {
    const { member, store, start } = site(t, { objects: 1, bytes: 1 << 20, heldBytes: 1 << 20 });
    fill(member, 3);
    const asked = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    let batches = 0;
    store.gate = async () => {
      batches += 1;
      asked.resolve();
      await open.promise;
    };
    const follower = await start();
    await asked.promise;
    await follower.close(1);
    open.resolve();
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    assert.equal(batches, 1, 'the one that was under way');
  });

  it('of a cluster that another process writes is not repeated, says so, and closes', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 2);
    store.epochs.set(7, 1);
    const fenced: unknown[] = [];
    const follower = await start({ writer: { shard: 7, epoch: 1 }, onFenced: (error) => void fenced.push(error) });
    await agree();
    await until(() => assert.equal(follower.state().phase, 'watching'));
    store.epochs.set(7, 2);
    let tries = 0;
    store.gate = async () => void (tries += 1);
    member.put(pods, { namespace: 'a', name: 'late' });
    await until(() => assert.ok(fenced[0] instanceof FencedError));
    await follower.close();
    assert.deepEqual([tries, fenced.length, versionsOf(store)['a/late']], [1, 1, undefined]);
  });

  it('a full store takes deletions only; nothing claims rows that were not taken, and all come when there is room', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 5);
    const follower = await start();
    await agree();
    await until(() => assert.equal(follower.state().phase, 'watching'));
    let isFull = true;
    store.gate = async ({ upserts }) => {
      if (isFull && upserts.length > 0) throw new IndexFullError('pods.');
    };
    member.put(pods, { namespace: 'a', name: 'too-much' });
    await until(() => assert.equal(follower.state().fault?.reason, 'Store'));
    member.remove(pods, { namespace: 'a', name: 'p0' });
    await until(() => assert.equal(versionsOf(store)['a/p0'], undefined));
    assert.equal(versionsOf(store)['a/too-much'], undefined);
    isFull = false;
    await agree();
  });

  it('rows that are kept in another form are all written again', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 4);
    const first = await start();
    await agree();
    await first.close();
    const batches = store.batches.length;
    await start({ type: { ...type, keptAs: 'form-2' } });
    await until(() => assert.equal(store.batches.slice(batches).flatMap(({ upserts }) => upserts).length, 4));
  });

  it('what discovery says of a type is kept with its rows as soon as it changes', async (t) => {
    const { member, store, start, agree } = site(t);
    fill(member, 1);
    const first = await start();
    await agree();
    await first.close();
    await start({ type: { ...type, shortNames: ['po'] } });
    await until(() => assert.deepEqual(store.batches.at(-1)!.type.shortNames, ['po']));
    assert.equal(lists(member).length, 1);
  });

  it('keeps what its filter names, and nothing else', async (t) => {
    const { member, store, start } = site(t);
    for (const namespace of ['a', 'b', 'c']) member.put(pods, { namespace, name: 'p' });
    await start({ filter: { namespaces: ['a', 'b'], labels: 'app in (web)' } });
    await until(() => assert.deepEqual(Object.keys(store.rows(type)), ['a/p', 'b/p']));
    assert.ok(member.asked.every((path) => path.includes('labelSelector=app+in+%28web%29')));
  });

  it('of another incarnation writes nothing', async (t) => {
    const { member, store, start } = site(t);
    fill(member, 2);
    const asked = Promise.withResolvers<void>();
    const follower = await start({
      async verify() {
        asked.resolve();
        throw new OtherIncarnation();
      },
    });
    await asked.promise;
    await follower.close(10);
    assert.deepEqual([store.batches, member.asked], [[], []]);
  });

  it('names what it may not do and how that is mended', async (t) => {
    const { member, start } = site(t);
    member.fault = () => 403;
    const follower = await start();
    await until(() => assert.match(follower.state().fault?.message ?? '', /portcullis:index.*member-access --index/));
    member.fault = () => undefined;
    await until(() => assert.equal(follower.state().phase, 'watching'));
  });
});
