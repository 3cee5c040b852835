// How the strategy Update replaces objects of a real API server with its controllers: what left the manifest goes, what
// server and controllers own stays, numbers keep their digits, and nothing is written without end.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parseExact } from '../../../lib/json/exact-json.ts';
import type { AuditEvent, Member } from '../../controlplane/fixture.ts';
import {
  conditionIn,
  configFor,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  manifestAt,
  manifestWork,
  patch,
  put,
  read,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';
import { customResource } from '../../site/custom-resource.ts';

let site: WorksSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startWorksSite();
  ({ hub } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const at = (group: string, resource: string, name: string): string => `${group}/namespaces/ns1/${resource}/${name}`;
const object = (kind: string, name: string, rest: Json, apiVersion = 'v1', metadata: object = {}): Json => ({
  ...{ apiVersion, kind },
  metadata: { name, namespace: 'ns1', ...metadata },
  ...rest,
});

async function applied(name: string, manifests: readonly object[], spec: object = {}): Promise<Json> {
  await put(hub, manifestWork(name, manifests, spec));
  return await hasCondition(hub, workPath(name), 'Applied', 'True');
}

/** Writes of the gateway since the mark, as `verb name`. */
async function writesSince(mark: Json, ...names: readonly string[]): Promise<readonly string[]> {
  const events: readonly AuditEvent[] = await m1.audit(mark);
  return events
    .filter(({ verb, userAgent, objectRef }) => {
      const isOurs = userAgent === 'portcullis-works' && !['get', 'list', 'watch'].includes(verb);
      return isOurs && names.includes(objectRef?.name ?? '');
    })
    .map(({ verb, objectRef }) => `${verb} ${objectRef?.name}`);
}

test('a Service has the ports of its manifest, with their node ports, and loses what the manifest loses', async () => {
  const service = (spec: Json): Json => object('Service', 'shop', { spec: { type: 'NodePort', ...spec } });
  const first = {
    ...{ selector: { app: 'shop', version: 'v1' }, externalIPs: ['192.0.2.1'] },
    ports: [
      { name: 'http', port: 80 },
      { name: 'https', port: 443 },
    ],
  };
  await applied('shop', [service(first)]);
  const before = (await read(m1, at('/api/v1', 'services', 'shop')))!['spec'];
  const second = {
    selector: { app: 'shop' },
    ports: [
      { name: 'https', port: 443 },
      { name: 'metrics', port: 9090 },
    ],
  };
  await applied('shop', [service(second)]);
  const { spec } = (await read(m1, at('/api/v1', 'services', 'shop')))!;
  assert.deepEqual(
    spec.ports.map(({ name, port, targetPort }: Json) => [name, port, targetPort]),
    [
      ['https', 443, 443],
      ['metrics', 9090, 9090],
    ],
  );
  assert.equal(spec.ports[0].nodePort, before.ports[1].nodePort);
  assert.deepEqual([spec.selector, spec.externalIPs], [{ app: 'shop' }, undefined]);
  assert.equal(spec.clusterIP, before.clusterIP);
  const mark = await m1.auditMark();
  await patch(m1, at('/api/v1', 'services', 'shop'), { spec: { selector: { app: 'theirs', more: 'x' } } });
  await eventually('the selector is put right', async () => {
    const { selector } = (await read(m1, at('/api/v1', 'services', 'shop')))!['spec'];
    return JSON.stringify(selector) === '{"app":"shop"}';
  });
  assert.deepEqual(await writesSince(mark, 'shop'), ['update shop']);
});

test('rules of an aggregated ClusterRole are those of its controller', async () => {
  const rbac = 'rbac.authorization.k8s.io/v1';
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
  const more = [...rules, { apiGroups: [''], resources: ['secrets'], verbs: ['list'] }];
  const parent = (label: string): Json => ({
    ...{ apiVersion: rbac, kind: 'ClusterRole', metadata: { name: 'agg-parent' } },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: 'true' } }] },
  });
  const child = { apiVersion: rbac, kind: 'ClusterRole', metadata: { name: 'agg-child', labels: { 't/agg': 'true' } } };
  const mark = await m1.auditMark();
  await applied('agg', [parent('t/agg'), { ...child, rules }]);
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/agg-parent';
  await eventually('the rules are there', async () => (await read(m1, path))?.['rules']?.length === 1);
  await applied('agg', [parent('t/agg'), { ...child, rules: more }]);
  await eventually('the new rules are there', async () => (await read(m1, path))?.['rules']?.length === 2);
  await applied('agg', [parent('t/none'), { ...child, rules }]);
  await eventually('no rules are left', async () => ((await read(m1, path))?.['rules'] ?? []).length === 0);
  const writes = await writesSince(mark, 'agg-parent');
  assert.deepEqual(writes, ['create agg-parent', 'update agg-parent']);
});

