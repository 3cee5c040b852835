// `--cluster-domain`, where the Host chooses the cluster and must be the name the TLS connection was made for, and
// `--identity=self`, which lends the person's own rights to whoever has the token and is therefore fenced in.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { after, afterEach, before, test } from 'node:test';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { readConfig } from '../../config/config.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { answerEcho } from '../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { rawHttp2 } from '../site/raw-http2.ts';
import { memberToken, startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const alice = 'Authorization: Bearer alice-token';
let domain: Site;
let self: Site;
const folder = tempDir('modes');

before(async () => {
  domain = await startSite({
    members: 2,
    users: [{ token: 'alice-token', name: 'alice' }],
    config: { clusterDomain: 'Clusters.Test' },
  });
  self = await startSite({ members: 1, users: [], config: { identity: 'self' } });
});
after(() => {
  domain.close();
  self.close();
});
afterEach(() => {
  for (const member of [...domain.members, ...self.members]) member.requests.splice(0);
});

/** Asks on a connection made for `serverName` with this Host. */
async function ask(serverName: string, host: string, path: string, more: readonly string[] = []): Promise<RawAnswer> {
  const client = await openRaw(domain, serverName === '' ? {} : { servername: serverName });
  client.send(requestBytes(`GET ${path}`, [alice, ...more]).replace('Host: gateway.test', `Host: ${host}`));
  try {
    return await client.answer();
  } finally {
    client.close();
  }
}

test('a host below the cluster domain is that cluster, with the whole path', async () => {
  for (const [host, member] of [
    ['m1.clusters.test', 0],
    ['m2.clusters.test:8443', 1],
    ['M1.Clusters.TEST', 0],
  ] as const) {
    const answer = await ask(host.split(':')[0]!.toLowerCase(), host, '/api/v1/pods?limit=1');
    assert.equal(answer.status, 200, host);
    const [request, ...more] = domain.members[member]!.requests.splice(0);
    assert.deepEqual(more, []);
    assert.equal(request!.target, '/api/v1/pods?limit=1');
    assert.deepEqual(request!.values('impersonate-user'), ['alice']);
  }
  // Nothing of ours is there: these paths are the member's.
  for (const path of [
    '/version',
    '/readyz',
    '/clusters/m2/proxy/api',
    '/apis/gateway.portcullis.io/v1alpha1/clusters',
  ]) {
    assert.equal((await ask('m1.clusters.test', 'm1.clusters.test', path)).status, 200);
    assert.equal(domain.members[0]!.requests.splice(0)[0]!.target, path);
  }
  assert.equal(domain.upstream(), 0);
});

test('the certificate of the gateway is good for names below the cluster domain', async () => {
  const client = await openRaw(domain, { servername: 'm1.clusters.test' });
  assert.equal(client.socket.authorized, true);
  client.close();
});

test('a Host that is not the name of the TLS connection is 421 over both protocols, nothing upstream (ATT-14)', async () => {
  for (const [serverName, host] of [
    ['m1.clusters.test', 'm2.clusters.test'],
    ['m1.clusters.test', 'localhost'],
    ['m1.clusters.test', '127.0.0.1'],
    ['localhost', 'm1.clusters.test'],
    ['', 'm1.clusters.test'],
    ['m1.clusters.test', 'm1.clusters.test.'],
    ['m1.clusters.test', 'x.m1.clusters.test'],
    ['m1.clusters.test', ''],
  ] as const) {
    const answer = await ask(serverName, host, '/api');
    assert.equal(answer.status, 421, `${serverName} ${host}`);
    assert.equal((JSON.parse(answer.body) as { code: number }).code, 421);
  }
  const outcome = await rawHttp2(domain, {
    headers: [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', 'm1.clusters.test'],
      [':path', '/api'],
      ['authorization', 'Bearer alice-token'],
    ],
  });
  assert.equal(outcome, 421);
  assert.equal(domain.upstream(), 0);
});

test('a host outside the cluster domain is the gateway itself; a name nobody has is 404', async () => {
  assert.equal((await ask('localhost', 'localhost', '/clusters/m1/proxy/api')).status, 200);
  assert.equal((await ask('', '127.0.0.1', '/readyz')).body, 'ok');
  assert.equal((await ask('nobody.clusters.test', 'nobody.clusters.test', '/api')).status, 404);
  assert.equal((await ask('clusters.test', 'clusters.test', '/readyz')).body, 'ok');
});

test('on a host of its own, an application behind services/proxy sends the client to no other host (ATT-11)', async () => {
  const [member] = domain.members;
  const service = '/api/v1/namespaces/default/services/web/proxy';
  const own = `https://127.0.0.1:${member!.port}`;
  for (const [location, status] of [
    [`${own}//evil.test/`, 502],
    [`${own}${service}/login`, 302],
  ] as const) {
    member!.answer = (request) => request.reply(302, [`Location: ${location}`]);
    const answer = await ask('m1.clusters.test', 'm1.clusters.test', `${service}/`);
    assert.equal(answer.status, status, location);
    assert.deepEqual(answer.values('location'), status === 302 ? [`${service}/login`] : []);
  }
  member!.answer = answerEcho;
});

const selfToken = (): string => self.gateway.selfToken!.token;

test('--identity=self: requests go out with the context’s own credential and no impersonation, upgrades too', async () => {
  const client = await openRaw(self);
  const bearer = `Authorization: Bearer ${selfToken()}`;
  client.send(requestBytes('GET /clusters/m1/proxy/api/v1/pods', [bearer, 'X-Remote-User: admin']));
  assert.equal((await client.answer()).status, 200);
  client.send(
    requestBytes('POST /clusters/m1/proxy/api/v1/namespaces/a/pods/b/exec', [bearer, ...upgradeLines('SPDY/3.1')]),
  );
  const session = await openHttp2(self);
  const list = http2Headers('GET', '/clusters/m1/proxy/api/v1/pods?watch=true', [
    'authorization',
    `Bearer ${selfToken()}`,
  ]);
  assert.equal((await http2Exchange(session, list)).status, 200);
  await self.members[0]!.request(2);
  for (const { head, values } of self.members[0]!.requests) {
    assert.doesNotMatch(head, /impersonate|remote/i);
    assert.deepEqual(values('authorization'), [`Bearer ${memberToken(1)}`]);
  }
  client.close();
  session.destroy();
});

test('--identity=self: a request for every cluster goes out with the own credential of each, too', async () => {
  const asked = self.members[0]!.requests.length;
  const bearer = `Authorization: Bearer ${selfToken()}`;
  const { status, body } = await exchange(self, requestBytes('GET /clusters/*/proxy/version', [bearer]));
  assert.equal(status, 200);
  assert.match(body, /\/version/);
  const { head, values } = self.members[0]!.requests[asked]!;
  assert.doesNotMatch(head, /impersonate/i);
  assert.deepEqual(values('authorization'), [`Bearer ${memberToken(1)}`]);
});

test('--identity=self: no other caller, and no --as', async () => {
  const bearer = `Authorization: Bearer ${selfToken()}`;
  for (const [lines, status] of [
    [[], 401],
    [[alice], 401],
    [[bearer, 'Impersonate-User: admin'], 403],
    [[bearer, 'Impersonate-Group: system:masters'], 400],
    [[bearer, 'impersonate_user: admin'], 400],
  ] as const) {
    for (const upgrade of [[], upgradeLines('websocket')]) {
      const client = await openRaw(self);
      client.send(requestBytes('GET /clusters/m1/proxy/api/v1/namespaces/a/pods/b/exec', [...lines, ...upgrade]));
      assert.equal((await client.answer()).status, status, lines.join());
      client.close();
    }
  }
  assert.equal(self.upstream(), 0);
});

test('--identity=self: a rule that allows to impersonate makes nobody somebody, one cluster or all, member or gateway (ATT-03)', async () => {
  const everything = { subjects: [{ kind: 'Group', name: 'system:authenticated' }], verbs: ['*'] };
  const ruled = await startSite({
    members: 1,
    users: [],
    config: { identity: 'self' },
    rules: [
      { ...everything, apiGroups: ['*'], resources: ['*'] },
      { ...everything, nonResourceURLs: ['*'] },
    ],
  });
  try {
    const bearer = `Authorization: Bearer ${ruled.gateway.selfToken!.token}`;
    for (const path of [
      '/clusters/m1/proxy/api/v1/secrets',
      '/clusters/*/proxy/version',
      '/apis/gateway.portcullis.io/v1alpha1/clusters',
    ]) {
      const acting = await exchange(ruled, requestBytes(`GET ${path}`, [bearer, 'Impersonate-User: bob']));
      assert.equal(acting.status, 403, path);
      assert.match(acting.body, /nobody can be impersonated/);
      assert.equal(ruled.upstream(), 0);
      assert.equal((await exchange(ruled, requestBytes(`GET ${path}`, [bearer]))).status, 200, path);
      for (const member of ruled.members) member.requests.splice(0);
    }
  } finally {
    ruled.close();
  }
});

test('--identity=self: the token is kept in a file nobody else can read, and the clusters say so', async () => {
  const { file, token } = self.gateway.selfToken!;
  assert.equal(readFileSync(file, 'utf8').trim(), token);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(token.length >= 43);
  const client = await openRaw(self);
  const line = 'GET /apis/gateway.portcullis.io/v1alpha1/clusters/m1';
  client.send(requestBytes(line, [`Authorization: Bearer ${token}`]));
  const { status } = JSON.parse((await client.answer()).body) as { status: { identity: string } };
  assert.equal(status.identity, 'self');
  client.close();
});

test('--identity=self is refused off loopback and beside any other authenticator', () => {
  const flags = { identity: 'self', kubeconfig: [self.files.kubeconfig], dataDir: folder };
  for (const listen of ['127.0.0.1:0', '[::1]:0', 'localhost:0']) readConfig({ ...flags, listen });
  for (const change of [
    { listen: '0.0.0.0:8443' },
    { listen: '[::]:8443' },
    { listen: '192.0.2.1:8443' },
    { listen: 'gateway.example.com:8443' },
    { listen: '127.0.0.1.example.com:8443' },
    { tokenAuthFile: self.files.tokens },
    { clientCaFile: self.files.clientCa },
  ]) {
    assert.throws(() => readConfig({ ...flags, ...change }), ConfigurationError, JSON.stringify(change));
  }
});
