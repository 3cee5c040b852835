import { textAt } from '../../lib/objects/json-object.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifestsIn } from './bundle.ts';

test('the manifests of a bundle are applied namespaces and definitions first, whatever key they are in', () => {
  const data = {
    'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n---\n---\n',
    'b.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n',
  };
  assert.deepEqual(
    manifestsIn({ data }).map((each) => textAt(each, 'kind')),
    ['Namespace', 'ConfigMap'],
  );
  assert.deepEqual(manifestsIn({}), []);
});

test('a bundle that is no YAML, or holds no objects, is refused without a quote of it', () => {
  for (const text of [
    'a: [SECRET',
    'SECRET',
    'kind: SECRET',
    '- SECRET',
    '{apiVersion: v1, kind: Secret, metadata: {name: n}, data: {a: SECRET}}',
  ])
    assert.throws(
      () => manifestsIn({ data: { key: text } }),
      (error: unknown) =>
        error instanceof Error && /data\["key"\]/.test(error.message) && !/SECRET/.test(error.message),
    );
});
