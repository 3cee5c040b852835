import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantAllows, grantDigest, intersectGrants, makeGrant } from './grants.ts';
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

test('grants that differ only in where a name is have different digests, equal ones the same', () => {
  const grants = [
    makeGrant(['a'], []),
    makeGrant([], [{ namespace: 'a', name: 'x' }]),
    makeGrant([], [{ namespace: undefined, name: 'x' }]),
    makeGrant([], [{ namespace: '', name: 'x' }]),
    makeGrant(['a', 'x'], []),
  ];
  assert.equal(new Set(grants.map(grantDigest)).size, grants.length);
  assert.equal(grantDigest(makeGrant(['x', 'a'], [])), grantDigest(makeGrant(['a', 'x', 'a'], [])));
});
