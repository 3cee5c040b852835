import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import type { HubWriter } from '../../controllers/hub/hub-writer.ts';
import { makeRuleEvaluator } from '../feedback/rule-evaluator.ts';
import { FakeMember, fakeAppliedWorks } from '../member/fake-member.fixture.ts';
import { workFinalizer } from '../work/manifest-work.ts';
import { DeniedWorks } from './denied-works.ts';
import { KnownObjects } from './known-objects.ts';
import type { WorkSettings } from './settings.ts';
import { passWork } from './work-pass.ts';

type Json = Record<string, any>;

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
const work = (manifests: readonly unknown[], further: Json = {}): HubObject => ({
  metadata: {
    ...{ name: 'w', namespace: 'm1', uid: 'u', resourceVersion: '1', generation: 1, finalizers: [workFinalizer] },
  } as HubObject['metadata'],
  spec: { workload: { manifests }, ...further['spec'] },
  ...(further['status'] && { status: further['status'] }),
});

/** A cluster in which works are handled, with what its status becomes. */
function startCluster(appliedResources: readonly Json[] = []) {
  const member = new FakeMember();
  const known = new KnownObjects();
  const applied = { metadata: { name: 'hub-w', uid: 'r', resourceVersion: '1' }, status: { appliedResources } };
  const appliedWorks = fakeAppliedWorks(applied);
  const evaluator = makeRuleEvaluator();
  let status: Json = {};
  const removed: string[] = [];
  const writer = {
    patch: (_type: unknown, object: HubObject, patch: Json) => {
      if (patch['status'] !== undefined) status = patch['status'];
      return Promise.resolve(object);
    },
    remove: (_type: unknown, { metadata }: HubObject) => Promise.resolve(void removed.push(metadata.name)),
  } as unknown as HubWriter;
  const settings = {
    ...{ hubHash: 'hub', agentId: 'us', defaultExecutor: { namespace: 'agent', name: 'sa' }, holdOnDenied: false },
    ...{ authors: undefined, mayExecuteAs: () => Promise.resolve(true), writer, ruleEvaluator: evaluator },
    ...{ rawJson: true, historyLimit: 0, evictionGraceMs: 0, work: () => undefined },
  } as unknown as WorkSettings;
  const parts = {
    ...{ settings, session: member.session(), appliedWorks, known },
    denied: new DeniedWorks({ rulesOf: () => Promise.resolve(''), onChange: () => undefined }),
    log: { warn: () => undefined },
  };
  return {
    ...{ member, removed, appliedWorks, close: () => evaluator.close() },
    status: () => status,
    entries: (): Json[] => status['resourceStatus'].manifests,
    messages: (): string[] =>
      status['resourceStatus'].manifests.map(
        ({ conditions }: Json) => conditions.find(({ type }: Json) => type === 'Applied')?.message ?? '',
      ),
    pass: (given: HubObject) => passWork(parts, given),
  };
}

const strategies = ['Update', 'CreateOnly', 'ServerSideApply', 'ReadOnly'];

test('a manifest that names no object leads to no request by any strategy, and its condition says why', async (t) => {
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
    t.after(() => cluster.close());
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

test('a manifest beside one that names no object is applied', async (t) => {
  const cluster = startCluster();
  t.after(() => cluster.close());
  await cluster.pass(work([configMap(''), configMap('good')]));
  assert.ok(cluster.member.objects.has(`${place}/good`));
  assert.match(cluster.messages()[1]!, /complete/);
});

test('a work that is nested thousands of levels deep is refused with a condition', async (t) => {
  for (const levels of [600, 5_000, 100_000]) {
    const cluster = startCluster();
    t.after(() => cluster.close());
    const data = JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as unknown;
    await cluster.pass(work([configMap('flat'), configMap('deep', { data })]));
    assert.deepEqual(cluster.member.requests, []);
    assert.match(cluster.messages()[1]!, /manifest 1 is nested deeper than 500 levels/);
    await cluster.pass(work([configMap('flat')], { spec: { executor: null, deep: data } }));
    assert.match(cluster.messages()[0]!, /the work is nested deeper than 500 levels/);
  }
});
