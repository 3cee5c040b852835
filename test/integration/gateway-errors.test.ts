// What can be wrong with a member, each as its own answer: a metav1.Status and a Warning that name cluster and cause,
// over both protocols, at once, and never with a Retry-After that would make client-go repeat a POST.
import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { createServer } from 'node:net';
import { after, afterEach, before, test } from 'node:test';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { http2Answer, http2Exchange, http2Headers, openHttp2, openStream } from '../site/http2-client.ts';
import type { Http2Answer } from '../site/http2-client.ts';
import { answerEcho } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';
import { serve, type TestServer } from '../pretend/server.ts';

const alice = 'Authorization: Bearer alice-token';
let site: Site;
let session: ClientHttp2Session;
/** Takes connections and never says a word. */
let silent: TestServer;
let silentTaken = 0;
/** A request to it, begun before the first test because it takes five seconds. */
let silentAnswer: Promise<RawAnswer>;

before(async () => {
  silent = await serve(createServer(() => void (silentTaken += 1)));
  const { ca } = await makeTestAuthority('another authority');
  site = await startSite({
    members: 1,
    users: [{ token: 'alice-token', name: 'alice' }],
    config: { firstByteTimeoutSeconds: 1.2 },
    contexts: ([first]) => [
      { ...first!, name: 'refused', server: 'https://127.0.0.1:1' },
      { ...first!, name: 'untrusted', ca },
      { ...first!, name: 'misnamed', cluster: { 'tls-server-name': 'other.test' } },
      {
        ...first!,
        name: 'nocert',
        user: { 'client-certificate': '/nonexistent/crt', 'client-key': '/nonexistent/key' },
      },
      { ...first!, name: 'noproxy', cluster: { 'proxy-url': 'http://127.0.0.1:1' } },
      { ...first!, name: 'silent', server: `https://127.0.0.1:${silent.port}` },
      {
        ...first!,
        name: 'plain',
        server: `https://127.0.0.1:${silent.port}`.replace('https', 'ftp'),
      },
    ],
  });
  session = await openHttp2(site);
  silentAnswer = exchange(site, requestBytes('GET /clusters/silent/proxy/api/v1/pods?watch=true', [alice]));
});
after(() => {
  session.destroy();
  site.close();
  void silent.close();
});
afterEach(() => {
  const [member] = site.members;
  member!.requests.splice(0);
  member!.answer = answerEcho;
});

interface Told {
  readonly kind: string;
  readonly status: string;
  readonly message: string;
  readonly reason: string;
  readonly code: number;
  readonly details?: { readonly name?: string };
}

/** Checks what every error of ours has; gives its Status. */
function assertStatus(answer: RawAnswer | Http2Answer, status: number, cluster: string, why: RegExp): Told {
  assert.equal(answer.status, status, answer.body);
  assert.equal(answer.complete, true);
  assert.deepEqual(answer.values('content-type'), ['application/json']);
  assert.deepEqual(answer.values('retry-after'), []);
  assert.deepEqual(answer.values('www-authenticate'), []);
  assert.match(answer.values('audit-id')[0] ?? '', /^[0-9a-f-]{36}$/);
  const reported = JSON.parse(answer.body) as Told;
  assert.equal(reported.kind, 'Status');
  assert.equal(reported.status, 'Failure');
  assert.equal(reported.code, status);
  assert.match(reported.message, why);
  assert.match(reported.message, new RegExp(`"${cluster}"`));
  const warnings = answer.values('warning');
  assert.equal(warnings.length, 1);
  const [warning = ''] = warnings;
  assert.ok(warning.startsWith(`299 - "cluster ${cluster}: `), warning);
  assert.match(warning, why);
  return reported;
}

/** Asks a cluster in every way: list, write, watch and upgrade over HTTP/1.1, list and watch over HTTP/2. */
async function everyWay(cluster: string): Promise<(RawAnswer | Http2Answer)[]> {
  const path = `/clusters/${cluster}/proxy/api/v1/namespaces/default/pods`;
  const token = ['authorization', 'Bearer alice-token'];
  return [
    await exchange(site, requestBytes(`GET ${path}`, [alice])),
    await exchange(site, requestBytes(`POST ${path}`, [alice, 'Content-Length: 2'], '{}')),
    await exchange(site, requestBytes(`GET ${path}?watch=true`, [alice])),
    await exchange(site, requestBytes(`POST ${path}/web/exec`, [alice, ...upgradeLines('SPDY/3.1')])),
    await http2Exchange(session, http2Headers('GET', path, token)),
    await http2Exchange(session, http2Headers('GET', `${path}?watch=true`, token)),
  ];
}

