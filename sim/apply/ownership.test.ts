import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadKubernetesSpec } from '../schema/spec.ts';
import { skeleton } from '../schema/skeleton.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { decodeFields, difference, encodeFields, intersection, isEmpty, pathTexts, union } from './field-set.ts';
import { decodeManagers, encodeManagers, type Manager } from './managers.ts';
import { applyConfig, recordUpdate, type Write } from './ownership.ts';

const { schemas, messages } = loadKubernetesSpec();
const write = (manager: string): Write => ({
  schemas,
  schema: schemas['io.k8s.api.apps.v1.Deployment'],
  manager,
  apiVersion: 'apps/v1',
  subresource: '',
  time: '2026-01-01T00:00:00Z',
  empty: skeleton(messages, 'k8s.io.api.apps.v1.Deployment'),
  resets: 'status',
});

const container = (name: string, more: JsonObject = {}): JsonObject => ({ name, image: `${name}:1`, ...more });
const deployment = (spec: JsonObject, labels?: JsonObject): KubeObject =>
  ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', ...(labels && { labels }) },
    spec,
  }) as unknown as KubeObject;
const withContainers = (...containers: JsonObject[]): JsonObject => ({ template: { spec: { containers } } });

/** A sequence of applies and updates, starting from nothing. */
function story() {
  let live = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' } } as unknown as KubeObject;
  let managers = new Map<string, Manager>();
  return {
    apply(manager: string, config: KubeObject, force = false): void {
      const result = applyConfig(write(manager), new Map(managers), live, config, force);
      live = result.object;
      managers = result.managers;
    },
    update(manager: string, next: KubeObject): void {
      managers = recordUpdate(write(manager), managers, live, next);
      live = next;
    },
    /** A change nobody is recorded for. */
    set(next: KubeObject): void {
      live = next;
    },
    get spec(): any {
      return live['spec'];
    },
    owned(manager: string): string[] {
      return [...managers.values()]
        .filter((entry) => entry.manager === manager)
        .flatMap((entry) => pathTexts(entry.fields));
    },
  };
}

test('an applier owns exactly what it says', () => {
  const s = story();
  s.apply(
    'a',
    deployment({ replicas: 2, ...withContainers(container('c', { env: [{ name: 'E', value: '1' }] })) }, { app: 'x' }),
  );
  assert.deepEqual(s.owned('a'), [
    '.metadata.labels.app',
    '.spec.replicas',
    '.spec.template.spec.containers[name="c"]',
    '.spec.template.spec.containers[name="c"].env[name="E"]',
    '.spec.template.spec.containers[name="c"].env[name="E"].name',
    '.spec.template.spec.containers[name="c"].env[name="E"].value',
    '.spec.template.spec.containers[name="c"].image',
    '.spec.template.spec.containers[name="c"].name',
  ]);
});

test('a field left out of the next apply is removed', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2, paused: true }));
  s.apply('a', deployment({ replicas: 2 }));
  assert.deepEqual(s.spec, { replicas: 2 });
});

test('a field left out stays when another manager owns it too', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2, paused: true }));
  s.apply('b', deployment({ paused: true }));
  s.apply('a', deployment({ replicas: 2 }));
  assert.deepEqual(s.spec, { replicas: 2, paused: true });
});

test('a list item left out is removed with what nobody owns in it', () => {
  const s = story();
  s.apply('a', deployment(withContainers(container('c'), container('d'))));
  s.set(deployment(withContainers(container('c'), container('d', { imagePullPolicy: 'Always' }))));
  s.apply('a', deployment(withContainers(container('c'))));
  assert.deepEqual(s.spec.template.spec.containers, [container('c')]);
});

test('changing what another owns is a conflict that names it', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2 }));
  assert.throws(() => s.apply('b', deployment({ replicas: 3 })), {
    code: 409,
    reason: 'Conflict',
    message: 'Apply failed with 1 conflict: conflict with "a": .spec.replicas',
    details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "a"', field: '.spec.replicas' }] },
  });
});

test('the same value is no conflict but shared ownership', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2 }));
  s.apply('b', deployment({ replicas: 2 }));
  assert.deepEqual([s.owned('a'), s.owned('b')], [['.spec.replicas'], ['.spec.replicas']]);
});

