// What sync keeps of a real kube-apiserver is what its GET answers, through CRDs that come and go, a restart, a member
// wiped and made anew behind the same address, and one restored to an older revision. Each fault must really have
// happened.
// Landing tier: the index follows its clusters.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { indexRules } from '../../../lib/rights/index-rules.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { readSpelt, withoutRemoved } from '../../index/lossless-json.ts';
import { memberSpec, startSyncSite, type SyncSite } from '../../index/sync-site.ts';
import { backUpEtcd, wipeMember } from '../member-lives.ts';
import { eventually } from '../../site/polling.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';

const rbac = 'rbac.authorization.k8s.io';
const configMaps = { group: '', resource: 'configmaps' };
const widgets = { group: 'example.com', resource: 'widgets' };
const resources = ['configmaps', 'secrets', 'services', 'widgets.example.com', `clusterroles.${rbac}`];
const collection = '/api/v1/namespaces/team-a/configmaps';

let plane: ControlPlane;
let member: Member;
let site: SyncSite | undefined;
/** An etcd of this file, once it has taken the place of the fixture's. */
let ownEtcd: ChildProcess | undefined;

before(async () => {
  plane = await startControlPlane({ members: ['m1'], bare: ['m1'] });
  member = plane.member('m1');
  await grantIndex();
});
after(async () => {
  await site?.close();
  // Its folder goes with the control plane.
  ownEtcd?.kill('SIGKILL');
  await plane?.stop();
});

/** What `generate member-access --index` prints. */
async function grantIndex(): Promise<void> {
  const rules = indexRules(resources);
  await member.apply(...grantedClusterRole('portcullis-index', rules, userSubject('portcullis:index')));
}

async function start(directory = mkdtempSync(join(plane.dir, 'index-'))): Promise<SyncSite> {
  await site?.close();
  site = await startSyncSite({ directory, specs: [memberSpec('m1', member, member.gatewayToken)], resources });
  return site;
}

/** One request as admin; the body as it is. */
async function send(
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
): Promise<string> {
  const answer = await member.request(method, path, body, headers);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.body.slice(0, 500)}`);
  return answer.body;
}

const configMap = (name: string, data: Readonly<Record<string, string>>, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data,
});

/** Rows of a type against GET of each object of it, in all namespaces. */
async function assertSame(
  type: { readonly group: string; readonly resource: string },
  version: string,
): Promise<number> {
  const root = type.group === '' ? `/api/${version}` : `/apis/${type.group}/${version}`;
  return await eventually(
    `${type.resource} are the member's`,
    async () => {
      const rows = await site!.rows(type);
      const list = JSON.parse(await send('GET', `${root}/${type.resource}`)) as {
        readonly items: readonly { readonly metadata: { readonly namespace?: string; readonly name: string } }[];
      };
      const keys = list.items.map(({ metadata: { namespace = '', name } }) => `m1/${namespace}/${name}`);
      assert.deepEqual([...rows.keys()].toSorted(), keys.toSorted());
      for (const { metadata } of list.items) {
        const { namespace = '', name } = metadata;
        const scope = namespace === '' ? '' : `/namespaces/${namespace}`;
        const wanted = await send('GET', `${root}${scope}/${type.resource}/${name}`);
        const row = rows.get(`m1/${namespace}/${name}`)!;
        assert.equal(JSON.parse(row).metadata.annotations['shadow.clusterpedia.io/cluster-name'], 'm1');
        assert.deepEqual(withoutRemoved(readSpelt(row)), withoutRemoved(readSpelt(wanted)), name);
      }
      // 0 would read as "not yet".
      return keys.length + 1;
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
}

const widgetCrd = (columns: readonly object[] = []): object =>
  customResource('widgets.example.com', 'Widget', {
    names: { shortNames: ['wd'] },
    versions: ['v1', 'v1beta1'],
    stored: 'v1beta1',
    version: columns.length === 0 ? {} : { additionalPrinterColumns: columns },
  });