test('what servers and controllers fill in stays when the manifest changes', async () => {
  const claim = (storage: string): Json =>
    object('PersistentVolumeClaim', 'claim', {
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage } } },
    });
  const volume = (mountOptions: readonly string[]): Json => ({
    ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'volume' } },
    spec: {
      ...{
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        storageClassName: '',
        hostPath: { path: '/t' },
      },
      ...(mountOptions.length > 0 && { mountOptions }),
    },
  });
  const containers = [{ name: 'c', image: 'one' }];
  const job = (spec: Json): Json =>
    object('Job', 'job', { spec: { template: { spec: { containers, restartPolicy: 'Never' } }, ...spec } }, 'batch/v1');
  const pod = (image: string): Json => object('Pod', 'pod', { spec: { containers: [{ name: 'c', image }] } });
  const account = (...names: readonly string[]): Json =>
    object('ServiceAccount', 'account', { imagePullSecrets: names.map((name) => ({ name })) });
  const space = (labels: object): Json => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'space', labels },
  });
  const accountPath = at('/api/v1', 'serviceaccounts', 'account');
  await applied('filled', [
    ...[claim('1Gi'), volume(['ro', 'sync']), job({ ttlSecondsAfterFinished: 9, parallelism: 1 }), pod('one')],
    ...[account('mine'), space({ a: '1' })],
  ]);
  const claimPath = at('/api/v1', 'persistentvolumeclaims', 'claim');
  await eventually('the claim is bound', async () => (await read(m1, claimPath))?.['status']?.phase === 'Bound');
  await patch(m1, accountPath, { imagePullSecrets: [{ name: 'mine' }, { name: 'theirs' }] });
  const selector = (await read(m1, at('/apis/batch/v1', 'jobs', 'job')))!['spec'].selector;
  const work = await applied('filled', [
    ...[claim('1Gi'), volume(['ro']), job({ parallelism: 2 }), pod('two'), account('mine', 'new'), space({ a: '2' })],
  ]);
  for (const entry of work.status.resourceStatus.manifests)
    assert.equal(conditionIn(entry, 'Applied').message, 'Apply manifest complete');
  assert.equal((await read(m1, claimPath))!['spec'].volumeName, 'volume');
  const { spec } = (await read(m1, '/api/v1/persistentvolumes/volume'))!;
  assert.deepEqual([spec.mountOptions, spec.claimRef.name], [['ro'], 'claim']);
  const { spec: run } = (await read(m1, at('/apis/batch/v1', 'jobs', 'job')))!;
  assert.deepEqual([run.selector, run.parallelism, run.ttlSecondsAfterFinished], [selector, 2, undefined]);
  assert.equal((await read(m1, at('/api/v1', 'pods', 'pod')))!['spec'].containers[0].image, 'two');
  assert.deepEqual((await read(m1, accountPath))!['imagePullSecrets'].map(({ name }: Json) => name).toSorted(), [
    'mine',
    'new',
    'theirs',
  ]);
});

test('an object that a work names twice is as the last manifest says, and is written once', async () => {
  const mark = await m1.auditMark();
  const work = await applied('twice', [configMap('twice', { a: '1' }), configMap('twice', { a: '2' })]);
  assert.equal(work.status.resourceStatus.manifests.length, 2);
  // Whatever was to be written after the first pass is written before this is put right.
  await patch(m1, configMapPath('twice'), { data: { a: 'theirs' } });
  await eventually('it is put right', async () => (await read(m1, configMapPath('twice')))?.['data'].a === '2');
  assert.deepEqual(await writesSince(mark, 'twice'), ['create twice', 'update twice']);
});

test('fields with dots in their names are left to others', async () => {
  const jsonPaths = [".metadata.annotations['example.org/owner']", String.raw`.data.app\.conf`];
  const serverSideApply = { force: true, ignoreFields: [{ condition: 'OnSpokePresent', jsonPaths }] };
  const manifestConfigs = [configFor('dotted', { updateStrategy: { type: 'ServerSideApply', serverSideApply } })];
  const dotted = (other: string): object =>
    configMap('dotted', { 'app.conf': 'hub', other }, { annotations: { 'example.org/owner': 'hub' } });
  await applied('dotted', [dotted('1')], { manifestConfigs });
  const theirs = { metadata: { annotations: { 'example.org/owner': 'spoke' } }, data: { 'app.conf': 'spoke' } };
  await patch(m1, configMapPath('dotted'), theirs);
  await applied('dotted', [dotted('2')], { manifestConfigs });
  const { data, metadata } = (await read(m1, configMapPath('dotted')))!;
  assert.deepEqual(data, { 'app.conf': 'spoke', other: '2' });
  assert.equal(metadata.annotations['example.org/owner'], 'spoke');
});

