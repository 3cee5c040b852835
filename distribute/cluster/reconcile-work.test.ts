import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { readHistory } from '../../lib/work-history.ts';
import { modifierAnnotation } from '../stamp/stamp-policy.ts';
import { readWork } from '../work/work.ts';
import { HubRefusal, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import { makeRuleEvaluator } from '../feedback/rule-evaluator.ts';
import { FakeMember, fakeAppliedWorks } from '../member/fake-member.fixture.ts';
import { workFinalizer } from '../work/manifest-work.ts';
import { KnownObjects } from './known-objects.ts';
import type { WorkSettings } from './settings.ts';
import { reconcileWork } from './reconcile-work.ts';

type Json = Record<string, any>;

const evaluator = makeRuleEvaluator();
after(() => evaluator.close());

const place = '/api/v1/namespaces/ns/configmaps';
const configMap = (name: unknown, further: Json = {}): Json => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  ...further,
  metadata: { name, namespace: 'ns', ...further['metadata'] },
});
const feedback = (resource: string): Json => ({
  resourceIdentifier: { group: '', resource, namespace: '*', name: '*' },
  feedbackRules: [{ type: 'JSONPaths', jsonPaths: [{ name: 'v', path: '.data.v' }] }],
});
const work = (manifests: readonly unknown[], further: Json = {}): ApiObject => ({
  metadata: {
    ...{ name: 'w', namespace: 'm1', uid: 'u', resourceVersion: '1', generation: 1, finalizers: [workFinalizer] },
  } as ApiObject['metadata'],
  spec: { workload: { manifests }, ...further['spec'] },
  ...(further['status'] && { status: further['status'] }),
});

/** A cluster in which works are handled, with what its status becomes. */
function startCluster(appliedResources: readonly Json[] = [], further: Partial<WorkSettings> = {}) {
  const member = new FakeMember();
  const known = new KnownObjects();
  const applied = { metadata: { name: 'hub-w', uid: 'r', resourceVersion: '1' }, status: { appliedResources } };
  const appliedWorks = fakeAppliedWorks(applied);
  let status: Json = {};
  let refuse: (status: Json) => Error | undefined = () => undefined;
  const removed: string[] = [];
  const annotated: Record<string, string>[] = [];
  const writer = {
    patch: (_type: unknown, object: ApiObject, patch: Json) => {
      const annotations = patch['metadata']?.annotations;
      if (annotations === undefined) return Promise.resolve(object);
      annotated.push(annotations);
      return Promise.resolve({ ...object, metadata: { ...object.metadata, annotations } });
    },
    patchStatus: (_type: unknown, object: ApiObject, written: Json) => {
      const refused = refuse(written);
      if (refused !== undefined) return Promise.reject(refused);
      status = written;
      return Promise.resolve(object);
    },
    remove: (_type: unknown, { metadata }: ApiObject) => Promise.resolve(void removed.push(metadata.name)),
  } as unknown as ObjectWriter;
  const settings = {
    ...{ hubHash: 'hub', agentId: 'us', defaultExecutor: { namespace: 'agent', name: 'sa' }, holdOnDenied: false },
    ...{ authors: undefined, mayExecuteAs: () => Promise.resolve(true), writer, ruleEvaluator: evaluator },
    ...{ rawJson: true, historyLimit: 0, evictionGraceMs: 0, work: () => undefined },
    ...further,
  } as unknown as WorkSettings;
  const parts = {
    ...{ settings, session: member.session(), appliedWorks, known },
    log: { warn: () => undefined },
  };
  return {
    ...{ member, removed, annotated, appliedWorks },
    status: () => status,
    refuseStatus: (by: typeof refuse): void => void (refuse = by),
    entries: (): Json[] => status['resourceStatus'].manifests,
    messages: (): string[] =>
      status['resourceStatus'].manifests.map(
        ({ conditions }: Json) => conditions.find(({ type }: Json) => type === 'Applied')?.message ?? '',
      ),
    pass: (given: ApiObject) => reconcileWork(parts, readWork(given)),
  };
}