test('rows equal the GET of the member for every odd object of the corpus', async () => {
  await member.apply(widgetCrd());
  await eventually(
    'widgets are served',
    async () => (await member.request('GET', '/apis/example.com/v1/widgets')).status === 200,
  );
  const odd =
    '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"odd","namespace":"team-a","annotations":{"a":"1.0"}},' +
    '"spec":{"2":"two","10":"ten","1":"one","big":9007199254740993,"negative":-9007199254740993,"one":1.0,"small":0.1,"huge":1e21,"text":"<a href=\\"&\\">\\u2028\\u00e9\\ud83d\\ude00",' +
    '"__proto__":{"x":1},"constructor":{"prototype":null},"empty":{},"none":[],"nested":[[[{"a":[]}]]]}}';
  await send('POST', '/apis/example.com/v1/namespaces/team-a/widgets', odd);
  await send(
    'POST',
    collection,
    configMap('escapes', { a: '<script>&amp;\u2028\u2029', '1': 'x', '10': 'y', '2': 'z', __proto__: 'p' }),
  );
  await send('POST', '/apis/example.com/v1/namespaces/team-a/widgets', {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'large' },
    spec: { blob: `"\\<${'x'.repeat(1_000_000)}`, other: 'é'.repeat(200_000) },
  });
  await member.apply({
    ...configMap('applied', { a: 'b' }),
    metadata: { name: 'applied', namespace: 'team-a', labels: { app: 'web' } },
  });
  await member.kubectl(['-n', 'team-a', 'create', 'configmap', 'by-kubectl', '--from-literal=a=b', '--save-config']);
  assert.match(await send('GET', `${collection}/by-kubectl`), /last-applied-configuration/);
  await start();
  assert.ok((await assertSame(configMaps, 'v1')) > 4);
  // One version a row: the one that is stored.
  assert.equal(await assertSame(widgets, 'v1beta1'), 3);
  await assertSame({ group: '', resource: 'services' }, 'v1');
  await assertSame({ group: rbac, resource: 'clusterroles' }, 'v1');
  const texts = [...(await site!.rows(configMaps)).values()].join('');
  assert.doesNotMatch(texts, /last-applied-configuration|managedFields/);
});

test('a Secret is kept without its data, counted, and cannot be written back', async () => {
  await send('POST', '/api/v1/namespaces/team-a/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'pass' },
    stringData: { user: 'root', password: 'hunter2' },
  });
  const row = await eventually('the Secret is there', async () =>
    (await site!.rows({ group: '', resource: 'secrets' })).get('m1/team-a/pass'),
  );
  assert.doesNotMatch(row, /aHVudGVyMg|cm9vdA|"data":\{/);
  const { metadata } = JSON.parse(row);
  assert.equal(metadata.resourceVersion, '1');
  assert.equal(metadata.annotations['search.portcullis.io/data-count'], '2');
  const put = await member.request('PUT', '/api/v1/namespaces/team-a/secrets/pass', row);
  assert.equal(put.status, 409, put.body);
});

test('members are followed live: objects, CRDs and their columns', async () => {
  await send('POST', collection, configMap('live', { a: '1' }));
  await assertSame(configMaps, 'v1');
  await send('DELETE', `${collection}/live`);
  await assertSame(configMaps, 'v1');
  await member.apply(widgetCrd([{ name: 'Size', type: 'string', jsonPath: '.spec.size' }]));
  await eventually(
    'the new column is known',
    () => site!.state('m1', 'widgets')?.type.printerColumns?.['v1']?.length === 1,
  );
  await send('DELETE', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com');
  await eventually('the type is gone with its rows', async () => {
    return (await site!.rows(widgets)).size === 0 && site!.state('m1', 'widgets') === undefined;
  });
  await member.apply(widgetCrd());
  await eventually(
    'widgets are served',
    async () => (await member.request('GET', '/apis/example.com/v1/widgets')).status === 200,
  );
  await send('POST', '/apis/example.com/v1/namespaces/team-a/widgets', {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'again' },
    spec: { size: 'l' },
  });
  assert.equal(await assertSame(widgets, 'v1beta1'), 2);
});

