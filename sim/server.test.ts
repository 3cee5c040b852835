import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { request } from 'node:https';
import { test } from 'node:test';
import { configMap, pod, simulate } from './simulator.fixture.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('without credentials the caller is anonymous, with a wrong token 401', async (t) => {
  const { ask } = await simulate(t);
  const nobody = await ask('/api/v1/pods', { token: '' });
  assert.equal(nobody.status, 403);
  assert.match(nobody.json.message, /User "system:anonymous" cannot list resource "pods"/);
  const wrong = await ask('/api/v1/pods', { token: 'nonsense' });
  assert.equal(wrong.status, 401);
  assert.deepEqual(wrong.json, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Unauthorized',
    reason: 'Unauthorized',
    code: 401,
  });
  assert.equal((await ask('/livez', { token: '' })).text, 'ok');
  assert.equal((await ask('/version', { token: '' })).json.gitVersion, 'v1.36.3');
});

test('a token stops working when it is removed', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.addToken('t', { name: 'alice', groups: ['system:masters'] });
  assert.equal((await ask('/api/v1/pods', { token: 't' })).status, 200);
  sim.removeToken('t');
  assert.equal((await ask('/api/v1/pods', { token: 't' })).status, 401);
});

test('a client certificate of the CA names user and groups', async (t) => {
  const { sim } = await simulate(t);
  const { certPem, keyPem } = await sim.issueClientCertificate('carol', ['dev', 'ops']);
  const who = (): Promise<any> =>
    new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: sim.port,
        ca: sim.caPem,
        cert: certPem,
        key: keyPem,
        agent: false as const,
      };
      const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
      const body = '{}';
      request({ ...options, path, method: 'POST', headers: { 'content-type': 'application/json' } }, (answer) => {
        let text = '';
        answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve(JSON.parse(text)));
      })
        .on('error', reject)
        .end(body);
    });
  assert.deepEqual((await who()).status.userInfo, {
    username: 'carol',
    groups: ['dev', 'ops', 'system:authenticated'],
  });
});

test('HTTP/2 is offered by ALPN and can be turned off', async (t) => {
  const { sim } = await simulate(t);
  const { sim: old } = await simulate(t, { http2: false });
  const session = connect(sim.url, { ca: sim.caPem });
  t.after(() => session.destroy());
  const status = await new Promise((resolve, reject) => {
    session.on('error', reject);
    session
      .request({ ':path': '/livez' })
      .on('response', (headers) => resolve(headers[':status']))
      .resume();
  });
  assert.equal(status, 200);
  assert.equal(sim.audit.entries.at(-1)?.httpVersion, '2.0');
  const refused = connect(old.url, { ca: old.caPem });
  await new Promise((resolve) => refused.once('error', resolve));
  refused.destroy();
});

test('the audit log holds caller, impersonated user, raw headers and code', async (t) => {
  const { sim, ask } = await simulate(t);
  sim.audit.clear();
  await ask(`${maps}?limit=5`, { headers: { 'Impersonate-User': 'alice', 'Impersonate-Group': ['a', 'b'] } });
  const [entry] = sim.audit.entries;
  assert.equal(sim.audit.entries.length, 1);
  assert.equal(entry?.user?.name, 'admin');
  assert.deepEqual(entry?.impersonatedUser, { name: 'alice', groups: ['a', 'b', 'system:authenticated'] });
  assert.deepEqual([entry?.verb, entry?.method, entry?.path, entry?.code], ['list', 'GET', `${maps}?limit=5`, 403]);
  const groups = entry?.rawHeaders.filter(
    (_, i) => i % 2 === 1 && entry.rawHeaders[i - 1]?.toLowerCase() === 'impersonate-group',
  );
  assert.deepEqual(groups, ['a', 'b']);
});

test('an answer carries the audit id of the request', async (t) => {
  const { ask } = await simulate(t);
  assert.equal((await ask('/api/v1/pods', { headers: { 'Audit-Id': 'abc' } })).headers['audit-id'], 'abc');
});