for (const [cluster, status, reason, why] of [
  ['unknown', 404, 'NotFound', /not found/],
  ['refused', 503, 'ServiceUnavailable', /refused/],
  ['untrusted', 502, 'ServiceUnavailable', /not signed by/],
  ['misnamed', 502, 'ServiceUnavailable', /not valid for .{0,2}other\.test.*tls-server-name/],
  ['nocert', 503, 'ServiceUnavailable', /cannot be used.*\/nonexistent\/crt/],
  ['noproxy', 502, 'ServiceUnavailable', /proxy/],
  ['plain', 503, 'ServiceUnavailable', /cannot be used/],
] as const) {
  test(`cluster "${cluster}" is ${status} with cluster and cause, whatever was asked`, async () => {
    for (const answer of await everyWay(cluster))
      assert.equal(assertStatus(answer, status, cluster, why).reason, reason);
    assert.equal(site.upstream(), 0);
  });
}

test('a member that refuses our credential (401) is 502, never the caller’s 401', async () => {
  site.members[0]!.answer = (request) =>
    request.reply(401, ['WWW-Authenticate: Bearer', 'Content-Type: application/json'], '{"kind":"Status","code":401}');
  for (const answer of await everyWay('m1')) assertStatus(answer, 502, 'm1', /own credential \(401\)/);
});

test('the 401 of an application behind services/proxy, pods/proxy or nodes/proxy is its own, as at the cluster itself (ATT-44)', async () => {
  const ask = ['WWW-Authenticate: Basic realm="app"', 'WWW-Authenticate: Bearer', 'Content-Type: text/plain'];
  site.members[0]!.answer = (request) => request.reply(401, ask, 'log in to the application');
  const token = ['authorization', 'Bearer alice-token'];
  for (const path of ['namespaces/a/services/b:80/proxy/x', 'namespaces/a/pods/b/proxy', 'nodes/n1/proxy/metrics']) {
    const target = `/clusters/m1/proxy/api/v1/${path}`;
    for (const answer of [
      await exchange(site, requestBytes(`GET ${target}`, [alice])),
      await exchange(site, requestBytes(`POST ${target}`, [alice, 'Content-Length: 2'], '{}')),
      await exchange(site, requestBytes(`GET ${target}`, [alice, ...upgradeLines('websocket')])),
      await http2Exchange(session, http2Headers('GET', target, token)),
    ]) {
      assert.equal(answer.status, 401, target);
      assert.equal(answer.body, 'log in to the application');
      assert.deepEqual(answer.values('www-authenticate').join(', '), 'Basic realm="app", Bearer');
      assert.deepEqual(answer.values('warning'), []);
    }
  }
});

test('a header that asks for a login goes on with the 401 of an application and with nothing else (ATT-44)', async () => {
  site.members[0]!.answer = (request) => request.reply(200, ['WWW-Authenticate: Basic realm="app"'], 'x');
  for (const path of ['namespaces/a/services/b/proxy/', 'namespaces/a/pods/b']) {
    const answer = await exchange(site, requestBytes(`GET /clusters/m1/proxy/api/v1/${path}`, [alice]));
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.values('www-authenticate'), []);
  }
});

test('a member that refuses to let us impersonate: its 403 as it is, and a Warning that names the rule', async () => {
  const body = (resource: string, group: string): string =>
    JSON.stringify({
      kind: 'Status',
      message: `${resource} "alice" is forbidden: User "gateway" cannot impersonate resource "${resource}" in API group "${group}" at the cluster scope`,
      reason: 'Forbidden',
      code: 403,
    });
  for (const [resource, group] of [
    ['users', ''],
    ['groups', ''],
    ['userextras/scopes', 'authentication.k8s.io'],
  ] as const) {
    site.members[0]!.answer = (request) =>
      request.reply(403, ['Content-Type: application/json'], body(resource, group));
    for (const answer of await everyWay('m1')) {
      assert.equal(answer.status, 403);
      assert.equal(answer.body, body(resource, group));
      const warning = answer.values('warning')[0]!;
      assert.ok(warning.startsWith('299 - "cluster m1: '), warning);
      assert.ok(warning.includes(`impersonate\\" on resource \\"${resource}\\"`), warning);
    }
  }
});

test('another 403 of a member passes without a Warning of ours', async () => {
  const body =
    '{"kind":"Status","message":"pods is forbidden: User \\"alice\\" cannot list resource \\"pods\\"","code":403}';
  site.members[0]!.answer = (request) =>
    request.reply(403, ['Content-Type: application/json', 'Warning: 299 - "its own"'], body);
  for (const answer of await everyWay('m1')) {
    assert.equal(answer.body, body);
    assert.deepEqual(answer.values('warning'), ['299 - "its own"']);
  }
});

test('a long 403 passes whole', async () => {
  const body = 'x'.repeat(100_000);
  site.members[0]!.answer = (request) => request.reply(403, [], body);
  for (const answer of (await everyWay('m1')).filter((_, i) => i !== 3)) assert.equal(answer.body, body);
});

