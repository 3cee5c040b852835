// Requests that Karmada's proxying path sends on to the cluster that has an object: with which rights, as whom, with
// which bytes, and what the audit log says of them. The clusters are simulated, and "was refused" is half of it; the
// other half is that the cluster heard nothing.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { stringify } from 'yaml';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { Answer, AskOptions, IndexSite } from './index-site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const proxying = '/apis/search.karmada.io/v1alpha1/proxying/karmada/proxy';
const configMaps = '/api/v1/namespaces/shop/configmaps';
const pod = '/api/v1/namespaces/shop/pods/web';
const cached = 'resource.karmada.io/cached-from-cluster';
let site: IndexSite;
const folder = tempDir('karmada');
let auditLog: string;

function configMap(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data: { text: 'first' } };
}

const user = (name: string): object => ({ kind: 'User', name });
const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], nonResourceURLs: ['*'] };
const reading = { verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] };
/** Everybody may use Karmada's paths; who may use which cluster differs. */
const rules = [
  { subjects: ['admin', 'reader', 'deputy'].map(user), ...all, apiGroups: ['search.karmada.io'] },
  {
    subjects: [user('admin')],
    clusters: ['alpha', 'beta'],
    ...all,
    verbs: ['get', 'list', 'watch', 'update', 'patch', 'create', 'delete'],
  },
  { subjects: [user('reader')], clusters: ['alpha', 'beta'], ...reading },
  { subjects: [user('deputy')], clusters: ['alpha'], ...all },
];

before(async () => {
  auditLog = join(folder, 'audit.log');
  const file = (name: string, content: object): string => {
    writeFileSync(join(folder, name), stringify(content));
    return join(folder, name);
  };
  const everybody = ['admin', 'reader', 'deputy'].map((name) => binding(name, 'cluster-admin', name));
  const main = { name: 'main', image: 'busybox' };
  const running = { metadata: { name: 'web', namespace: 'shop' }, spec: { containers: [main] } };
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
  site = await startIndexSite(
    ['admin', 'reader', 'deputy'],
    {
      alpha: [...everybody, namespace, configMap('one'), configMap('both')],
      beta: [
        ...everybody,
        namespace,
        configMap('two'),
        configMap('both'),
        { apiVersion: 'v1', kind: 'Pod', ...running },
      ],
    },
    {
      indexResources: 'configmaps,pods',
      authorizationRules: file('rules.yaml', {
        apiVersion: 'gateway.portcullis.io/v1alpha1',
        kind: 'AuthorizationRules',
        rules,
      }),
      // Only what is done in a container is recorded.
      auditPolicyFile: file('policy.yaml', {
        apiVersion: 'audit.k8s.io/v1',
        kind: 'Policy',
        rules: [
          {
            level: 'Metadata',
            resources: [{ group: '', resources: ['pods/log', 'configmaps'] }],
            verbs: ['get', 'update'],
          },
          { level: 'None' },
        ],
      }),
      auditLogPath: auditLog,
    },
  );
  await eventually('the index has both clusters', async () => {
    const { items = [] } = (await ask(configMaps)).json<{ readonly items?: readonly unknown[] }>();
    return items.length === 4 && (await ask(pod)).status === 200;
  });
});

after(async () => {
  await site?.close();
});

beforeEach(() => {
  for (const { audit } of Object.values(site.members)) audit.clear();
});

async function ask(path: string, who = 'admin', options: AskOptions = {}): Promise<Answer> {
  return await site.ask(proxying + path, who, options);
}

/** What a member heard of requests that callers sent. */
function heard(member: string): readonly string[] {
  return site.members[member]!.audit.entries.filter(
    ({ impersonatedUser }) => impersonatedUser?.name !== 'portcullis:index' && impersonatedUser !== undefined,
  ).map(({ method, path, impersonatedUser }) => `${impersonatedUser!.name} ${method} ${path}`);
}

const merge = { 'content-type': 'application/merge-patch+json' };

