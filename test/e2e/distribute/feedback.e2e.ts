// What a work tells of its objects: values that it asks for, conditions by rules, and what becomes of a work that is
// complete.
// Landing tier: what an author writes costs the author.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import {
  conditionIn,
  configFor,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  isGone,
  manifestAt,
  manifestWork,
  put,
  read,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';

let site: WorksSite;
let hub: Member;
let m1: Member;

before(async () => {
  // Without controllers in the member, the test alone writes the status of its objects.
  site = await startWorksSite({ controllerManager: false });
  ({ hub } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const kinds = {
  deployment: { group: 'apps', resource: 'deployments' },
  job: { group: 'batch', resource: 'jobs' },
  account: { group: '', resource: 'serviceaccounts' },
  configMap: { group: '', resource: 'configmaps' },
} as const;
const pod = {
  metadata: { labels: { app: 'x' } },
  spec: { containers: [{ name: 'c', image: 'busybox' }], restartPolicy: 'Never' },
};
const deployment = (name: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'ns1' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'x' } },
    template: { ...pod, spec: { ...pod.spec, restartPolicy: 'Always' } },
  },
});
const job = (name: string): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace: 'ns1' },
  spec: { template: pod },
});
const settings = (...configs: readonly object[]): object => ({ manifestConfigs: configs });
const wellKnown = { feedbackRules: [{ type: 'WellKnownStatus' }] };
const paths = (...jsonPaths: readonly object[]): object => ({ feedbackRules: [{ type: 'JSONPaths', jsonPaths }] });
const synced = (work: Json, index = 0): Json => conditionIn(manifestAt(work, index), 'StatusFeedbackSynced');
const valuesOf = (work: Json, index = 0): Json => manifestAt(work, index).statusFeedback.values;
const isAvailable = (name: string): Promise<Json> => hasCondition(hub, workPath(name), 'Available', 'True');
const resourcePath = (kind: keyof typeof kinds, name: string): string => {
  const { group, resource } = kinds[kind];
  return `${group === '' ? '/api/v1' : `/apis/${group}/v1`}/namespaces/ns1/${resource}/${name}`;
};

async function setStatus(path: string, status: object): Promise<void> {
  const answer = await m1.request(
    'PATCH',
    `${path}/status`,
    { status },
    { 'content-type': 'application/merge-patch+json' },
  );
  assert.equal(answer.status, 200, answer.body);
}

/** Waits until the work is as `isIt` says. */
const until = (name: string, isIt: (work: Json) => boolean): Promise<Json> =>
  eventually(`${name} is so`, async () => {
    const work = await read(hub, workPath(name));
    return isIt(work) ? work : undefined;
  });

test('the numbers of a Deployment are told, and follow it', async () => {
  await put(hub, manifestWork('numbers', [deployment('d1')], settings(configFor('d1', wellKnown, kinds.deployment))));
  await isAvailable('numbers');
  const status = { observedGeneration: 1, replicas: 2, readyReplicas: 1, availableReplicas: 1, updatedReplicas: 2 };
  await setStatus(resourcePath('deployment', 'd1'), status);
  const work = await until('numbers', (found) => valuesOf(found)?.length === 3);
  assert.deepEqual(
    valuesOf(work).map(({ name, fieldValue }: Json) => [name, fieldValue.type, fieldValue.integer]),
    [
      ['ReadyReplicas', 'Integer', 1],
      ['Replicas', 'Integer', 2],
      ['AvailableReplicas', 'Integer', 1],
    ],
  );
  assert.deepEqual([synced(work).status, synced(work).reason], ['True', 'StatusFeedbackSynced']);
  // Times are whole seconds.
  const isLater = (): boolean => Date.now() >= Date.parse(synced(work).lastTransitionTime) + 1000;
  await eventually('a second has passed', isLater);
  await setStatus(resourcePath('deployment', 'd1'), { ...status, readyReplicas: 2, availableReplicas: 2 });
  const later = await until('numbers', (found) => valuesOf(found)[0].fieldValue.integer === 2);
  assert.equal(valuesOf(later)[2].fieldValue.integer, 2);
  assert.ok(synced(later).lastTransitionTime > synced(work).lastTransitionTime, 'the time is that of the new values');
  const applied = (found: Json): Json => conditionIn(manifestAt(found, 0), 'Applied').lastTransitionTime;
  assert.equal(applied(later), applied(work));
});

