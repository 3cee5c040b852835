// Request targets that two servers could read differently. Over real sockets and both protocols each is refused and
// nothing goes upstream, or the member gets exactly the bytes that were sent.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { exchange, openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import type { RawAnswer, RawClient } from '../../site/raw-client.ts';
import { rawHttp2 } from '../../site/raw-http2.ts';
import type { RawOutcome } from '../../site/raw-http2.ts';
import { startSite } from '../../site/site.ts';
import type { Site } from '../../site/site.ts';

const auth = 'Authorization: Bearer alice-token';
let site: Site;
let client: RawClient | undefined;

before(async () => {
  site = await startSite({
    users: [{ token: 'alice-token', name: 'alice' }],
    // As behind Rancher: the same server and credential, and only the path says which cluster.
    contexts: ([first]) => [{ ...first!, name: 'based', server: `${first!.server}/k8s/clusters/c-1` }],
  });
});

after(() => {
  client?.close();
  site.close();
});
afterEach(() => void site.members[0]!.requests.splice(0));

/** Sends over HTTP/1.1, on one connection as long as it lives. */
async function ask(request: string): Promise<RawAnswer> {
  if (client === undefined || client.socket.destroyed || !client.socket.writable) client = await openRaw(site);
  client.send(request);
  const answer = await client.answer();
  if (answer.values('connection').includes('close')) {
    client.close();
    client = undefined;
  }
  return answer;
}

function askHttp2(path: string, change: readonly (readonly [string, string])[] = []): Promise<RawOutcome> {
  const pseudo = new Map([
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', 'gateway.test'],
    [':path', path],
    ...change,
  ]);
  return rawHttp2(site, { headers: [...pseudo, ['authorization', 'Bearer alice-token']] });
}

const member = '/clusters/m1/proxy';
const aggregated = '/apis/gateway.portcullis.io/v1alpha1/clusters/m1/proxy';
const application = '/api/v1/namespaces/default/services/https:web:8443/proxy';

/** What stands behind the prefix of a cluster. */
const dots = [
  '/..',
  '/../',
  '/../..',
  '/../../based/proxy/api',
  '/./api',
  '/.',
  '/api/../../..',
  '/%2e%2e/based',
  '/%2E%2e',
  '/.%2e/x',
  '/%2e./x',
  '/%2e/x',
  '/%252e%252e/x',
  '/%25252e%25252e/x',
  '/..%2f..%2fbased/proxy',
  '/..%2F',
  '/..%5c..%5cx',
  '/..\\..\\x',
  '/..;/x',
  '/..;a=b/x',
  '/;../x',
  '/.;/x',
  '/..%3b/x',
  '/%2e%2e%3bx/y',
];
const odd = [
  '/api/v1/namespaces/a%2Fb/pods',
  '/api/v1/namespaces/a%2fb/pods',
  '/api/v1/namespaces/a%5Cb/pods',
  '/api/v1/namespaces/a%252fb/pods',
  '/api/v1/namespaces/a%00b/pods',
  '/api/v1/namespaces/a%0d%0ab/pods',
  '/api/v1/namespaces/a%7fb/pods',
  '/api/v1/namespaces/a%zzb/pods',
  '/api/v1/namespaces/a%2',
  '/api/v1/namespaces/a%',
  '/api/v1/namespaces/%ff/pods',
  '/api/v1/namespaces/%c0%ae%c0%ae/pods',
  '/api/v1\\pods',
  '/api/v1/pods#fragment',
  '/api/v1/pods?x=1#fragment',
  '//api/v1/secrets',
  '/api//v1/secrets',
  '/api/v1//secrets',
  '/api/v1/secrets//',
  '//',
  '/http://evil.test/',
];
const inApplication = [
  ...dots,
  '/a/%2e%2e%2f%2e%2e/x',
  '/a%5c..%5cx',
  '/a%2f..%2fb',
  '/a/%zz',
  '/a%00',
  '/a%0d%0aX:%20y',
];

for (const [name, prefix, paths] of [
  ['below a cluster', member, [...dots, ...odd]],
  ['below a cluster in the aggregated form', aggregated, dots],
  ['below a cluster whose server has a path of its own', '/clusters/based/proxy', dots],
  ['below an application', member + application, inApplication],
] as const) {
  test(`dot segments and double readings ${name} are 400 over both protocols, nothing upstream (ATT-12, ATT-13)`, async () => {
    for (const path of paths) {
      const answer = await ask(requestBytes(`GET ${prefix}${path}`, [auth]));
      assert.equal(answer.status, 400, `${prefix}${path} answered ${answer.status}`);
      const outcome = await askHttp2(prefix + path);
      assert.ok(outcome === 400 || outcome === 'reset', `${prefix}${path} over HTTP/2: ${outcome}`);
    }
    assert.equal(site.upstream(), 0);
  });
}

