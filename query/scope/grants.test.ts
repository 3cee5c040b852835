import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantAllows, grantDigest, intersectGrants, isCut, makeGrant, mostNames } from './grants.ts';
import type { Grant } from './scope.ts';

test('names that a namespace or the same name everywhere allows already are left out', () => {
  const grant = makeGrant(
    ['b', 'a', 'b'],
    [
      { namespace: 'a', name: 'x' },
      { namespace: undefined, name: 'y' },
      { namespace: 'c', name: 'y' },
      { namespace: 'c', name: 'z' },
      { namespace: 'c', name: 'z' },
    ],
  );
  assert.deepEqual(grant, {
    namespaces: ['a', 'b'],
    names: [
      { namespace: undefined, name: 'y' },
      { namespace: 'c', name: 'z' },
    ],
  });
});

test('what two grants have in common is what both allow, for every pair of small grants', () => {
  const names = [undefined, 'a', 'b'].flatMap((namespace) => ['x', 'y'].map((name) => ({ namespace, name })));
  const grants: Grant[] = ['all'];
  for (let bits = 0; bits < 256; bits += 13) {
    const namespaces = ['a', 'b'].filter((_, index) => (bits & (1 << index)) !== 0);
    grants.push(
      makeGrant(
        namespaces,
        names.filter((_, index) => (bits & (4 << index)) !== 0),
      ),
    );
  }
  for (const one of grants) {
    for (const other of grants) {
      const both = intersectGrants(one, other);
      for (const namespace of ['', 'a', 'b', 'c']) {
        for (const name of ['x', 'y', 'z']) {
          const expected = grantAllows(one, namespace, name) && grantAllows(other, namespace, name);
          const what = JSON.stringify([one, other, namespace, name]);
          assert.equal(grantAllows(both, namespace, name), expected, what);
        }
      }
    }
  }
});

test('names in all namespaces and thousands of namespaces have no more in common than can be kept (ATT-67)', () => {
  const texts = (count: number, from: string) => Array.from({ length: count }, (_, i) => `${from}${i}`);
  const names = makeGrant(
    [],
    texts(2_000, 'x').map((name) => ({ namespace: undefined, name })),
  );
  const places = makeGrant(texts(1_000, 'n'), []);
  const both = intersectGrants(names, places);
  assert.ok(both !== 'all' && isCut(both) && both.names.length <= 2 * mostNames);
  for (const { namespace, name } of both.names)
    assert.ok(grantAllows(names, namespace!, name) && grantAllows(places, namespace!, name));
  const few = intersectGrants(names, makeGrant(['a', 'b'], []));
  assert.ok(few !== 'all' && !isCut(few) && few.names.length === 4_000);
  assert.ok(isCut(intersectGrants(both, makeGrant(['a'], []))), 'what is missing once stays missing');
});

test('grants that differ only in where a name is have different digests, equal ones the same', () => {
  const grants = [
    makeGrant(['a'], []),
    makeGrant([], [{ namespace: 'a', name: 'x' }]),
    makeGrant([], [{ namespace: undefined, name: 'x' }]),
    makeGrant([], [{ namespace: '', name: 'x' }]),
    makeGrant(['a', 'x'], []),
    makeGrant(['a', 'x'], [], true),
    makeGrant([], [], true),
  ];
  assert.equal(new Set(grants.map(grantDigest)).size, grants.length);
  assert.equal(grantDigest(makeGrant(['x', 'a'], [])), grantDigest(makeGrant(['a', 'x', 'a'], [])));
});