test('a Secret whose type changes is made anew, and one that another owns too is not', async () => {
  const secret = (type: string): Json => object('Secret', 'typed', { type, stringData: { a: '1' } });
  await applied('typed', [secret('example.org/a')]);
  const path = at('/api/v1', 'secrets', 'typed');
  const first = (await read(m1, path))!;
  await applied('typed', [secret('example.org/b')]);
  const second = (await read(m1, path))!;
  assert.equal(second['type'], 'example.org/b');
  assert.notEqual(second['metadata'].uid, first['metadata'].uid);
  await applied('typed2', [secret('example.org/b')]);
  await put(hub, manifestWork('typed', [secret('example.org/c')]));
  const refused = await hasCondition(hub, workPath('typed'), 'Applied', 'False');
  assert.match(conditionIn(manifestAt(refused, 0), 'Applied').message, /field is immutable/);
  assert.equal((await read(m1, path))!['metadata'].uid, second['metadata'].uid);
});

test('integers of 64 bits reach the cluster and come back with all their digits, also past values that are none', async () => {
  const group = 't.example.org';
  await m1.apply(customResource(`bigs.${group}`, 'Big'));
  const path = at(`/apis/${group}/v1`, 'bigs', 'big');
  const big = (label: string): Json =>
    object(
      'Big',
      'big',
      { spec: parseExact('{"id":9007199254740993,"most":9223372036854775807,"n":1e+21}') },
      `${group}/v1`,
      { labels: { label } },
    );
  const jsonPaths = ['id', 'most', 'n'].map((name) => ({ name, path: `.spec.${name}` }));
  const identifier = { group, resource: 'bigs', name: 'big', namespace: 'ns1' };
  const manifestConfigs = [{ resourceIdentifier: identifier, feedbackRules: [{ type: 'JSONPaths', jsonPaths }] }];
  for (const label of ['one', 'two']) {
    await applied('big', [big(label)], { manifestConfigs });
    const { body } = await m1.request('GET', path);
    assert.match(body, /"id":9007199254740993,"most":9223372036854775807/);
    assert.ok(body.includes(`"label":"${label}"`));
  }
  // A change in the cluster is put right with the same digits.
  await patch(m1, path, { spec: { id: 5 } });
  await eventually('the number is put right', async () =>
    (await m1.request('GET', path)).body.includes('"id":9007199254740993'),
  );
  const { body } = await hub.request('GET', workPath('big'));
  assert.match(body, /"integer":9007199254740993,.*"integer":9223372036854775807/);
  const [reported] = (JSON.parse(body) as Json).status.resourceStatus.manifests;
  const synced = conditionIn(reported, 'StatusFeedbackSynced');
  assert.deepEqual([synced.status, reported.statusFeedback.values.length], ['False', 2]);
  assert.match(synced.message, /float64 of the value for n/);
});

test('a deletion that the cluster refuses is told on the hub, with the words of the cluster', async () => {
  const admission = 'admissionregistration.k8s.io/v1';
  await m1.apply(
    {
      ...{ apiVersion: admission, kind: 'ValidatingAdmissionPolicy', metadata: { name: 'keep' } },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }],
        },
        validations: [{ expression: "!oldObject.metadata.name.startsWith('kept')", message: 'kept by decree' }],
      },
    },
    {
      ...{ apiVersion: admission, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: 'keep' } },
      spec: { policyName: 'keep', validationActions: ['Deny'] },
    },
  );
  await applied('kept', [configMap('kept', { a: '1' })]);
  await eventually('the policy counts', async () => {
    const { status } = await m1.request('DELETE', `${configMapPath('kept')}?dryRun=All`);
    return status === 422;
  });
  assert.equal((await hub.request('DELETE', workPath('kept'))).status, 200);
  await eventually('the hub tells it', async () =>
    JSON.stringify((await read(hub, workPath('kept')))?.['status'].conditions).includes('kept by decree'),
  );
  const policy = `/apis/${admission}/validatingadmissionpolicybindings/keep`;
  assert.equal((await m1.request('DELETE', policy)).status, 200);
  await eventually('the work is gone', async () => (await hub.request('GET', workPath('kept'))).status === 404);
});