test('upgrades go the same way (ATT-12)', async () => {
  for (const path of [...dots, '/api/v1/namespaces/a%2Fb/pods/p/exec', '//api/v1/namespaces/a/pods/p/exec']) {
    const answer = await ask(requestBytes(`GET ${member}${path}`, [auth, ...upgradeLines('websocket')]));
    assert.equal(answer.status, 400, path);
  }
  assert.equal(site.upstream(), 0);
});

test('the part of the path that is ours has one spelling (ATT-13)', async () => {
  for (const path of [
    '//clusters/m1/proxy/api',
    '/clusters//m1/proxy/api',
    '/clusters/m1//proxy/api',
    '/clusters/./m1/proxy/api',
    '/clusters/x/../m1/proxy/api',
    '/clusters/m1%2fproxy/proxy/api',
    '/clusters/m1%20/proxy/api',
    '/clusters/m1%2f..%2fbased/proxy/api',
    '/%63lusters/m1/proxy/api',
    '/clusters/%6d1/proxy/api',
    '/clusters/m1/%70roxy/api',
    '/clusters/m1/proxy%2fapi',
    '/apis/gateway.portcullis.io/v1alpha1/clusters/m1/%70roxy/api',
  ]) {
    assert.equal((await ask(requestBytes(`GET ${path}`, [auth]))).status, 400, path);
    assert.equal(await askHttp2(path), 400, path);
  }
  for (const path of [
    '/Clusters/m1/proxy/api',
    '/clusters/M1/proxy/api',
    '/clusters/m1/Proxy/api',
    '/clusters/m1/proxyx/api',
    '/clusters/m1/proxy@evil.test/api',
    '/clusters/m1@evil.test/proxy/api',
    '/clusters/m1;x/proxy/api',
    // The star itself stands for every cluster (test/integration/fanout.test.ts); next to anything else it is part of a
    // name.
    '/clusters/**/proxy/api',
    '/clusters/*1/proxy/api',
    '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/*/proxy/api',
    '/api/v1/pods',
    '/apis/apps/v1/deployments',
  ]) {
    assert.equal((await ask(requestBytes(`GET ${path}`, [auth]))).status, 404, path);
    assert.equal(await askHttp2(path), 404, path);
  }
  assert.equal(site.upstream(), 0);
});

test('what is accepted arrives byte for byte (ATT-13)', async () => {
  const { port, requests } = site.members[0]!;
  for (const [sent, arrives] of [
    [member, '/'],
    [`${member}/`, '/'],
    [`${member}?x=1`, '/?x=1'],
    [`${member}/api/v1/pods?labelSelector=a%3Db&continue=..%2f../%zz//@evil.test`, undefined],
    [`${member}/api/v1/namespaces/%C3%BC/pods`, undefined],
    [`${member}/api/v1/namespaces/%c3%bc/pods/a%20b`, undefined],
    [`${member}/@evil.test/x`, undefined],
    [`${member}/api/v1/pods/`, undefined],
    [`${member}/api/v1/pods/...`, undefined],
    [`${member}/api/v1/pods/..x`, undefined],
    [`${member}${application}`, undefined],
    [`${member}${application}/a%2Fb//c;v=1/%5C%25/?x=//../`, undefined],
    [`${aggregated}/api/v1/pods?limit=1`, '/api/v1/pods?limit=1'],
    ['/clusters/based/proxy/api/v1/pods?x=/../', '/k8s/clusters/c-1/api/v1/pods?x=/../'],
    ['/clusters/based/proxy', '/k8s/clusters/c-1/'],
  ] as const) {
    const expected = arrives ?? sent.slice(member.length);
    assert.equal((await ask(requestBytes(`GET ${sent}`, [auth]))).status, 200, sent);
    assert.equal(await askHttp2(sent), 200, sent);
    for (const { target, values } of requests.splice(0)) {
      assert.equal(target, expected);
      assert.deepEqual(values('host'), [`127.0.0.1:${port}`]);
    }
  }
});

test('targets that are no path are refused (ATT-14)', async () => {
  for (const line of [
    'GET http://evil.test/api',
    'GET https://evil.test/clusters/m1/proxy/api',
    'GET https://gateway.test/clusters/m1/proxy/api',
    'GET https://user:password@gateway.test/clusters/m1/proxy/api',
    'GET clusters/m1/proxy/api',
    'GET @evil.test/clusters/m1/proxy/api',
    'GET ?x=/clusters/m1/proxy/api',
    'OPTIONS *',
    'GET *',
    'GET \t/clusters/m1/proxy/api',
    'GET /clusters/m1/proxy/api v1',
    'GET /clusters/m1/proxy/api\tx',
    'GET /clusters/m1/proxy/api\x0bx',
    'GET /clusters/m1/proxy/api\x00',
    'GET /clusters/m1/proxy/\xc3\xbc',
    'GET /clusters/m1/proxy/api?x=\xc3\xbc',
    'GET /clusters/m1/proxy/api?x=a\x7f',
  ]) {
    const answer = await ask(requestBytes(line, [auth]));
    assert.equal(answer.status, 400, JSON.stringify(line));
  }
  assert.equal(site.upstream(), 0);
});

