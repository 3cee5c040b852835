// Conformance tests for objects that a store cannot keep.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';

import { allOf } from '../../query/list-query.ts';
import { newLife, pods, type Life } from './lives.fixture.ts';
import { typeInfo } from './model.fixture.ts';
import { rowsOf, TestedStore, type OpenStore } from './tested-store.fixture.ts';

const roles = typeInfo('rbac.authorization.k8s.io', 'roles');

/** A text that a database cannot make shorter by compression. */
function longText(length: number): string {
  let text = '';
  while (text.length < length) text += hash('sha256', text);
  return text.slice(0, length);
}

export function testLeftOut(name: string, open: OpenStore): void {
  describe(`what ${name} cannot keep`, () => {
    let tested: TestedStore;
    let life: Life;
    before(async () => {
      tested = await TestedStore.open(open);
    });
    beforeEach(async () => {
      life = await newLife(tested);
    });
    after(() => tested.remove());
    const names = async () =>
      (await rowsOf(await tested.store.list(allOf(pods), life.scope, {}))).map((row) => row.name);

    test('an object whose name is too long is left out and named, and all others of its batch are written', async () => {
      const long = [600, 5000].map(longText);
      const rows = ['a', ...long, 'b'].map((each) => life.row(each, 1));
      const made = await tested.apply(life.batch(rows, { position: { resourceVersion: '9', confirmedAtMs: 1 } }));
      assert.equal(made.written, 2);
      assert.deepEqual(
        made.leftOut?.map(({ name: of, reason }) => [of, reason]),
        long.map((of) => [of, `its name has ${of.length} bytes, more than 512`]),
      );
      assert.deepEqual(await names(), ['a', 'b']);
      const [stored] = await tested.store.types(life.incarnation.id);
      assert.deepEqual([stored?.position.resourceVersion, stored?.objects], ['9', 2]);
      const deletes = long.map((each) => ({ namespace: 'default', name: each }));
      const gone = await tested.apply(life.batch([life.row('c', 1)], { deletes }));
      assert.deepEqual([gone.written, gone.deleted, gone.leftOut], [1, 0, undefined]);
      assert.deepEqual(await names(), ['a', 'b', 'c']);
    });

    test('an object that was kept and cannot be kept any more is deleted, and comes back when it can', async () => {
      const owned = (version: number, length: number) => life.row('a', version, { ownerUid: 'o'.repeat(length) });
      await tested.apply(life.batch([owned(1, 36), life.row('b', 1)]));
      const before = tested.store.resourceVersion();
      const made = await tested.apply(life.batch([owned(2, 3000), life.row('b', 2)]));
      assert.deepEqual([made.written, made.deleted, made.leftOut?.length], [1, 1, 1]);
      assert.deepEqual(await names(), ['b']);
      const entries = await tested.store.changes(before, ['pods.'], 10);
      assert.deepEqual(
        entries.map((entry) => [entry.name, entry.after === undefined]).sort(),
        [
          ['a', true],
          ['b', false],
        ],
        'a watch sees that it is gone',
      );
      await tested.apply(life.batch([owned(3, 36)]));
      assert.deepEqual(await names(), ['a', 'b']);
    });

    test('a role that cannot be kept any more counts as a change of rights', async () => {
      const role = (version: number, uid: string) =>
        life.batch([life.row('r', version, { type: roles, uid })], { type: roles });
      const granted = await tested.apply(role(1, 'u'));
      const revoked = await tested.apply(role(2, 'u'.repeat(600)));
      assert.equal(revoked.deleted, 1);
      assert.ok(revoked.resourceVersion > granted.resourceVersion);
      assert.equal((await tested.store.readPoint()).rightsVersion, revoked.resourceVersion);
    });

    test('texts with NUL, long labels and very long values are kept', async () => {
      const value = `\0${'v'.repeat(100_000)}`;
      const odd = life.row('n\0ul', 1, {
        ownerUid: '\0',
        labels: { [`\0${'k'.repeat(5000)}`]: value },
        rest: { value },
      });
      const made = await tested.apply(life.batch([odd]));
      assert.deepEqual([made.written, made.leftOut], [1, undefined]);
      assert.deepEqual(await names(), ['n\0ul']);
    });

    test('an object with a resourceVersion that no API server makes is left out', async () => {
      const odd = ['1\0', '7'.repeat(10_000), '\ud800'];
      const rows = odd.map((resourceVersion, i) => life.row(`odd-${i}`, 1, { resourceVersion }));
      const made = await tested.apply(life.batch([...rows, life.row('a', 1)]));
      assert.deepEqual([made.written, made.leftOut?.length], [1, 3]);
      assert.deepEqual(await names(), ['a']);
    });

    test('names that differ only in lone surrogates do not become one key', async () => {
      const rows = ['a\ud800', 'a\udfff', 'b'].map((each) => life.row(each, 1));
      const made = await tested.apply(life.batch(rows));
      assert.equal(made.leftOut?.length, 2);
      assert.deepEqual(await names(), ['b']);
    });
  });
}