test('a restart writes only what changed, and lists nothing again; so does the death of the API server', async () => {
  const directory = mkdtempSync(join(plane.dir, 'index-'));
  await start(directory);
  await assertSame(configMaps, 'v1');
  await eventually('all are watched', () => site!.sync.state()[0]?.types.every(({ phase }) => phase === 'watching'));
  await site!.close();
  await send('POST', collection, configMap('while-away', { a: '1' }));
  await send('DELETE', `${collection}/applied`);
  const mark = await member.auditMark();
  await start(directory);
  await assertSame(configMaps, 'v1');
  assert.deepEqual(site!.counts(), { written: 1, deleted: 1 });
  const listed = async (): Promise<readonly string[]> =>
    (await member.audit(mark))
      .filter(({ verb, impersonatedUser }) => verb === 'list' && impersonatedUser?.username === 'portcullis:index')
      .map(({ requestURI }) => requestURI)
      .filter((uri) => uri.includes('/configmaps?limit=500'));
  assert.deepEqual(await listed(), []);
  const before = site!.counts();
  await member.kill();
  await eventually('it is noticed', () => site!.state('m1', 'configmaps')?.phase === 'failing');
  const stored = (await site!.store.types()).find(({ type }) => type.resource === 'configmaps');
  const position = stored!.position.resourceVersion;
  await member.restart();
  await send('POST', collection, configMap('after-death', { a: '1' }));
  await assertSame(configMaps, 'v1');
  const { written } = site!.counts();
  // The restarted API server writes some of its own objects (leases are not followed).
  assert.ok(written - before.written <= 10, `${written - before.written} rows were written`);
  // An API server that has begun anew has no history: it says 410 to who stopped at an older version than it began
  // with, however little that is.
  const oldest = await send('GET', `/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=${position}`);
  if (!/"code":410/.test(oldest)) assert.deepEqual(await listed(), []);
});

test('a member restored to an older revision is noticed, though it refuses no watch', async () => {
  await send('POST', collection, configMap('kept', { a: 'old' }));
  const backup = backUpEtcd(plane, 'etcd-backup');
  await send('PUT', `${collection}/kept`, configMap('kept', { a: 'new' }));
  await send('POST', collection, configMap('lost', { a: '1' }));
  await send('DELETE', `${collection}/escapes`);
  for (let i = 0; i < 20; i += 1) await send('PUT', `${collection}/kept`, configMap('kept', { a: `new-${i}` }));
  await assertSame(configMaps, 'v1');
  const newest = Number(JSON.parse(await send('GET', `${collection}/kept`)).metadata.resourceVersion);
  ownEtcd = await backup.restore();
  assert.equal(JSON.parse(await send('GET', `${collection}/kept`)).data.a, 'old');
  assert.ok(Number(JSON.parse(await send('GET', collection)).metadata.resourceVersion) < newest);
  await assertSame(configMaps, 'v1');
  const rows = await site!.rows(configMaps);
  assert.ok(rows.has('m1/team-a/escapes') && !rows.has('m1/team-a/lost'));
});

test('a member wiped and made anew behind the same address is another one: no row of its former life stays', async () => {
  const [stored] = await site!.store.types();
  const formerId = stored!.incarnation.id;
  await wipeMember(member);
  await grantIndex();
  await send('POST', collection, configMap('born', { a: '1' }));
  await assertSame(configMaps, 'v1');
  await eventually('nothing of the former life is kept', async () => {
    const types = await site!.store.types();
    return types.length > 0 && types.every(({ incarnation }) => incarnation.id !== formerId);
  });
});