test('a member that closes without an answer is 503', async () => {
  site.members[0]!.answer = ({ socket }) => void socket.end();
  for (const answer of await everyWay('m1')) assertStatus(answer, 503, 'm1', /closed the connection/);
  site.members[0]!.answer = ({ socket }) => void socket.destroy();
  for (const answer of await everyWay('m1')) assertStatus(answer, 503, 'm1', /closed the connection|reset/);
});

test('a member that sends no answer to a short request is 504; a watch, log, proxy or upgrade waits', async () => {
  site.members[0]!.answer = () => undefined;
  const pod = '/clusters/m1/proxy/api/v1/namespaces/default/pods';
  const long = [`${pod}?watch=true`, `${pod}/web/log?follow=true`, `${pod}/web/proxy/x`];
  const clients = await Promise.all(
    [...long.map((path) => [path, []] as const), [`${pod}/web/exec`, upgradeLines('websocket')] as const].map(
      async ([path, lines]) => {
        const client = await openRaw(site);
        client.send(requestBytes(`GET ${path}`, [alice, ...lines]));
        return client;
      },
    ),
  );
  const watch = openStream(session, http2Headers('GET', long[0]!, ['authorization', 'Bearer alice-token']));
  const watchAnswer = http2Answer(watch);
  await site.members[0]!.request(4);
  const path = `${pod}/web`;
  const list = http2Headers('GET', path, ['authorization', 'Bearer alice-token']);
  const [one, two] = await Promise.all([
    exchange(site, requestBytes(`GET ${path}`, [alice])),
    http2Exchange(session, list),
  ]);
  for (const answer of [one, two]) {
    const { reason } = assertStatus(answer, 504, 'm1', /sent no answer within 1\.2 s/);
    assert.equal(reason, 'Timeout');
  }
  // They began before the requests whose time is over, and are still there.
  for (const request of site.members[0]!.requests.slice(0, 5)) assert.equal(request.socket.destroyed, false);
  for (const client of clients) {
    assert.equal(client.rest(), '');
    assert.equal(client.socket.destroyed, false);
    client.close();
  }
  watch.destroy();
  await watchAnswer;
});

test('a request whose answer did not come in time leaves no connection that a late answer could poison', async () => {
  site.members[0]!.answer = () => undefined;
  const path = '/clusters/m1/proxy/api/v1/pods';
  assert.equal((await exchange(site, requestBytes(`GET ${path}`, [alice]))).status, 504);
  const [late] = site.members[0]!.requests;
  if (!late!.socket.readableEnded) await new Promise((resolve) => late!.socket.once('end', resolve));
  site.members[0]!.answer = answerEcho;
  assert.equal((await exchange(site, requestBytes(`GET ${path}`, [alice]))).status, 200);
});

test('a member that takes no connection is 504 after the deadline, then the breaker answers without asking it', async () => {
  assertStatus(await silentAnswer, 504, 'silent', /no connection to .* within 5 s/);
  const before = silentTaken;
  for (const answer of await everyWay('silent')) {
    assert.ok(answer.status === 503 || answer.status === 504, String(answer.status));
    assertStatus(answer, answer.status, 'silent', /did not answer|no connection/);
  }
  // The probe keeps asking in its own time, and so may one request once the breaker has been open long enough; not each
  // of the three.
  assert.ok(silentTaken <= before + 1, `${silentTaken - before} connections`);
});

test('a caller without rights of the gateway’s own rules is told by whom; errors about no cluster carry no cluster', async () => {
  for (const [line, headers, status] of [
    ['GET /clusters/m1/proxy/api', [], 401],
    ['GET /nowhere', [alice], 404],
    ['GET /clusters/m1/proxy/../x', [alice], 400],
  ] as const) {
    const answer = await exchange(site, requestBytes(line, headers));
    assert.equal(answer.status, status);
    assert.equal((JSON.parse(answer.body) as Told).code, status);
    assert.deepEqual(answer.values('warning'), []);
  }
});

test('clients that reset their streams while an answer is made end nothing but their streams (ATT-34)', async () => {
  site.members[0]!.answer = (request) => request.reply(500, [], 'no');
  const resetting = await openHttp2(site);
  const token = ['authorization', 'Bearer alice-token'];
  const paths = [
    '/clusters/m1/proxy/api',
    '/clusters/refused/proxy/api',
    '/clusters/unknown/proxy/api',
    '/readyz',
    '/x',
  ];
  for (let round = 0; round < 400; round++) {
    const stream = openStream(resetting, http2Headers('POST', paths[round % paths.length]!, token), false);
    stream.write('x');
    for (let i = round % 4; i > 0; i--) await new Promise((resolve) => setImmediate(resolve));
    stream.close(constants.NGHTTP2_CANCEL);
  }
  const answer = await http2Exchange(session, http2Headers('GET', '/readyz'));
  assert.equal(answer.status, 200);
  resetting.destroy();
});