test('unknown paths and resources are 404, known ones with a wrong method 405', async (t) => {
  const { ask } = await simulate(t);
  for (const path of [
    '/nothing',
    '/api/v2/pods',
    '/apis/none/v1/things',
    '/api/v1/things',
    '/api/v1/namespaces/default/pods/p/nothing',
  ])
    assert.equal((await ask(path)).status, 404, path);
  for (const [method, path] of [
    ['DELETE', '/api/v1/namespaces'],
    ['PUT', maps],
    ['POST', '/api/v1/configmaps'],
    ['POST', `${maps}/x`],
    ['GET', '/apis/authentication.k8s.io/v1/selfsubjectreviews'],
    ['OPTIONS', maps],
  ] as const)
    assert.equal((await ask(path, { method })).status, 405, `${method} ${path}`);
});

test('what cannot be served is 406, what cannot be read 415', async (t) => {
  const { ask } = await simulate(t);
  assert.equal((await ask('/api/v1/pods', { headers: { accept: 'application/vnd.kubernetes.protobuf' } })).status, 406);
  const both = await ask('/api/v1/pods', {
    headers: { accept: 'application/vnd.kubernetes.protobuf, application/json' },
  });
  assert.equal(both.headers['content-type'], 'application/json');
  const cbor = { method: 'POST', body: 'x', headers: { 'content-type': 'application/cbor' } };
  const refused = await ask(maps, cbor);
  assert.equal(refused.status, 415);
  assert.equal(refused.json.reason, 'UnsupportedMediaType');
  assert.equal((await ask(maps, { method: 'POST', body: '{', headers: {} })).status, 400);
});

test('a body over 3 MiB is 413, also before it was sent', async (t) => {
  const { sim, ask } = await simulate(t);
  const big = JSON.stringify(configMap('big', { a: 'x'.repeat(3 * 1024 * 1024) }));
  assert.equal((await ask(maps, { method: 'POST', body: big })).status, 413);
  const early = await new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${sim.adminToken}`,
      'content-length': '9999999',
      'content-type': 'application/json',
    };
    const asking = request({
      host: '127.0.0.1',
      port: sim.port,
      ca: sim.caPem,
      path: maps,
      method: 'POST',
      headers,
      agent: false,
    });
    asking.on('response', (answer) => resolve(answer.statusCode)).on('error', reject);
    asking.flushHeaders();
  });
  assert.equal(early, 413);
});

test('YAML bodies are read and YAML answers written', async (t) => {
  const { ask } = await simulate(t);
  const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: b}\n';
  const made = await ask(maps, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/yaml', accept: 'application/yaml' },
  });
  assert.equal(made.status, 201);
  assert.match(made.text, /^ {2}name: y$/m);
});

test('large answers are gzipped for those who take it', async (t) => {
  const { sim, ask } = await simulate(t);
  for (let i = 0; i < 40; i++) sim.store.apply(configMap(`m${i}`, { a: 'x'.repeat(10_000) }));
  assert.equal((await ask(maps, { headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding'], 'gzip');
  const plain = await ask(maps);
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.equal(plain.json.items.length, 40);
});

test('logs and upgrades need the right subresource, and WebSockets the verb create', async (t) => {
  const { sim, ask } = await simulate(t, { nodes: 1 });
  sim.store.apply({ ...pod('p', { nodeName: 'n' }), status: { phase: 'Running', containerStatuses: [] } });
  sim.store.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'watcher' },
    rules: [{ apiGroups: [''], resources: ['pods', 'pods/exec'], verbs: ['get'] }],
  });
  sim.store.apply({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'watcher' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'watcher' },
    subjects: [{ kind: 'User', name: 'alice' }],
  });
  sim.addToken('alice', { name: 'alice', groups: [] });
  const log = await ask('/api/v1/namespaces/default/pods/p/log', { token: 'alice' });
  assert.equal(log.status, 403);
  assert.match(log.json.message, /cannot get resource "pods\/log"/);
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  const exec = await ask('/api/v1/namespaces/default/pods/p/exec?command=ls&stdout=1', { token: 'alice', headers });
  assert.equal(exec.status, 403);
  assert.match(exec.json.message, /cannot create resource "pods\/exec"/);
  assert.equal((await ask('/api/v1/namespaces/default/pods/none/exec?command=ls', { headers })).status, 404);
});

test('closing ends watches and leaves nothing behind', async (t) => {
  const { sim, watch } = await simulate(t, { controllers: {} });
  const stream = await watch('/api/v1/namespaces?watch=1');
  await stream.next();
  await sim.close();
  while ((await stream.next()) !== undefined);
});
