import assert from 'node:assert/strict';
import { after, mock, test } from 'node:test';
import { makeRuleEvaluator } from '../feedback/rule-evaluator.ts';
import { executorFor } from '../member/executor-identity.ts';
import { FakeMember } from '../member/fake-member.fixture.ts';
import type { ApiObject } from '../../kube/types.ts';
import { readWork } from '../work/work.ts';
import { applyManifests, type ApplyParts, type ApplyResult } from './apply-manifests.ts';

type Json = Record<string, any>;

const ruleEvaluator = makeRuleEvaluator();
after(() => ruleEvaluator.close());

const executor = executorFor({ namespace: 'agent', name: 'sa' }, true);
const owner = { apiVersion: 'work.open-cluster-management.io/v1', kind: 'AppliedManifestWork', name: 'w', uid: 'own' };
const place = '/api/v1/namespaces/ns/configmaps/c';
const configMap = (data: Json, further: Json = {}): Json => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
  metadata: { name: 'c', namespace: 'ns', ...further },
});

function start() {
  const member = new FakeMember();
  member.isWatched = true;
  const session = member.session();
  const known: ApplyParts['known'] = new Map();
  const objects = session.objects(executor, { namespace: 'm1', name: 'w', uid: 'u' });
  const rest = { executor, session, objects, known, owner, rawJson: false, ruleEvaluator };
  return {
    ...{ member, known },
    data: (): unknown => member.objects.get(place)?.['data'],
    change: (part: Json): void => void member.put(place, { ...member.objects.get(place), ...part }),
    writes: (): string[] => member.requests.filter((each) => !/ GET /.test(each)),
    pass: (...manifests: readonly Json[]): Promise<ApplyResult> => {
      const work = { metadata: { name: 'w', namespace: 'm1' }, spec: { workload: { manifests } } };
      return applyManifests({ ...rest, work: readWork(work as unknown as ApiObject), recorded: [] });
    },
  };
}

test('an object that is changed again and again is put right at the latest after a minute', async () => {
  const cluster = start();
  const wanted = configMap({ a: '1' });
  await cluster.pass(wanted);
  for (let time = 0; time < 3; time += 1) {
    cluster.change({ data: { a: 'theirs' } });
    await cluster.pass(wanted);
    assert.deepEqual(cluster.data(), { a: '1' });
  }
  cluster.change({ data: { a: 'theirs' } });
  // The pass that sees the change, and another one for another reason.
  for (let time = 0; time < 2; time += 1) {
    const { againMs = Infinity } = await cluster.pass(wanted);
    assert.deepEqual(cluster.data(), { a: 'theirs' });
    assert.ok(againMs > 0 && againMs <= 60_000, `handled again after ${againMs} ms`);
  }
  const now = performance.now.bind(performance);
  const clock = mock.method(performance, 'now', () => now() + 60_001);
  try {
    const { againMs } = await cluster.pass(wanted);
    assert.deepEqual(cluster.data(), { a: '1' });
    assert.equal(againMs, undefined);
  } finally {
    clock.mock.restore();
  }
});

test('what was applied from another manifest is not known, and neither is what is no longer part of the work', async () => {
  const cluster = start();
  const counts: number[] = [];
  const other = { ...configMap({ b: '1' }), metadata: { name: 'd', namespace: 'ns' } };
  for (const manifests of [[configMap({ a: '1' }), other], [configMap({ a: '1' }), other], [configMap({ a: '2' })]]) {
    await cluster.pass(...manifests);
    counts.push(cluster.member.requests.splice(0).length);
  }
  assert.equal(counts[1], 0);
  assert.ok(counts[2]! > 0);
  assert.deepEqual(cluster.data(), { a: '2' });
  assert.deepEqual([...cluster.known.keys()], ['configmaps./ns/c']);
});

