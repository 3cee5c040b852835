import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { fixedCredential } from '../../model/fixed-credential.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeHubClient, type HubClientOptions } from './hub-client.ts';
import type { HubAccess, HubConnection } from './connection.ts';
import type { ApiClient, ApiStream } from '../types.ts';
import { connectionTo, faultOf, startTestHub, until } from './hub.fixture.ts';

const authority = await makeTestAuthority('hub');
const certificate = { ca: authority.ca, ...(await authority.issue(['ip:127.0.0.1'])) };

function clientOf(t: TestContext, connection: HubConnection, options: Partial<HubClientOptions> = {}): ApiClient {
  const client = makeHubClient(connection, { version: '1.2.3', ...options });
  t.after(() => client.close());
  return client;
}

async function drain(stream: ApiStream): Promise<void> {
  for await (const _ of stream.chunks);
}

const get = (path: string, timeoutMs = 5_000) => ({ method: 'GET' as const, path, timeoutMs });

test('a request carries the credential, asks for JSON and names who asks; any status is an answer', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const hub = await startTestHub(t, certificate, (request, response) => {
    seen.push(request.headers);
    void buffer(request).then((body) => response.writeHead(409, { location: '/elsewhere' }).end(body));
  });
  const client = clientOf(t, hub.connection);
  const answer = await client.request({ ...get('/a?b=c'), method: 'POST', body: { name: 'ü' } });
  assert.equal(answer.status, 409);
  assert.equal(answer.body.toString(), '{"name":"ü"}');
  assert.equal(client.url, hub.url);
  const { authorization, accept, 'user-agent': agent, 'content-type': type } = seen[0] ?? {};
  assert.deepEqual(
    [authorization, accept, agent, type],
    ['Bearer hub-token', 'application/json', 'portcullis/1.2.3', 'application/json'],
  );
});

test('requests share connections, and one the hub closed meanwhile is replaced without anybody noticing', async (t) => {
  let closeNext = false;
  const hub = await startTestHub(t, certificate, (request, response) => {
    if (closeNext && request.method !== 'PUT') {
      closeNext = false;
      request.socket.destroy();
      return;
    }
    if (request.method === 'PUT') request.socket.destroy();
    else response.end('{}');
  });
  const client = clientOf(t, hub.connection);
  await client.request(get('/1'));
  await client.request(get('/2'));
  assert.equal(hub.sockets.size, 1);
  closeNext = true;
  assert.equal((await client.request(get('/3'))).status, 200);
  closeNext = true;
  const review = { ...get('/apis/authorization.k8s.io/v1/subjectaccessreviews'), method: 'POST' as const, body: {} };
  assert.equal((await client.request(review)).status, 200);
  const error = await faultOf(client.request({ ...get('/4'), method: 'PUT', body: {} }));
  assert.match(error.message, /the connection was cut/);
  assert.equal(hub.requests.filter((line) => line === 'PUT /4').length, 1, 'a write is never sent twice');
});

