import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiffCollection } from './diff-collection.ts';
import { comparable, objectDiff } from './object-diff.ts';

const metadata = { name: 'a', resourceVersion: '1', generation: 1, uid: 'u', managedFields: [{ manager: 'x' }] };
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' } };

test('what every write changes, and what controllers write, is no difference', () => {
  const later = {
    ...configMap,
    metadata: {
      ...{ ...metadata, resourceVersion: '2', generation: 2, managedFields: [] },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"p":"swordfish"}}' },
    },
    status: { seen: true },
  };
  assert.equal(objectDiff('configmap/a', configMap, later), '');
  assert.equal(comparable(configMap), comparable(later));
  assert.notEqual(comparable(configMap), comparable({ ...configMap, data: { a: '2' } }));
});

test('a change of a number beyond 2^53 is a difference', () => {
  const [before, after] = [992n, 993n].map((end) => ({ ...configMap, id: 9007199254740000n + end }));
  assert.match(objectDiff('x/a', before, after), /^-id: 9007199254740992\n\+id: 9007199254740993$/m);
  assert.notEqual(comparable(before!), comparable(after!));
});

test('a difference is a unified diff that patch can read', () => {
  assert.equal(
    objectDiff('configmap/a', configMap, { ...configMap, data: { a: '2' } }),
    `--- live/configmap/a
+++ applied/configmap/a
@@ -2,5 +2,5 @@
 kind: ConfigMap
 metadata:
   name: a
 data:
-  a: "1"
+  a: "2"
`,
  );
});

test('values of a Secret are stars, marked where they differ', () => {
  const secret = (data: object): object => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data });
  const diff = objectDiff(
    'secret/s',
    { ...secret({ kept: 'a2VwdA==', changed: 'b2xk', gone: 'Z29uZQ==' }) },
    { ...secret({ kept: 'a2VwdA==', changed: 'bmV3', made: 'bWFkZQ==' }) },
  );
  assert.match(diff, /^ {3}kept: "\*\*\*"$/m);
  assert.match(diff, /^- {2}changed: "\*\*\* \(before\)"$/m);
  assert.match(diff, /^\+ {2}changed: "\*\*\* \(after\)"$/m);
  assert.match(diff, /^- {2}gone: "\*\*\*"$/m);
  assert.match(diff, /^\+ {2}made: "\*\*\*"$/m);
  assert.doesNotMatch(diff, /==|b2xk|bmV3/);
});

test('the same difference in several clusters is printed once, with their names', () => {
  const diffs = new DiffCollection();
  for (const cluster of ['west', 'east', 'north']) diffs.add(cluster, cluster === 'north' ? 'other\n' : 'same\n');
  diffs.add('south', '');
  assert.deepEqual([...diffs.print()], ['# east, west\nsame\n', '# north\nother\n']);
});
