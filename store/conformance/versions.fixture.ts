// Conformance tests for resourceVersions: what answers say about the state they saw, and how versions of other stores
// are refused.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { allOf } from '../../query/list-query.ts';
import { indexVersionsOf } from '../index-version.ts';
import { newLife, pods, type Life } from './lives.fixture.ts';
import { typeInfo } from './model.fixture.ts';
import { TestedStore, type OpenStore } from './tested-store.fixture.ts';

export function testVersions(name: string, open: OpenStore): void {
  describe(`versions of ${name}`, () => {
    let tested: TestedStore;
    let life: Life;
    before(async () => {
      tested = await TestedStore.open(open);
    });
    beforeEach(async () => {
      life = await newLife(tested);
    });
    after(() => tested.remove());

    test('every answer says what it saw: the newest change, and the newest of a role or binding', async () => {
      const roles = typeInfo('rbac.authorization.k8s.io', 'roles');
      const saw = async () => {
        const some = await Promise.all([
          tested.store.readPoint(),
          tested.store.list(allOf(pods), life.scope, {}),
          // Names one object completely, which a store may answer with other code than a list of many.
          tested.store.list(
            { ...allOf(pods), clusters: ['one'], namespaces: ['default'], names: ['a'] },
            life.scope,
            {},
          ),
          tested.store.count(allOf(pods), life.scope),
          tested.store.facets(allOf(pods), life.scope, 'namespace', 9),
          tested.store.values(allOf(pods), life.scope, { label: 'app' }, '', 9),
        ]);
        const points = some.map(({ resourceVersion, rightsVersion }) => ({ resourceVersion, rightsVersion }));
        for (const point of points) assert.deepEqual(point, points[0]);
        assert.equal(points[0]!.resourceVersion, tested.store.resourceVersion());
        return points[0]!;
      };
      await tested.apply(life.batch([life.row('a', 1)]));
      const before = await saw();
      const granted = await tested.apply(life.batch([life.row('r', 1, { type: roles })], { type: roles }));
      assert.deepEqual(await saw(), {
        resourceVersion: granted.resourceVersion,
        rightsVersion: granted.resourceVersion,
      });
      assert.ok(before.rightsVersion < granted.resourceVersion);
      const unrelated = await tested.apply(life.batch([life.row('a', 2)]));
      await tested.apply(life.batch([life.row('r', 1, { type: roles })], { type: roles }));
      assert.deepEqual(await saw(), {
        resourceVersion: unrelated.resourceVersion,
        rightsVersion: granted.resourceVersion,
      });
      await tested.reopen();
      assert.equal((await saw()).rightsVersion, granted.resourceVersion);
      const revoked = await tested.forget(life.incarnation.id, roles);
      assert.deepEqual(await saw(), {
        resourceVersion: revoked.resourceVersion,
        rightsVersion: revoked.resourceVersion,
      });
    });

    test('the version of the catalog changes with types, what is known of them and their wholeness, not with rows', async () => {
      const versions = [await tested.store.catalogVersion()];
      const isOther = async (): Promise<boolean> => {
        versions.push(await tested.store.catalogVersion());
        return versions.at(-1) !== versions.at(-2);
      };
      const at = (resourceVersion: string) => ({ position: { resourceVersion, confirmedAtMs: 1 } });
      await tested.apply(life.batch([life.row('a', 1)]));
      assert.ok(await isOther(), 'a type');
      await tested.apply(life.batch([life.row('a', 2), life.row('elsewhere', 1, { namespace: 'new' })], at('')));
      assert.ok(!(await isOther()), 'rows');
      await tested.apply(life.batch([], at('7')));
      assert.ok(await isOther(), 'whole');
      await tested.apply(life.batch([life.row('b', 1)], at('8')));
      assert.ok(!(await isOther()), 'rows and their position');
      await tested.apply(life.batch([], { type: { ...pods, shortNames: ['po'] } }));
      assert.ok(await isOther(), 'another name of a type');
      await tested.apply(life.batch([], at('')));
      assert.ok(await isOther(), 'not whole any more');
      await tested.forget(life.incarnation.id);
      assert.ok(await isOther(), 'forgotten');
      assert.equal(new Set(versions).size, 6);
      await tested.forget(life.incarnation.id);
      assert.ok(!(await isOther()), 'nothing was there');
    });

    test('a resourceVersion of elsewhere is expired', async () => {
      const issued = tested.store.resourceVersion();
      const own = indexVersionsOf(tested.store.id);
      const atUs = own.read(issued)!;
      const theirs = indexVersionsOf(
        tested.store.id.startsWith('0') ? `f${tested.store.id.slice(1)}` : `0${tested.store.id.slice(1)}`,
      );
      const foreign = Array.from({ length: 100 }, (_, i) => theirs.make(atUs - i)).filter(
        (one) => !tested.store.canBeOwn(one),
      );
      assert.ok(foreign.length > 90, 'digits tell stores apart');
      for (const other of ['12345', '', ...foreign]) {
        assert.ok(!tested.store.canBeOwn(other) && !(await tested.store.isInLog(other)), other);
        await assert.rejects(tested.store.changes(other, ['pods.'], 10), { name: 'GatewayError', code: 'EXPIRED' });
      }
      // Matching check digits are not enough: nothing was committed at these times.
      await tested.apply(life.batch([life.row('later', 1)]));
      const laterUs = own.read(tested.store.resourceVersion())!;
      for (const guessed of [atUs + 1, laterUs + 1].filter((us) => us !== laterUs).map(own.make)) {
        assert.ok(tested.store.canBeOwn(guessed) && !(await tested.store.isInLog(guessed)));
        await assert.rejects(tested.store.changes(guessed, ['pods.'], 10), { name: 'GatewayError', code: 'EXPIRED' });
      }
      assert.ok(await tested.store.isInLog(issued));
      assert.equal((await tested.store.changes(issued, ['pods.'], 10)).length, 1);
    });

    test('a store keeps its name; another has another, and what the one has issued is expired there', async () => {
      const { id } = tested.store;
      const start = tested.store.resourceVersion();
      assert.ok(await tested.store.isInLog(start), 'there is always a version to go on from');
      const { resourceVersion } = await tested.apply(life.batch([life.row('a', 1)]));
      await tested.reopen();
      assert.equal(tested.store.id, id);
      assert.equal(tested.store.resourceVersion(), resourceVersion);
      assert.equal((await tested.store.changes(start, ['pods.'], 10)).length, 1);
      assert.ok(await tested.store.isInLog(resourceVersion));
      const other = await TestedStore.open(open);
      try {
        assert.notEqual(other.store.id, id);
        assert.ok(await other.store.isInLog(other.store.resourceVersion()), 'of an empty store, too');
        for (const version of [start, resourceVersion]) {
          assert.ok(!(await other.store.isInLog(version)));
          await assert.rejects(other.store.changes(version, ['pods.'], 10), { code: 'EXPIRED' });
        }
      } finally {
        await other.remove();
      }
    });
  });
}