test('compressed answers are read, bounded by their real length; a cut one is a fault, never half an answer', async (t) => {
  const text = 'x'.repeat(3_000_000);
  const hub = await startTestHub(t, certificate, (request, response) => {
    const zipped = gzipSync(text);
    if (request.url === '/short') response.writeHead(200, { 'content-length': 100 }).write('half');
    if (request.url === '/zip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped);
    if (request.url === '/cut-zip')
      response.writeHead(200, { 'content-encoding': 'gzip' }).write(zipped.subarray(0, 900));
    if (request.url === '/br') response.writeHead(200, { 'content-encoding': 'br' }).end('x');
    if (request.url === '/short' || request.url === '/cut-zip') setTimeout(() => request.socket.destroy(), 20);
  });
  const client = clientOf(t, hub.connection);
  assert.equal((await client.request(get('/zip'))).body.length, 3_000_000);
  assert.match((await faultOf(client.request(get('/short')))).message, /the connection was cut/);
  assert.equal((await faultOf(client.request(get('/cut-zip')))).code, 'HUB_UNAVAILABLE');
  assert.match((await faultOf(client.request(get('/br')))).message, /Content-Encoding that was not requested/);
  const small = clientOf(t, hub.connection, { maxAnswerBytes: 1024 * 1024 });
  assert.match((await faultOf(small.request(get('/zip')))).message, /longer than 1 MiB/);
});

test('a hub that is not there, not trusted or too slow is HUB_UNAVAILABLE with address and reason, and no secret', async (t) => {
  const hub = await startTestHub(t, certificate, () => undefined);
  const other = await makeTestAuthority('other');
  const messages = [
    await faultOf(clientOf(t, hub.connection).request(get('/', 50))),
    await faultOf(clientOf(t, connectionTo(hub.port, other.ca)).request(get('/'))),
    await faultOf(clientOf(t, connectionTo(1, certificate.ca)).request(get('/'))),
    await faultOf(
      clientOf(
        t,
        connectionTo(hub.port, certificate.ca, {
          tls: { ca: certificate.ca, serverName: 'kubernetes.default', insecure: false },
        }),
      ).request(get('/')),
    ),
    await faultOf(clientOf(t, hub.connection).open(get('/?watch=1', 50))),
  ].map(({ code, message }) => {
    assert.equal(code, 'HUB_UNAVAILABLE');
    assert.ok(!message.includes('hub-token'));
    return message.replaceAll(/:\d+ failed/g, ' failed');
  });
  assert.deepEqual(messages, [
    'a request to the hub https://127.0.0.1 failed: it did not answer within 0.05 s',
    'a request to the hub https://127.0.0.1 failed: its certificate is not signed by an authority that the gateway trusts; correct certificate-authority in the kubeconfig of the hub (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    'a request to the hub https://127.0.0.1 failed: nothing listens there (ECONNREFUSED)',
    'a request to the hub https://127.0.0.1 failed: its certificate is for other names; correct the server or set tls-server-name',
    'a request to the hub https://127.0.0.1 failed: it did not answer within 0.05 s',
  ]);
});

test('a watch is read as it comes; it ends with the answer, throws when cut, and close ends it', async (t) => {
  const hub = await startTestHub(t, certificate, (request, response) => {
    response.write('one');
    if (request.url === '/end') setTimeout(() => response.end('two'), 20);
    if (request.url === '/cut') setTimeout(() => request.socket.destroy(), 20);
  });
  const client = clientOf(t, hub.connection);
  const read = async (path: string): Promise<string> => {
    let text = '';
    const stream = await client.open(get(path));
    for await (const chunk of stream.chunks) {
      text += String(chunk);
      if (path === '/open') stream.close();
    }
    return text;
  };
  assert.equal(await read('/end'), 'onetwo');
  assert.match((await faultOf(read('/cut'))).message, /the connection was cut/);
  await faultOf(read('/open'));
  await until(() => hub.sockets.size <= 1);
  const leaving = new AbortController();
  const stream = await client.open({ ...get('/signal'), signal: leaving.signal });
  leaving.abort();
  await faultOf(drain(stream));
});

test('a hub that falls silent without closing anything ends the watches, and one that answers does not', async (t) => {
  let silent = false;
  let signs = 0;
  const hub = await startTestHub(t, certificate, (request, response) => {
    if (request.url === '/livez') signs += 1;
    if (silent) return;
    if (request.url === '/livez') response.writeHead(403).end('{}');
    else response.write('x');
  });
  const client = clientOf(t, hub.connection, { silenceMs: 30, signTimeoutMs: 1_500 });
  const stream = await client.open(get('/?watch=1'));
  let ended: GatewayError | undefined;
  const reading = faultOf(drain(stream)).then((error) => void (ended = error));
  await until(() => signs >= 3);
  assert.equal(ended, undefined);
  silent = true;
  await reading;
  assert.match(String(ended), /it did not answer within 1.5 s/);
});

test('a 401 makes it read the credential again and ask once more, but only if that is another one', async (t) => {
  const seen: (string | undefined)[] = [];
  const hub = await startTestHub(t, certificate, (request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end('{}');
  });
  const bearer = (token: string) =>
    fixedCredential('token', {
      authorization: `Bearer ${token}`,
      clientCertificate: undefined,
      expiresAtMs: undefined,
    });
  let access: HubAccess = { ...hub.connection.current(), credential: bearer('old') };
  let next = 'old';
  const connection: HubConnection = {
    ...hub.connection,
    current: () => access,
    reload: async () => void (access = { ...access, credential: bearer(next) }),
  };
  const client = clientOf(t, connection);
  assert.equal((await client.request(get('/'))).status, 401);
  assert.deepEqual(seen, ['Bearer old']);
  next = 'new';
  assert.equal((await client.request(get('/'))).status, 200);
  assert.deepEqual(seen.slice(1), ['Bearer old', 'Bearer new']);
});

test('when trust changes, requests under way end well, watches are opened anew and nothing uses the old connections', async (t) => {
  let answerSlow = (): void => undefined;
  const hub = await startTestHub(t, certificate, (request, response) => {
    if (request.url === '/slow') answerSlow = () => void response.end('done');
    else if (request.url === '/watch') response.write('x');
    else response.end('{}');
  });
  let access = hub.connection.current();
  const client = clientOf(t, { ...hub.connection, current: () => access });
  const slow = client.request(get('/slow'));
  const stream = await client.open(get('/watch'));
  await until(() => hub.requests.includes('GET /slow'));
  const other = await makeTestAuthority('other');
  access = { ...access, tls: { ...access.tls, ca: other.ca }, transportKey: 'two' };
  assert.match(
    (await faultOf(client.request(get('/after')))).message,
    /not signed by an authority that the gateway trusts/,
  );
  await faultOf(drain(stream));
  answerSlow();
  assert.equal((await slow).body.toString(), 'done');
  await until(() => hub.sockets.size === 0);
});