const strategies = ['Update', 'CreateOnly', 'ServerSideApply', 'ReadOnly'];

test('a manifest that names no object leads to no request by any strategy, and its condition says why (ATT-61)', async () => {
  const nameless: readonly (readonly [string, unknown, RegExp])[] = [
    ['absent', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'ns' } }, /metadata.name is missing/],
    ['no metadata', { apiVersion: 'v1', kind: 'Namespace' }, /metadata.name is missing/],
    ['empty', configMap(''), /metadata.name is missing/],
    ['null', configMap(null), /metadata.name is missing/],
    ['a number', configMap(5), /metadata.name is missing/],
    ['generated', configMap(undefined, { metadata: { generateName: 'a-' } }), /generateName is not supported/],
    ['a path', configMap('../../../secrets/x'), /metadata.name cannot be/],
    ['dots', configMap('..'), /metadata.name cannot be/],
    ['a namespace that is a path', configMap('a', { metadata: { namespace: 'ns/secrets' } }), /metadata.namespace/],
    ['a version that is a path', configMap('a', { apiVersion: 'v1/namespaces/ns/secrets' }), /apiVersion must be/],
    ['no version', configMap('a', { apiVersion: '' }), /apiVersion must be/],
    ['no kind', configMap('a', { kind: null }), /kind must be/],
    ['a list', configMap('a', { kind: 'ConfigMapList', items: [configMap('b')] }), /resource type "ConfigMapList"/],
    ['a list of anything', { apiVersion: 'v1', kind: 'List', items: [configMap('b')] }, /metadata.name is missing/],
    ['no object', 'text', /is no object/],
    ['null for a manifest', null, /is no object/],
  ];
  for (const type of strategies) {
    const cluster = startCluster();
    const configs = ['configmaps', 'namespaces', ''].map((each) => ({ ...feedback(each), updateStrategy: { type } }));
    const manifests = nameless.map(([, manifest]) => manifest);
    await cluster.pass(work(manifests, { spec: { manifestConfigs: configs } }));
    assert.deepEqual(cluster.member.requests, [], type);
    for (const [at, [what, , words]] of nameless.entries())
      assert.match(cluster.messages()[at]!, words, `${type} ${what}`);
    assert.equal(
      JSON.stringify(cluster.appliedWorks.get('hub-w')),
      JSON.stringify(startCluster().appliedWorks.get('hub-w')),
    );
  }
});

test('a manifest beside one that names no object is applied', async () => {
  const cluster = startCluster();
  await cluster.pass(work([configMap(''), configMap('good')]));
  assert.ok(cluster.member.objects.has(`${place}/good`));
  assert.match(cluster.messages()[1]!, /complete/);
});

test('a work that is nested thousands of levels deep is refused with a condition (ATT-63)', async () => {
  for (const levels of [600, 5_000, 100_000]) {
    const cluster = startCluster();
    const data = JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as unknown;
    await cluster.pass(work([configMap('flat'), configMap('deep', { data })]));
    assert.deepEqual(cluster.member.requests, []);
    assert.match(cluster.messages()[1]!, /manifest 1 is nested deeper than 500 levels/);
    await cluster.pass(work([configMap('flat')], { spec: { executor: null, deep: data } }));
    assert.match(cluster.messages()[0]!, /the work is nested deeper than 500 levels/);
  }
});

const completing = {
  manifestConfigs: [
    {
      ...feedback('configmaps'),
      conditionRules: [{ type: 'CEL', condition: 'Complete', celExpressions: ["object.data.v == 'done'"] }],
    },
    feedback('secrets'),
  ],
};
const reported = (...manifests: readonly Json[]): Json => ({
  conditions: [
    { type: 'Complete', status: 'True', reason: 'x', message: '', lastTransitionTime: '2020-01-01T00:00:00Z' },
  ],
  resourceStatus: { manifests },
});
const entry = (kind: string, name: string, further: Json = {}): Json => ({
  resourceMeta: {
    ...{ ordinal: 0, group: '', version: 'v1', kind, resource: `${kind.toLowerCase()}s`, name, namespace: 'ns' },
    ...further,
  },
  conditions: [{ type: 'Complete', status: 'True', reason: 'ConditionRuleEvaluated', message: '' }],
});
const inventory = (name: string, uid = `uid-${name}`): Json => ({
  ...{ group: '', version: 'v1', resource: 'configmaps', namespace: 'ns', name, uid },
});

