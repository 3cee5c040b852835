import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import type { HubAccess, HubConnection } from '../../kube/client/connection.ts';
import { makeHubClient } from '../../kube/client/hub-client.ts';
import type { ApiCall, ApiClient } from '../../kube/types.ts';
import { fixedCredential } from '../../model/fixed-credential.ts';
import { faultOf, startTestHub, until } from '../../kube/client/hub.fixture.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { withCheapReviews } from './review-client.ts';

const authority = await makeTestAuthority('hub');
const certificate = { ca: authority.ca, ...(await authority.issue(['ip:127.0.0.1'])) };

/** The client, and every call that was left to the client of the hub. */
function clientOf(t: TestContext, connection: HubConnection): { client: ApiClient; left: readonly ApiCall[] } {
  const left: ApiCall[] = [];
  const plain = makeHubClient(connection, { version: '1.2.3' });
  const noted: ApiClient = {
    url: plain.url,
    request: (call) => {
      left.push(call);
      return plain.request(call);
    },
    open: (call) => plain.open(call),
    close: () => plain.close(),
  };
  const client = withCheapReviews(noted, connection, '1.2.3');
  t.after(() => client.close());
  return { client, left };
}

const review = (timeoutMs = 5_000): ApiCall => ({
  method: 'POST',
  path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  body: { spec: { user: 'jürgen' } },
  timeoutMs,
});

function tokenAccess(hub: { readonly connection: HubConnection }, token: string): HubAccess {
  const given = { authorization: `Bearer ${token}`, clientCertificate: undefined, expiresAtMs: undefined };
  return { ...hub.connection.current(), credential: fixedCredential('token', given) };
}

/** Answers 201 with what it was sent. */
function echo(request: IncomingMessage, response: ServerResponse): void {
  void buffer(request).then((body) => response.writeHead(201).end(body));
}

test('reviews share a connection of their own and say what the client of the hub says; everything else is left to it', async (t) => {
  const seen: IncomingHttpHeaders[] = [];
  const hub = await startTestHub(t, certificate, (request, response) => {
    seen.push(request.headers);
    echo(request, response);
  });
  const { client, left } = clientOf(t, hub.connection);
  for (let i = 0; i < 4; i++) {
    const { status, body } = await client.request(review());
    assert.deepEqual([status, body.toString()], [201, '{"spec":{"user":"jürgen"}}']);
  }
  await client.request({ method: 'GET', path: '/api', timeoutMs: 5_000 });
  assert.deepEqual(
    left.map(({ path }) => path),
    [review().path, '/api'],
    'the first over this trust, and what is no review',
  );
  const [byClient, ...cheap] = seen.slice(0, 4).map((headers) => ({
    authorization: headers.authorization,
    accept: headers.accept,
    agent: headers['user-agent'],
    type: headers['content-type'],
    host: headers.host,
  }));
  for (const one of cheap) assert.deepEqual(one, byClient);
  assert.equal(hub.sockets.size, 2, 'one of the client, one for reviews');
});

test('a review whose connection the hub closed while it idled is answered all the same', async (t) => {
  const hub = await startTestHub(t, certificate, echo);
  const { client, left } = clientOf(t, hub.connection);
  await client.request(review());
  await client.request(review());
  assert.equal(left.length, 1);
  hub.cut();
  assert.equal((await client.request(review())).status, 201);
  await until(() => hub.sockets.size > 0);
  assert.equal((await client.request(review())).status, 201);
});

test('a refused token is left to the client, which reads its files again and asks with the new one', async (t) => {
  let good = 'Bearer one';
  const hub = await startTestHub(t, certificate, (request, response) => {
    if (request.headers.authorization === good) echo(request, response);
    else response.writeHead(401).end();
  });
  let access = tokenAccess(hub, 'one');
  const connection: HubConnection = {
    ...hub.connection,
    current: () => access,
    reload: async () => {
      access = tokenAccess(hub, 'two');
    },
  };
  const { client, left } = clientOf(t, connection);
  await client.request(review());
  await client.request(review());
  good = 'Bearer two';
  assert.equal((await client.request(review())).status, 201);
  assert.equal(left.length, 2);
  assert.equal((await client.request(review())).status, 201);
  assert.equal(left.length, 2, 'the next one has the new token by itself');
});

test('after the trust in the hub changed no review goes over a connection of the old one', async (t) => {
  const hub = await startTestHub(t, certificate, echo);
  const stranger = await makeTestAuthority('stranger');
  let access = hub.connection.current();
  const { client } = clientOf(t, { ...hub.connection, current: () => access });
  await client.request(review());
  await client.request(review());
  assert.equal(hub.sockets.size, 2);
  access = { ...access, tls: { ...access.tls, ca: stranger.ca }, transportKey: 'two' };
  for (let i = 0; i < 2; i++) {
    const { code, message } = await faultOf(client.request(review()));
    assert.equal(code, 'HUB_UNAVAILABLE');
    assert.match(message, /its certificate is not signed by an authority that the gateway trusts/);
  }
  await until(() => hub.sockets.size === 0);
});

test('a client certificate that was replaced is not shown any more', async (t) => {
  const hub = await startTestHub(t, certificate, echo);
  const member = await authority.issue(['dns:gateway']);
  let access = hub.connection.current();
  const { client, left } = clientOf(t, { ...hub.connection, current: () => access });
  await client.request(review());
  await client.request(review());
  const before = new Set(hub.sockets);
  const given = { authorization: undefined, clientCertificate: member, expiresAtMs: undefined };
  access = { ...access, credential: fixedCredential('client-certificate', given) };
  await client.request(review());
  assert.equal(left.length, 2, 'the client hears of it first');
  await client.request(review());
  await until(() => hub.sockets.size === 2 && [...hub.sockets].every((socket) => !before.has(socket)), 2_000);
});

test('a hub that is silent, cuts its answer or listens no more is unavailable, in the words of its client', async (t) => {
  let mode: 'answer' | 'silent' | 'cut' = 'answer';
  const hub = await startTestHub(t, certificate, (request, response) => {
    if (mode === 'answer') echo(request, response);
    else if (mode === 'cut') {
      response.writeHead(201, { 'content-length': 100 }).write('{"status":');
      response.socket?.end();
    }
  });
  const { client, left } = clientOf(t, hub.connection);
  await client.request(review());
  await client.request(review());
  mode = 'silent';
  assert.match((await faultOf(client.request(review(60)))).message, /failed: it did not answer within 0\.06 s/);
  mode = 'answer';
  await client.request(review());
  await client.request(review());
  mode = 'cut';
  const cut = await faultOf(client.request(review()));
  assert.equal(cut.code, 'HUB_UNAVAILABLE');
  assert.match(cut.message, /closed the connection in the middle of its answer/);

  mode = 'answer';
  let access = hub.connection.current();
  const other = clientOf(t, { ...hub.connection, current: () => access });
  await other.client.request(review());
  access = { ...access, endpoint: { ...access.endpoint, port: 1 }, transportKey: 'two' };
  for (const by of ['the client', 'the way of reviews']) {
    const { message } = await faultOf(other.client.request(review()));
    assert.match(message, /nothing listens there \(ECONNREFUSED\)/, by);
  }
  assert.equal(left.length, 2, 'after the silence the next review was the first over new connections');
});