test('a write is sent once, to the cluster that has the object, as the caller', async () => {
  const answer = await ask(`${configMaps}/two?fieldManager=x`, 'admin', {
    method: 'PATCH',
    headers: merge,
    body: { data: { text: 'second' } },
  });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(heard('beta'), [`admin PATCH ${configMaps}/two?fieldManager=x`]);
  assert.deepEqual(heard('alpha'), []);
});

test('an update arrives as the cluster knows the object, with every other byte as it was sent', async () => {
  const read = (await ask(`${configMaps}/one`)).text;
  assert.match(read, new RegExp(`"${cached}":"alpha"`));
  const body = read.replace('"data":{', '"data":{"big":"x","y":"\\u00e9",').trim();
  assert.equal((await ask(`${configMaps}/one`, 'admin', { method: 'PUT', body })).status, 200);
  const stored = (await site.ask(`/clusters/alpha/proxy${configMaps}/one`)).json<JsonObject>();
  assert.deepEqual((stored['data'] as JsonObject)['y'], 'é');
  assert.doesNotMatch(JSON.stringify(stored), /cached-from-cluster|shadow\.clusterpedia/);
  for (const type of ['application/vnd.kubernetes.protobuf', 'application/yaml']) {
    const refused = await ask(`${configMaps}/one`, 'admin', { method: 'PUT', body, headers: { 'content-type': type } });
    assert.equal(refused.status, 415, refused.text);
  }
  assert.equal(heard('alpha').filter((line) => line.startsWith('admin PUT')).length, 1);
});

test('who may not do it in that cluster by the rules of the gateway is refused, and the cluster hears nothing', async () => {
  const body = { data: {} };
  for (const [who, name] of [
    ['reader', 'two'],
    ['deputy', 'two'],
  ] as const) {
    const answer = await ask(`${configMaps}/${name}`, who, { method: 'PATCH', headers: merge, body });
    assert.equal(answer.status, who === 'reader' ? 403 : 404, answer.text);
    if (who === 'deputy') assert.doesNotMatch(answer.text, /beta/, 'which clusters there are is not told');
  }
  // What he may not reach is no second owner either.
  const own = await ask(`${configMaps}/both`, 'deputy', { method: 'PATCH', headers: merge, body });
  assert.equal(own.status, 200, own.text);
  assert.deepEqual(heard('beta'), []);
  assert.deepEqual(heard('alpha'), [`deputy PATCH ${configMaps}/both`]);
});

test('acting as another user needs the right to impersonate in that cluster, and headers of a caller pass for nobody', async () => {
  const as = await ask(`${configMaps}/two`, 'admin', {
    method: 'DELETE',
    headers: { 'impersonate-user': 'deputy' },
  });
  assert.equal(as.status, 403, as.text);
  const forged = await ask(`${configMaps}/two`, 'reader', {
    method: 'DELETE',
    headers: { 'x-remote-user': 'admin', connection: 'impersonate-user' },
  });
  assert.equal(forged.status, 403, forged.text);
  assert.deepEqual([...heard('alpha'), ...heard('beta')], []);
});

test('what names no object, or is in several clusters, is sent to none', async () => {
  const requests: readonly (readonly [method: string, path: string, status: number])[] = [
    ['POST', configMaps, 405],
    ['DELETE', configMaps, 405],
    ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 405],
    ['POST', '/api', 405],
    ['DELETE', `${configMaps}/both`, 409],
    ['DELETE', `${configMaps}/nowhere`, 404],
    ['DELETE', '/apis/apps/v1/namespaces/shop/deployments/web', 404],
    ['GET', '/api/v1/namespaces/shop/secrets/x/status', 404],
    ['DELETE', `/clusters/beta${configMaps}/two`, 405],
  ];
  for (const [method, path, status] of requests) {
    const answer = await ask(path, 'admin', { method, ...(method === 'POST' ? { body: {} } : {}) });
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  }
  const escaped = await site.ask(`${proxying.replace('karmada/proxy', 'karmad%61/proxy')}${configMaps}/two`, 'admin');
  assert.equal(escaped.status, 400, escaped.text);
  assert.deepEqual([...heard('alpha'), ...heard('beta')], []);
});

