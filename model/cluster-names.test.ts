import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isLabel } from '../lib/objects/api-names.ts';
import { clusterName, clusterNames, conflictName } from './cluster-names.ts';

test('a context name becomes a DNS label a person recognises', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['prod', 'prod'],
    ['Prod', 'prod'],
    ['arn:aws:eks:eu-west-1:123456789012:cluster/prod', 'arn-aws-eks-eu-west-1-123456789012-cluster-prod'],
    ['gke_my-project_europe-west1_main', 'gke-my-project-europe-west1-main'],
    ['kubernetes-admin@kubernetes', 'kubernetes-admin-kubernetes'],
    ['a::b', 'a-b'],
    ['--a--', 'a'],
    ['a--b', 'a--b'],
    ['日本', ''],
    ['…', ''],
    ['', ''],
    [`${'a'.repeat(62)}-b`, 'a'.repeat(62)],
    ['x'.repeat(100), 'x'.repeat(63)],
  ];
  for (const [from, to] of cases) assert.equal(clusterName(from), to, from);
});

test('every name is empty or a DNS label, and naming it again changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (original) => {
      const name = clusterName(original);
      assert.match(name, /^$|^[a-z0-9]$|^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/);
      assert.equal(clusterName(name), name);
    }),
  );
});

test('a name that was changed has a second one, a DNS label that no other name has', () => {
  const anyName = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.constantFrom('Prod', 'PROD', '\u00e9', 'e\u0301'),
  );
  fc.assert(
    fc.property(anyName, anyName, (one, other) => {
      const { name, digestName } = clusterNames(one, isLabel);
      if (isLabel(one) || one.trim() === '') return assert.deepEqual([name, digestName], [one.trim(), undefined]);
      assert.equal(name, clusterName(one));
      assert.match(digestName!, /^[a-z0-9](?:[a-z0-9-]{0,50}[a-z0-9])?-[a-z0-9]{10}$/);
      if (one !== other) assert.notEqual(clusterNames(other, isLabel).digestName, digestName);
      assert.deepEqual(clusterNames(digestName!, isLabel), { name: digestName });
    }),
  );
  assert.match(clusterNames('生产', isLabel).digestName!, /^cluster-[a-z0-9]{10}$/);
  assert.notEqual(clusterNames('\ud800', isLabel).digestName, clusterNames('\ud801', isLabel).digestName);
});

test('a loser gets the first free number, and its stem makes room for it', () => {
  assert.equal(conflictName('prod', new Set(['prod'])), 'prod-conflict-2');
  assert.equal(conflictName('prod', new Set(['prod', 'prod-conflict-2'])), 'prod-conflict-3');
  assert.equal(conflictName('', new Set()), 'unnamed-conflict-2');
  const long = conflictName('x'.repeat(63), new Set());
  assert.equal(long.length, 63);
  assert.match(long, /x-conflict-2$/);
});