test('of several manifests of one object the last one is applied, once, and told of all', async () => {
  const space = (labels: Json, namespace?: string): Json => ({
    ...{ apiVersion: 'v1', kind: 'Namespace' },
    metadata: { name: 'n', labels, ...(namespace === undefined ? {} : { namespace }) },
  });
  const elsewhere = configMap({ a: 'elsewhere' }, { namespace: 'other' });
  const cluster = start();
  const manifests = [
    ...[configMap({ a: '1' }), space({ a: '1' }, 'ignored'), elsewhere, configMap({ a: '2' })],
    ...[space({ a: '2' }), configMap({ a: '3' }), { ...configMap({}), metadata: { namespace: 'ns' } }],
  ];
  for (let time = 0; time < 3; time += 1) {
    const { results } = await cluster.pass(...manifests);
    assert.deepEqual(cluster.data(), { a: '3' });
    const reported = results.toSorted((one, other) => one.meta.ordinal - other.meta.ordinal);
    assert.deepEqual(
      reported.map(({ meta, applied, seen }) => [meta.ordinal, meta.resource, applied === 'done', seen.state]),
      [
        [0, 'configmaps', true, 'present'],
        [1, 'namespaces', true, 'present'],
        [2, 'configmaps', true, 'present'],
        [3, 'configmaps', true, 'present'],
        [4, 'namespaces', true, 'present'],
        [5, 'configmaps', true, 'present'],
        [6, '', false, 'unserved'],
      ],
    );
  }
  assert.deepEqual(
    cluster.writes().map((each) => each.split(' ').slice(1).join(' ')),
    ['POST /api/v1/namespaces', 'POST /api/v1/namespaces/other/configmaps', 'POST /api/v1/namespaces/ns/configmaps'],
  );
  assert.deepEqual(cluster.member.objects.get('/api/v1/namespaces/n')?.['metadata'].labels, { a: '2' });
});

const secretPlace = '/api/v1/namespaces/ns/secrets/s';
const secret = (type: string | undefined, metadata: Json = {}): Json => ({
  ...{ apiVersion: 'v1', kind: 'Secret', stringData: { a: '1' }, ...(type === undefined ? {} : { type }) },
  metadata: { name: 's', namespace: 'ns', ...metadata },
});

test('a Secret whose type changes or leaves is made anew, with the labels that others gave it', async () => {
  for (const type of ['example.org/b', undefined]) {
    const cluster = start();
    cluster.member.invalid = (before, given) =>
      before['type'] === given['type'] ? undefined : 'Secret "s" is invalid: type: Invalid value: field is immutable';
    await cluster.pass(secret('example.org/a'));
    const made = cluster.member.objects.get(secretPlace)!;
    cluster.member.put(secretPlace, { ...made, metadata: { ...made['metadata'], labels: { theirs: 'x' } } });
    const { results } = await cluster.pass(secret(type));
    assert.equal(results[0]!.applied, 'done');
    const now = cluster.member.objects.get(secretPlace)!;
    assert.deepEqual([now['type'], now['metadata'].labels], [type, { theirs: 'x' }]);
    assert.deepEqual(now['metadata'].ownerReferences, [owner]);
    assert.deepEqual(
      cluster.writes().map((each) => each.split(' ')[1]),
      ['POST', 'PUT', 'DELETE', 'POST'],
    );
  }
});

test('nothing is deleted to be made anew that the work did not make, or that others own too', async () => {
  const theirs = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x' };
  for (const ownerReferences of [undefined, [], [theirs], [owner, theirs]]) {
    const cluster = start();
    cluster.member.invalid = () => 'Secret "s" is invalid: type: Invalid value: field is immutable';
    cluster.member.put(secretPlace, { ...secret('example.org/a'), metadata: { namespace: 'ns', ownerReferences } });
    const { results } = await cluster.pass(secret('example.org/b'));
    assert.match(JSON.stringify(results[0]!.applied), /field is immutable/);
    assert.ok(!cluster.writes().some((each) => each.includes('DELETE')));
  }
  // A ConfigMap that is immutable, and a refusal for another reason.
  const cluster = start();
  await cluster.pass(configMap({ a: '1' }), secret('example.org/a'));
  for (const message of ['data: Forbidden: field is immutable when `immutable` is set', 'data: Required value']) {
    cluster.member.invalid = ({ kind }) => (kind === 'ConfigMap' ? message : 'data: Invalid value: "x"');
    await cluster.pass(configMap({ a: '2' }), secret('example.org/b'));
  }
  assert.ok(!cluster.writes().some((each) => each.includes('DELETE')));
});