test('the audit log says what was done in which cluster, not that a path was asked', async () => {
  assert.equal((await ask(`${pod}/log?container=main`)).status, 200);
  const event = await eventually('the event is written', () => {
    const lines = readFileSync(auditLog, 'utf8').trim().split('\n');
    return lines
      .map((line) => JSON.parse(line) as JsonObject)
      .find((each) => (each['objectRef'] as JsonObject | undefined)?.['subresource'] === 'log');
  });
  assert.equal(event['verb'], 'get');
  assert.deepEqual(
    { ...(event['objectRef'] as JsonObject) },
    { resource: 'pods', namespace: 'shop', name: 'web', apiVersion: 'v1', subresource: 'log' },
  );
  await eventually('the end of it names the cluster', () => readFileSync(auditLog, 'utf8').includes('cluster":"beta"'));
});

/**
 * What a caller is told: everything but what differs from request to request by itself. The resource version of a list
 * is the index's own, which grows with each object that it writes meanwhile.
 */
function reported({ status, headers, text }: Answer): object {
  const { 'audit-id': _id, date: _date, ...rest } = headers;
  return { status, headers: rest, text: text.replaceAll(/"resourceVersion":"\d+"/g, '"resourceVersion":"0"') };
}

const upgrade = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'eA==',
};
const cache = '/apis/search.karmada.io/v1alpha1/search/cache';

test('an object of a cluster that the caller may not reach is answered exactly like one that nobody has', async () => {
  const requests: readonly (readonly [path: (name: string) => string, options?: AskOptions])[] = [
    [(name) => `${configMaps}/${name}`],
    [(name) => `${configMaps}/${name}`, { method: 'HEAD' }],
    [(name) => `${configMaps}/${name}`, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } }],
    [(name) => `${configMaps}?fieldSelector=metadata.name%3D${name}&limit=1&withRemainingCount`],
    [(name) => `${configMaps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3D${name}`],
    [(name) => `${configMaps}?ownerName=${name}`],
    [(name) => `${configMaps}/${name}`, { method: 'PATCH', headers: merge, body: {} }],
    [(name) => `${configMaps}/${name}`, { method: 'PUT', body: configMap('two') }],
    [(name) => `${configMaps}/${name}`, { method: 'PUT', body: 'x', headers: { 'content-type': 'text/plain' } }],
    [(name) => `${configMaps}/${name}?dryRun=All`, { method: 'DELETE' }],
    [(name) => `/api/v1/namespaces/shop/pods/${name}/log`],
    [(name) => `/api/v1/namespaces/shop/pods/${name}/eviction`, { method: 'POST', body: {} }],
    [(name) => `/api/v1/namespaces/shop/pods/${name}/exec?command=id`, { headers: upgrade }],
    [(name) => `/api/v1/namespaces/shop/pods/${name}/proxy/x`],
  ];
  for (const [path, options] of requests) {
    // `two` and `web` are in beta, which the deputy may not reach. Names are of one length, so that headers compare.
    const there = path('N').includes('/pods/') ? 'web' : 'two';
    const hidden = reported(await ask(path(there), 'deputy', options));
    const missing = reported(await ask(path('zzz'), 'deputy', options));
    const text = JSON.stringify(hidden).replaceAll(there, 'zzz');
    assert.equal(text, JSON.stringify(missing), `${options?.method} ${path('N')}`);
    assert.doesNotMatch(text, /beta/);
  }
  const list = async (name: string): Promise<string> =>
    JSON.stringify(reported(await site.ask(`${cache}${configMaps}/${name}`, 'deputy')));
  assert.equal(await list('two'), await list('zzz'));
  assert.deepEqual(heard('beta'), []);
});

test('resource metrics are asked of the clusters that the caller may reach, by both of the paths', async () => {
  const path = '/apis/metrics.k8s.io/v1beta1/pods';
  for (const prefix of [proxying, cache]) {
    const answer = await site.ask(prefix + path, 'deputy');
    // No cluster serves them, and each says so itself.
    assert.equal(answer.status, 404, answer.text);
    assert.doesNotMatch(answer.text + JSON.stringify(answer.headers), /beta|not indexed/);
  }
  assert.deepEqual(heard('alpha'), [`deputy GET ${path}`, `deputy GET ${path}`]);
  assert.deepEqual(heard('beta'), []);
});