test('a kind without well-known numbers, and a path to a list, are told as failed with the other values kept', async () => {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sa', namespace: 'ns1' } };
  const listed = paths({ name: 'spec', path: '.spec.template' }, { name: 'replicas', path: '.spec.replicas' });
  await put(
    hub,
    manifestWork(
      'failed',
      [account, deployment('d2')],
      settings(configFor('sa', wellKnown, kinds.account), configFor('d2', listed, kinds.deployment)),
    ),
  );
  const work = await isAvailable('failed');
  assert.equal(valuesOf(work), undefined);
  assert.deepEqual([synced(work).status, synced(work).reason], ['False', 'StatusFeedbackSyncFailed']);
  assert.match(synced(work).message, /^Sync status feedback failed with error cannot find the wellknown statuses/);
  assert.equal(synced(work, 1).status, 'False');
  assert.deepEqual(
    valuesOf(work, 1).map(({ name }: Json) => name),
    ['replicas'],
  );
});

test('a missing field is no fault, another version of the kind is, and of two entries the first one counts', async () => {
  const first = paths({ name: 'missing', path: '.data.nothing' }, { name: 'found', path: '.data.a' });
  const second = paths({ name: 'second', path: '.data.a' });
  const other = paths(
    { name: 'beta', path: '.data.a', version: 'v2' },
    { name: 'here', path: '.data.a', version: 'v1' },
  );
  await put(
    hub,
    manifestWork(
      'entries',
      [configMap('entry1', { a: '1' }), configMap('other', { a: '2' })],
      settings(configFor('*1', first), configFor('entry1', second), configFor('other', other)),
    ),
  );
  const work = await isAvailable('entries');
  assert.deepEqual(
    valuesOf(work).map(({ name }: Json) => name),
    ['found'],
  );
  assert.equal(synced(work).status, 'True');
  assert.deepEqual(
    valuesOf(work, 1).map(({ name }: Json) => name),
    ['here'],
  );
  assert.match(synced(work, 1).message, /version set in the path beta is not matched/);
});

