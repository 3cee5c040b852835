import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { followedAnnotations, templatePatch } from './follow-template.ts';
import { readPediaClusterBody } from '../render/pedia-cluster-body.ts';

const body = (labels: string, spec: string) =>
  readPediaClusterBody(`metadata: { labels: {${labels}}, annotations: { note: "n" } }\nspec: {${spec}}`);

const pods = 'syncResources: [{ group: "", resources: [pods] }]';
const made = body('a: "1"', pods);

function cluster(labels: Record<string, string>, spec: object = made.spec): ApiObject {
  const annotations = { ...followedAnnotations(made), theirs: 'stays' };
  return { metadata: { name: 'c', uid: 'u', resourceVersion: '1', labels, annotations }, spec } as ApiObject;
}

test('what is as printed needs no patch, whatever others have added', () => {
  assert.equal(templatePatch(cluster({ a: '1', theirs: '2' }), made), undefined);
});

test('keys of the template come and go, those of others stay', () => {
  const after = body('b: "2"', pods);
  assert.deepEqual(templatePatch(cluster({ a: '1', theirs: '2' }), after), {
    metadata: {
      labels: { a: null, b: '2' },
      annotations: { 'import.portcullis.io/from-template': '{"labels":["b"],"annotations":["note"]}' },
    },
    spec: {},
  });
});

test('what is synced follows, and without a list the old one stays', () => {
  const spec = 'syncAllCustomResources: true, syncResources: [{ group: apps, resources: ["*"] }]';
  assert.deepEqual(templatePatch(cluster({ a: '1' }), body('a: "1"', spec))?.spec, {
    syncAllCustomResources: true,
    syncResources: [{ group: 'apps', resources: ['*'] }],
  });
  const referring = cluster({ a: '1' }, { ...made.spec, syncResourcesRefName: 'x' });
  assert.deepEqual(templatePatch(referring, body('a: "1"', ''))?.spec, { syncResourcesRefName: null });
});

test('a PediaCluster from before the policy asked for it loses nothing', () => {
  const before = cluster({ a: '1', old: '1' });
  const { annotations: _none, ...metadata } = before.metadata;
  assert.deepEqual(templatePatch({ ...before, metadata }, made)?.metadata, {
    labels: {},
    annotations: followedAnnotations(made),
  });
});