test('force takes the field away from the other', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2, paused: true }));
  s.apply('b', deployment({ replicas: 3 }), true);
  assert.equal(s.spec.replicas, 3);
  assert.deepEqual([s.owned('a'), s.owned('b')], [['.spec.paused'], ['.spec.replicas']]);
});

test('an update takes what it changes and an apply then conflicts with it', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2, paused: true }));
  s.update('scaler', deployment({ replicas: 5, paused: true }));
  assert.deepEqual(s.owned('scaler'), ['.spec.replicas']);
  assert.throws(() => s.apply('a', deployment({ replicas: 2, paused: true })), {
    message: 'Apply failed with 1 conflict: conflict with "scaler" using apps/v1: .spec.replicas',
  });
});

test('several conflicts are listed by manager', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2 }));
  s.apply('b', deployment({ paused: true }));
  assert.throws(() => s.apply('c', deployment({ replicas: 1, paused: false })), {
    message:
      'Apply failed with 2 conflicts: conflicts with "a":\n- .spec.replicas\nconflicts with "b":\n- .spec.paused',
  });
});

test('an apply that changes nothing but what it owns is recorded anew', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2, paused: true }));
  s.apply('b', deployment({ replicas: 2, paused: true }));
  s.apply('b', deployment({ replicas: 2 }));
  assert.deepEqual(s.spec, { replicas: 2, paused: true });
  assert.deepEqual([s.owned('a'), s.owned('b')], [['.spec.paused', '.spec.replicas'], ['.spec.replicas']]);
});

test('a removed field leaves every owner', () => {
  const s = story();
  s.apply('a', deployment({ replicas: 2, paused: true }));
  s.update('u', deployment({ replicas: 2 }));
  assert.deepEqual(s.owned('a'), ['.spec.replicas']);
});

test('a selector changes owner as a whole', () => {
  const s = story();
  s.apply('a', deployment({ selector: { matchLabels: { a: '1' } } }));
  assert.deepEqual(s.owned('a'), ['.spec.selector']);
});

test('ports are told apart by number and protocol, the protocol by its default', () => {
  const s = story();
  s.apply('a', deployment(withContainers(container('c', { ports: [{ containerPort: 80 }] }))));
  assert.ok(s.owned('a').includes('.spec.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]'));
});

test('status and identity are never owned through the main resource', () => {
  const s = story();
  s.apply('a', { ...deployment({ replicas: 1 }), status: { replicas: 9 } } as KubeObject);
  assert.deepEqual(s.owned('a'), ['.spec.replicas']);
});

test('managedFields read back as they were written', () => {
  const list = [
    {
      apiVersion: 'apps/v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:a': {}, 'f:b': { '.': {}, 'k:{"name":"x"}': { '.': {}, 'f:c': {} } } } },
      manager: 'm',
      operation: 'Apply',
    },
    {
      apiVersion: 'apps/v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:status': {} },
      manager: 'm',
      operation: 'Update',
      subresource: 'status',
      time: '2026-01-01T00:00:00Z',
    },
  ];
  assert.deepEqual(encodeManagers(decodeManagers(list)?.values() ?? []), list);
  assert.equal(decodeManagers([{ operation: 'Nonsense', apiVersion: 'v1' }]), undefined);
});

test('more than ten updaters are joined into ancient-changes', () => {
  const s = story();
  for (let i = 0; i < 14; i++)
    s.update(
      `m${String(i).padStart(2, '0')}`,
      deployment({ replicas: 1 }, Object.fromEntries(Array.from({ length: i + 1 }, (_, n) => [`l${n}`, 'x']))),
    );
  assert.equal(s.owned('m00').length, 0);
  assert.ok(s.owned('ancient-changes').length >= 4);
  assert.ok(s.owned('m13').length > 0);
});

test('sets obey the algebra', () => {
  const a = decodeFields({ 'f:x': { 'f:y': {}, 'f:z': {} }, 'f:w': {} });
  const b = decodeFields({ 'f:x': { 'f:y': {} }, 'f:v': {} });
  assert.deepEqual(encodeFields(union(a, b)), { 'f:v': {}, 'f:w': {}, 'f:x': { 'f:y': {}, 'f:z': {} } });
  assert.deepEqual(encodeFields(intersection(a, b)), { 'f:x': { 'f:y': {} } });
  assert.deepEqual(encodeFields(difference(a, b)), { 'f:w': {}, 'f:x': { 'f:z': {} } });
  assert.equal(isEmpty(difference(a, a)), true);
});