test('CONNECT is refused over both protocols (ATT-14)', async () => {
  for (const target of ['evil.test:443', `127.0.0.1:${site.members[0]!.port}`, '/clusters/m1/proxy/api']) {
    const answer = await ask(requestBytes(`CONNECT ${target}`, [auth]));
    assert.ok(answer.status === 405 || answer.status === 400, String(answer.status));
    assert.deepEqual(answer.values('connection'), ['close']);
  }
  const headers = [
    [':method', 'CONNECT'],
    [':authority', `127.0.0.1:${site.members[0]!.port}`],
    ['authorization', 'Bearer alice-token'],
  ] as const;
  const outcome = await rawHttp2(site, { headers });
  assert.ok([400, 405, 'reset'].includes(outcome), String(outcome));
  assert.equal(site.upstream(), 0);
});

test('pseudo headers that do not fit together are refused (ATT-14)', async () => {
  const path = `${member}/api`;
  for (const change of [
    [[':path', '']],
    [[':path', 'clusters/m1/proxy/api']],
    [[':path', '*']],
    [[':path', 'https://evil.test/clusters/m1/proxy/api']],
    [[':path', `${path} HTTP/1.1\r\nX: y`]],
    [[':path', `${path}\tx`]],
    [[':path', `${path}\u00fc`]],
    [[':method', 'GET /x HTTP/1.1\r\nX:']],
    [[':protocol', 'websocket']],
    [['host', 'evil.test']],
    [[':unknown', 'x']],
  ] as const) {
    const outcome = await askHttp2(path, change);
    assert.ok(outcome === 400 || outcome === 'reset' || outcome === 'closed', `${JSON.stringify(change)}: ${outcome}`);
  }
  for (const doubled of [':path', ':method', ':authority', 'host', 'content-length']) {
    const outcome = await rawHttp2(site, {
      headers: [
        [':method', 'GET'],
        [':scheme', 'https'],
        [':authority', 'gateway.test'],
        [':path', path],
        ...(doubled.startsWith(':') ? [] : [[doubled, 'gateway.test'] as const]),
        [doubled, doubled === ':path' ? `${path}s` : 'gateway.test'],
        ['authorization', 'Bearer alice-token'],
      ],
    });
    assert.ok(outcome === 400 || outcome === 'reset' || outcome === 'closed', `${doubled} twice: ${outcome}`);
  }
  assert.equal(site.upstream(), 0);
});

test('one Host, and the member is asked by its own name whatever it says (ATT-14)', async () => {
  const line = `GET ${member}/api HTTP/1.1`;
  const { port, requests } = site.members[0]!;
  for (const hosts of [['Host: gateway.test', 'Host: evil.test'], ['Host: gateway.test', 'host: gateway.test'], []]) {
    const answer = await ask([line, ...hosts, auth, '', ''].join('\r\n'));
    assert.equal(answer.status, 400, hosts.join());
  }
  assert.equal(site.upstream(), 0);
  for (const host of ['evil.test', 'evil.test:443', '127.0.0.1', '', 'm1']) {
    const answer = await ask([line, `Host: ${host}`, 'X-Forwarded-Host: evil.test', auth, '', ''].join('\r\n'));
    assert.equal(answer.status, 200, host);
    assert.deepEqual(requests.splice(0)[0]!.values('host'), [`127.0.0.1:${port}`]);
  }
});

test('a path that is no resource is judged as the member reads it, however it is spelled (ATT-55)', async (t) => {
  const rule = { verbs: ['get'], nonResourceURLs: ['/logs/*'] };
  const ruled = await startSite({
    users: [{ token: 'alice-token', name: 'alice' }],
    rules: [{ subjects: [{ kind: 'User', name: 'alice' }], clusters: ['m1'], ...rule }],
  });
  t.after(() => ruled.close());
  const statusOf = async (path: string): Promise<number> =>
    (await exchange(ruled, requestBytes(`GET ${member}${path}`, [auth]))).status;
  assert.equal(await statusOf('/%6cogs/%61'), 200);
  assert.equal(await statusOf('/%6Dogs/a'), 403);
  assert.deepEqual(
    ruled.members[0]!.requests.map(({ target }) => target),
    ['/%6cogs/%61'],
  );
});