const complete = { conditionRules: [{ condition: 'Complete', type: 'WellKnownConditions' }] };
const done = {
  startTime: '2026-01-01T00:00:00Z',
  completionTime: '2026-01-01T00:01:00Z',
  succeeded: 1,
  conditions: [
    { type: 'SuccessCriteriaMet', status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' },
    { type: 'Complete', status: 'True', lastTransitionTime: '2026-01-01T00:01:00Z' },
  ],
};

test('a Job that ends completes its work, which is not applied any more', async () => {
  const spec = settings(configFor('j1', complete, kinds.job));
  await put(hub, manifestWork('ends', [job('j1'), configMap('ends', { a: '1' })], spec));
  const before = await hasCondition(hub, workPath('ends'), 'Complete', 'False', 'ConditionRulesAggregated');
  assert.equal(conditionIn(manifestAt(before, 0), 'Complete').message, 'Job is not finished');
  await setStatus(resourcePath('job', 'j1'), done);
  const work = await hasCondition(hub, workPath('ends'), 'Complete', 'True', 'ConditionRulesAggregated');
  assert.equal(conditionIn(work.status, 'Complete').message, 'Job is finished');
  assert.equal(conditionIn(manifestAt(work, 0), 'Complete').reason, 'ConditionRuleEvaluated');
  await put(hub, manifestWork('ends', [job('j1'), configMap('ends', { a: '2' })], spec));
  await put(hub, manifestWork('beside', [configMap('beside')]));
  await isAvailable('beside');
  assert.deepEqual((await read(m1, configMapPath('ends'))).data, { a: '1' });
});

test('a work that is complete goes after the time that it asks for, and not without, nor as part of a set', async () => {
  const ttl = (seconds: number): object => ({
    deleteOption: { propagationPolicy: 'Foreground', ttlSecondsAfterFinished: seconds },
  });
  const label = { labels: { 'work.open-cluster-management.io/manifestworkreplicaset': 'ns.set' } };
  const cases: readonly [string, object, object][] = [
    ['ttl-zero', ttl(0), {}],
    ['ttl-two', ttl(2), {}],
    ['ttl-set', ttl(0), label],
    ['ttl-none', {}, {}],
  ];
  for (const [name, option, metadata] of cases) {
    const spec = { ...option, ...settings(configFor(name, complete, kinds.job)) };
    await put(hub, manifestWork(name, [job(name)], spec, metadata));
    await isAvailable(name);
    await setStatus(resourcePath('job', name), done);
  }
  for (const name of ['ttl-zero', 'ttl-two']) await isGone(hub, workPath(name));
  for (const name of ['ttl-set', 'ttl-none']) {
    const work = await hasCondition(hub, workPath(name), 'Complete', 'True');
    assert.equal(work.metadata.deletionTimestamp, undefined);
  }
});

const rule = (condition: string, expression: string, more: object = {}): object => ({
  condition,
  type: 'CEL',
  celExpressions: [expression],
  ...more,
});

test('conditions by expressions are told with their messages, and faults of expressions as such', async () => {
  const messages = { messageExpression: "result ? 'a is ' + object.data.a : 'a is not there'" };
  const rules = {
    conditionRules: [
      rule('Holds', "object.data.a == 'yes'", messages),
      rule('Fails', "object.data.a == 'no'", { message: 'said so' }),
      rule('Library', "quantity('2Gi').isGreaterThan(quantity('1Gi')) && 'a-b'.split('-').size() == 2"),
      rule('Plain', 'object.metadata.generation == 0 || has(object.data.a)'),
      rule('Text', 'object.data.a'),
      rule('Broken', 'object.data.('),
    ],
  };
  await put(hub, manifestWork('rules', [configMap('rules', { a: 'yes' })], settings(configFor('rules', rules))));
  const work = await isAvailable('rules');
  const reported = (type: string): Json => conditionIn(manifestAt(work, 0), type);
  assert.deepEqual([reported('Holds').status, reported('Holds').message], ['True', 'a is yes']);
  assert.deepEqual([reported('Fails').status, reported('Fails').message], ['False', 'said so']);
  assert.equal(reported('Library').status, 'True');
  for (const type of ['Text', 'Broken']) {
    assert.deepEqual([reported(type).status, reported(type).reason], ['False', 'ConditionRuleExpressionError'], type);
    assert.notEqual(reported(type).message, '');
  }
  assert.equal(conditionIn(work.status, 'Holds').reason, 'ConditionRulesAggregated');
  assert.equal(conditionIn(work.status, 'Holds').message, 'a is yes');
});

test('a rule that would never end is a condition of its work, and other works are told as before (ATT-56)', async () => {
  const dear = { conditionRules: [rule('Dear', "object.data.t.findAll('(?:a.*b|a)').size() == 0")] };
  const cheap = { conditionRules: [rule('Cheap', "object.data.t == 'x'")] };
  await put(
    hub,
    manifestWork('dear', [configMap('dear', { t: 'a'.repeat(50_000) })], settings(configFor('dear', dear))),
  );
  await put(hub, manifestWork('cheap', [configMap('cheap', { t: 'x' })], settings(configFor('cheap', cheap))));
  const reported = conditionIn(manifestAt(await isAvailable('dear'), 0), 'Dear');
  assert.deepEqual([reported.status, reported.reason], ['False', 'ConditionRuleExpressionError']);
  assert.match(reported.message, /took longer than/);
  assert.equal(conditionIn(manifestAt(await isAvailable('cheap'), 0), 'Cheap').status, 'True');
});

test('a condition goes with its rule, and a well-known one that the kind does not have is none', async () => {
  const unknown = { conditionRules: [{ condition: 'Complete', type: 'WellKnownConditions' }] };
  await put(hub, manifestWork('rules', [configMap('rules', { a: 'yes' })], settings(configFor('rules', unknown))));
  const work = await isAvailable('rules');
  for (const type of ['Holds', 'Fails', 'Text', 'Broken', 'Complete']) {
    assert.equal(conditionIn(manifestAt(work, 0), type), undefined, type);
    assert.equal(conditionIn(work.status, type), undefined, type);
  }
});

test('of two objects one that progresses makes the work progress, and one that is not ready makes it not ready', async () => {
  const rules = {
    conditionRules: [rule('Progressing', "object.data.p == 'yes'"), rule('Ready', "object.data.p == 'yes'")],
  };
  const objects = [configMap('p1', { p: 'yes' }), configMap('p2', { p: 'no' })];
  await put(hub, manifestWork('several', objects, settings(configFor('p*', rules))));
  const work = await isAvailable('several');
  assert.equal(conditionIn(work.status, 'Progressing').status, 'True');
  assert.equal(conditionIn(work.status, 'Ready').status, 'False');
  assert.equal(conditionIn(work.status, 'Ready').message, 'Aggregated from 2 manifest conditions');
});

test('with --works-raw-feedback a list is told as JSON, and one that is too long as failed', async () => {
  await site.gateway.stop('SIGTERM');
  await site.startGateway({ args: ['--works-raw-feedback'] });
  const all = paths({ name: 'all', path: '.data' });
  const long = { long: 'x'.repeat(2_000) };
  const config = settings(configFor('raw*', all));
  await put(hub, manifestWork('raw', [configMap('raw1', { a: '1' }), configMap('raw2', long)], config));
  const work = await isAvailable('raw');
  assert.deepEqual(valuesOf(work)[0].fieldValue, { type: 'JsonRaw', jsonRaw: '{"a":"1"}' });
  assert.match(synced(work, 1).message, /larger than the maximum length 1024/);
});
