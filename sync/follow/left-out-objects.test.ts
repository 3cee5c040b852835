import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { fill, lists, pods, site, type, until } from './follow.fixture.ts';
import { LeftOutObjects } from './left-out-objects.ts';

const long = 'x'.repeat(600);
const example = `a/${'x'.repeat(58)}... (its name has 600 bytes, more than 512)`;

describe('a follower of objects that the store cannot keep', () => {
  it('goes on with all others, and names them until they are gone', async (t) => {
    const { member, store, start } = site(t);
    fill(member, 3);
    member.put(pods, { namespace: 'a', name: long });
    const follower = await start();
    const leftOut = () => follower.state().leftOut;
    await until(() => assert.deepEqual(leftOut(), { count: 1, example }));
    await until(() => assert.equal(member.watches, 1));
    assert.deepEqual([follower.state().objects, follower.isCurrent(), follower.state().fault], [3, false, undefined]);
    member.put(pods, { namespace: 'a', name: `${long}x` });
    member.put(pods, { namespace: 'a', name: 'later' });
    await until(() => assert.ok('a/later' in store.rows(type)));
    await until(() => assert.equal(leftOut()?.count, 2));
    member.remove(pods, { namespace: 'a', name: long });
    member.remove(pods, { namespace: 'a', name: `${long}x` });
    member.remove(pods, { namespace: 'a', name: 'p1' });
    await until(() => assert.equal(leftOut(), undefined));
    await until(() => assert.deepEqual(Object.keys(store.rows(type)), ['a/later', 'a/p0', 'a/p2']));
    assert.deepEqual([follower.state().objects, follower.isCurrent()], [3, true]);
  });

  it('learns of them again when it is started again, by a list, and lists no more once they are gone', async (t) => {
    const { member, store, start } = site(t);
    fill(member, 2);
    const first = await start();
    await until(() => assert.equal(member.watches, 1));
    member.put(pods, { namespace: 'a', name: long });
    const isMarked = async (): Promise<boolean> => /leavesOut/.test((await store.types())[0]?.position.resume ?? '');
    await until(async () => assert.ok(await isMarked()));
    await first.close();
    const before = lists(member).length;
    const second = await start();
    await until(() => assert.equal(second.state().leftOut?.count, 1));
    assert.equal(lists(member).length, before + 1);
    member.remove(pods, { namespace: 'a', name: long });
    await until(async () => assert.ok(!(await isMarked())));
    await second.close();
    const third = await start();
    await until(() => assert.equal(third.state().phase, 'watching'));
    assert.equal(lists(member).length, before + 1);
  });
});

it('a list forgets objects that it does not have', () => {
  const objects = new LeftOutObjects();
  const [a, b] = ['a', 'b'].map((name) => ({ namespace: '', name, reason: 'too long' }));
  assert.ok(objects.note({ upserts: [], deletes: [] }, [a!, b!]));
  assert.deepEqual(objects.state, { count: 2, example: 'a (too long)' });
  objects.beginList();
  assert.ok(!objects.note({ upserts: [], deletes: [] }, [b!]));
  assert.ok(objects.endList());
  assert.deepEqual(objects.state, { count: 1, example: 'b (too long)' });
  assert.ok(!objects.note({ upserts: [], deletes: [] }));
});

it('of ever new objects that cannot be kept a bounded number is counted', () => {
  const objects = new LeftOutObjects();
  const leftOut = Array.from({ length: 100_001 }, (_, i) => ({ namespace: '', name: `n${i}`, reason: 'too long' }));
  objects.note({ upserts: [], deletes: [] }, leftOut);
  assert.equal(objects.state?.count, 100_000);
  objects.note({ upserts: [], deletes: leftOut.slice(1) });
  assert.deepEqual(objects.state, { count: 1, example: 'n0 (too long)' });
});