test('who may write the status of a complete work is told of no object that was not applied for it (ATT-61)', async () => {
  const forged: readonly (readonly [string, Json])[] = [
    ['a Secret', entry('Secret', 'token')],
    ['a Secret elsewhere', entry('Secret', 'token', { namespace: 'kube-system' })],
    ['a version that is a path', entry('ConfigMap', 'c', { version: 'v1/namespaces/ns/secrets/token?' })],
    ['no name', entry('Secret', '')],
    ['a name that is null', entry('Secret', 'x', { name: null })],
    ['a name that is no text', entry('Secret', 'x', { name: ['token'] })],
    ['a kind that is not served', entry('Widget', 'x')],
    ['another name', entry('ConfigMap', 'other')],
    ['nothing', {}],
  ];
  for (const [what, each] of forged) {
    const cluster = startCluster([inventory('c')]);
    cluster.member.put(`${place}/c`, { ...configMap('c'), data: { v: 'done' } });
    cluster.member.put(`${place}/other`, { ...configMap('other'), data: { v: 'foreign' } });
    cluster.member.put('/api/v1/namespaces/ns/secrets/token', {
      apiVersion: 'v1',
      kind: 'Secret',
      data: { v: 'foreign' },
    });
    await cluster.pass(work([configMap('c')], { spec: completing, status: reported(entry('ConfigMap', 'c'), each) }));
    assert.deepEqual(cluster.member.requests, [`system:serviceaccount:agent:sa GET ${place}/c`], what);
    assert.deepEqual(
      cluster.entries().map(({ resourceMeta }) => resourceMeta.name),
      ['c'],
      what,
    );
    assert.ok(!JSON.stringify(cluster.status()).includes('foreign'), what);
  }
});

test('an object that somebody made anew, or that was announced only, is not fed back for a complete work', async () => {
  for (const uid of ['another', '']) {
    const cluster = startCluster([inventory('c', uid)]);
    cluster.member.put(`${place}/c`, { ...configMap('c'), data: { v: 'foreign' } });
    await cluster.pass(work([configMap('c')], { spec: completing, status: reported(entry('ConfigMap', 'c')) }));
    assert.ok(!JSON.stringify(cluster.status()).includes('foreign'));
  }
});

test('who may write the status of a work can neither stop it from being applied nor have it deleted (ATT-61)', async () => {
  const ttl = { deleteOption: { ttlSecondsAfterFinished: 0 } };
  for (const spec of [{}, completing]) {
    const cluster = startCluster([inventory('c')]);
    cluster.member.put(`${place}/c`, { ...configMap('c'), data: { v: 'running' } });
    const given = work([{ ...configMap('c'), data: { v: 'wanted' } }], { spec: { ...spec, ...ttl } });
    const status = reported(entry('ConfigMap', 'c'));
    await cluster.pass({ ...given, status });
    assert.deepEqual(cluster.removed, []);
    const conditions = cluster.status()['conditions'] as Json[];
    assert.notEqual(conditions.find(({ type }) => type === 'Complete')?.['status'], 'True');
    await cluster.pass({ ...given, status: { ...cluster.status(), resourceStatus: status['resourceStatus'] } });
    assert.equal(cluster.member.objects.get(`${place}/c`)?.['data'].v, 'wanted');
  }
  const cluster = startCluster([inventory('c')]);
  cluster.member.put(`${place}/c`, { ...configMap('c'), data: { v: 'done' } });
  const given = work([{ ...configMap('c'), data: { v: 'wanted' } }], { spec: { ...completing, ...ttl } });
  await cluster.pass({ ...given, status: reported(entry('ConfigMap', 'c')) });
  assert.deepEqual(cluster.removed, ['w'], 'a work that is complete is deleted');
});