test('a Secret whose end somebody holds up is made anew once it is gone, and the work says so meanwhile', async () => {
  const cluster = start();
  await cluster.pass(secret('example.org/a'));
  const made = cluster.member.objects.get(secretPlace)!;
  cluster.member.invalid = () => 'Secret "s" is invalid: type: Invalid value: field is immutable';
  const { delete: remove } = cluster.member.objects;
  cluster.member.objects.delete = () => true;
  const { results } = await cluster.pass(secret('example.org/b'));
  assert.match(JSON.stringify(results[0]!.applied), /so it is being deleted to be made anew/);
  cluster.member.objects.delete = remove;
  assert.equal(cluster.member.objects.get(secretPlace), made);
  cluster.member.objects.delete(secretPlace);
  await cluster.pass(secret('example.org/b'));
  assert.equal(cluster.member.objects.get(secretPlace)?.['type'], 'example.org/b');
});

test('rules of a work that give more than 5000 conditions are not evaluated for its last objects, which say so (ATT-56)', async () => {
  const member = new FakeMember();
  member.isWatched = true;
  const session = member.session();
  const objects = session.objects(executor, { namespace: 'm1', name: 'w', uid: 'u' });
  let asked = 0;
  const evaluator: ApplyParts['ruleEvaluator'] = {
    evaluate: async (_cluster, _object, rules) => {
      asked += rules.length;
      return rules.map(({ condition: type }) => ({
        type,
        status: 'True',
        reason: 'ConditionRuleEvaluated',
        message: '',
      }));
    },
    againMs: () => undefined,
    close: () => {},
  };
  const types = Array.from({ length: 2_000 }, (_, index) => (index === 1_000 ? 'Complete' : `C${index}`));
  const conditionRules = types.map((condition) => ({ condition, type: 'CEL', celExpressions: ['true'] }));
  const resourceIdentifier = { group: '', resource: 'configmaps', namespace: '*', name: '*' };
  const manifests = ['a', 'b', 'c', 'd'].map((name) => configMap({}, { name }));
  const spec = { workload: { manifests }, manifestConfigs: [{ resourceIdentifier, conditionRules }] };
  const work = readWork({ metadata: { name: 'w', namespace: 'm1' }, spec } as unknown as ApiObject);
  const known: ApplyParts['known'] = new Map();
  const rest = { executor, session, objects, known, owner, rawJson: false, recorded: [] };
  // The second time nothing has changed, and the same objects say it.
  for (let time = 0; time < 2; time += 1) {
    const { results } = await applyManifests({ ...rest, work, ruleEvaluator: evaluator });
    const inOrder = results.toSorted((one, other) => one.meta.ordinal - other.meta.ordinal);
    const rulesOf = inOrder.map(({ seen }) => (seen.state === 'present' ? seen.observation.rules : []));
    assert.deepEqual(
      rulesOf.map((rules) => rules.length),
      [2_000, 2_000, 2, 2],
    );
    assert.deepEqual(
      rulesOf[2]!.map(({ type, status }) => `${type} ${status}`),
      ['C0 False', 'Complete False'],
    );
    assert.match(rulesOf[3]![0]!.message, /2000 condition rules .* are not evaluated: .* more than 5000 conditions/);
  }
  assert.equal(asked, 4_000);
});
