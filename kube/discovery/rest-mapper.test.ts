import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnusableName } from '../paths.ts';
import { makeRestMapper } from './rest-mapper.ts';

const entry = (name: string, kind: string) => ({ name, kind, singularName: kind.toLowerCase(), namespaced: true });

/** A server with the documents of these paths, which counts how often each is read. */
function serverOf(documents: Record<string, object>) {
  const reads = new Map<string, number>();
  const mapper = makeRestMapper((path) => {
    reads.set(path, (reads.get(path) ?? 0) + 1);
    return Promise.resolve(documents[path] as Readonly<Record<string, unknown>> | undefined);
  });
  return { documents, mapper, reads };
}

test('a kind of a CustomResourceDefinition that came later is found, and a known one is not asked for again', async (t) => {
  const path = '/apis/example.com/v1';
  const { documents, mapper, reads } = serverOf({ [path]: { resources: [entry('widgets', 'Widget')] } });
  assert.equal((await mapper.find('example.com', 'v1', 'Widget'))?.resource, 'widgets');
  assert.equal((await mapper.findResource('example.com', 'v1', 'widgets'))?.kind, 'Widget');
  assert.equal(reads.get(path), 1);
  const now = performance.now();
  t.mock.method(performance, 'now', () => now + 2_000);
  documents[path] = { resources: [entry('widgets', 'Widget'), entry('gadgets', 'Gadget')] };
  assert.equal((await mapper.find('example.com', 'v1', 'Gadget'))?.resource, 'gadgets');
  assert.equal(reads.get(path), 2);
  assert.equal((await mapper.find('example.com', 'v1', 'Widget'))?.resource, 'widgets');
  assert.equal(reads.get(path), 2);
});

test('a subresource is no kind of its own, and what the server does not have is not found', async () => {
  const { mapper } = serverOf({ '/apis/apps/v1': { resources: [entry('deployments/scale', 'Scale')] } });
  assert.equal(await mapper.find('apps', 'v1', 'Scale'), undefined);
  assert.equal(await mapper.find('apps', 'v2', 'Deployment'), undefined);
  assert.deepEqual(await mapper.versionsOf('none.example', 'things'), []);
});

test('nothing is asked for a group or a version that none can have', async () => {
  const { mapper, reads } = serverOf({});
  await assert.rejects(mapper.find('apps', 'v1/namespaces/kube-system', 'Deployment'), UnusableName);
  await assert.rejects(mapper.find('../api', 'v1', 'Secret'), UnusableName);
  assert.deepEqual(await mapper.versionsOf('../api', 'secrets'), []);
  assert.equal(reads.size, 0);
});

test('a reading that failed is not remembered', async () => {
  let isDown = true;
  const mapper = makeRestMapper(() =>
    isDown ? Promise.reject(new Error('down')) : Promise.resolve({ resources: [entry('pods', 'Pod')] }),
  );
  await assert.rejects(mapper.find('', 'v1', 'Pod'), /down/);
  isDown = false;
  assert.equal((await mapper.find('', 'v1', 'Pod'))?.resource, 'pods');
});