test('a manifest that was never applied is applied, whatever the status says of it', async () => {
  const cluster = startCluster();
  const status = { ...reported(entry('ConfigMap', 'c')), conditions: [] };
  await cluster.pass(work([configMap('c')], { spec: completing, status }));
  assert.ok(cluster.member.objects.has(`${place}/c`));
});

test('a work whose rules cost too much is handled again when they are to be tried again', async () => {
  const cluster = startCluster();
  const text = 'a'.repeat(50_000);
  const dear = [{ type: 'CEL', condition: 'C', celExpressions: ["object.data.t.findAll('(?:a.*b|a)').size() == 0"] }];
  const manifestConfigs = [{ ...feedback('configmaps'), conditionRules: dear }];
  const given = work([{ ...configMap('c'), data: { t: text } }], { spec: { manifestConfigs } });
  for (let pass = 0; pass < 2; pass += 1) {
    const outcome = (await cluster.pass({ ...given, status: cluster.status() })) as { readonly afterMs: number };
    assert.ok(outcome.afterMs > 0 && outcome.afterMs <= 10 * 60_000, JSON.stringify(outcome));
    assert.match(JSON.stringify(cluster.status()), /they are tried again in 10 minutes/);
  }
});

test('what the hub does not take of one object keeps it from learning nothing else', async () => {
  const refusals = [
    new HubRefusal(422, 'Invalid', 'status.resourceStatus.manifests[0].statusFeedback.values[0]: Invalid value'),
    new HubRefusal(413, 'RequestEntityTooLarge', 'limit is 3145728'),
    new HubRefusal(500, '', 'etcdserver: request is too large'),
  ];
  for (const refusal of refusals) {
    const cluster = startCluster();
    cluster.refuseStatus((status) => (JSON.stringify(status).includes('odd') ? refusal : undefined));
    const given = work([{ ...configMap('c'), data: { v: 'odd' } }, configMap('')], {
      spec: { manifestConfigs: [feedback('configmaps')] },
    });
    await cluster.pass(given);
    assert.match(cluster.messages()[0]!, /complete/);
    assert.match(cluster.messages()[1]!, /metadata.name is missing/);
    const [synced] = cluster.entries()[0]!['conditions'].filter(({ type }: Json) => type === 'StatusFeedbackSynced');
    assert.equal(synced.status, 'False');
    assert.ok(synced.message.includes(`the hub refuses the status with its values: ${refusal.message}`));
  }
  const cluster = startCluster();
  for (const refusal of [new HubRefusal(403, 'Forbidden', 'no'), new HubRefusal(409, 'Conflict', 'changed')]) {
    cluster.refuseStatus(() => refusal);
    await assert.rejects(cluster.pass(work([configMap('c')])), refusal);
  }
});

test('the spec that is executed is kept in the history, once for each generation', async () => {
  const cluster = startCluster([], { historyLimit: 2 });
  const given = work([configMap('c')]);
  await cluster.pass(given);
  const [annotations] = cluster.annotated;
  const [revision] = (await readHistory(annotations!)) ?? [];
  assert.deepEqual([revision?.revision, revision?.spec], [1, given['spec']]);
  await cluster.pass({ ...given, metadata: { ...given.metadata, annotations: annotations! } });
  assert.equal(cluster.annotated.length, 1);
  const without = startCluster([], { historyLimit: 0 });
  await without.pass(given);
  assert.deepEqual(without.annotated, []);
  const refused = startCluster([], { historyLimit: 2, mayExecuteAs: () => Promise.resolve(false) });
  const stamp = JSON.stringify({ user: 'alice', groups: [] });
  await refused.pass({ ...given, metadata: { ...given.metadata, annotations: { [modifierAnnotation]: stamp } } });
  assert.deepEqual(refused.annotated, [], 'what is not executed is not kept');
});
