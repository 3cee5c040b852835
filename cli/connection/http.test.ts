import assert from 'node:assert/strict';
import { createServer as createPlainServer } from 'node:http';
import { createServer as createTcpServer, connect } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Failure } from '../terminal/failure.ts';
import { defaultLimits, getJson } from './http.ts';
import type { Connection } from './gateway-connection.ts';
import type { RequestLimits } from './http.ts';
import { startStub } from '../stub-gateway.fixture.ts';
import type { StubGateway } from '../stub-gateway.fixture.ts';
import { makeTestAuthority, type TestAuthority } from '../../test/pretend/certificates.ts';
import { sendJson, sendStatus } from '../../test/pretend/server.ts';

describe('the client of the command line', () => {
  let authority: TestAuthority;
  let stub: StubGateway;

  before(async () => {
    authority = await makeTestAuthority();
    stub = await startStub(authority);
  });
  beforeEach(() => {
    stub.answers.override = undefined;
    stub.requests.length = 0;
  });
  after(() => stub.close());

  const connection = (changes: Partial<Connection> = {}): Connection => ({
    root: stub.url,
    ca: authority.ca,
    serverName: undefined,
    insecure: false,
    token: 'good-token',
    clientCertificate: undefined,
    proxyEnv: {},
    ...changes,
  });
  const refusal = async (
    changes: Partial<Connection> = {},
    limits: RequestLimits = defaultLimits,
  ): Promise<Failure> => {
    const error: unknown = await getJson(connection(changes), '/x', 'application/json', limits).then(
      () => undefined,
      (error: unknown) => error,
    );
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.exitCode, 1);
    assert.doesNotMatch(error.message + error.nextStep, /good-token/);
    return error;
  };
  const listening = async (server: Server): Promise<number> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
  const closed = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));

  test('nobody there: says so and how to start a gateway there', async () => {
    const server = createTcpServer();
    const port = await listening(server);
    await closed(server);
    const failure = await refusal({ root: `https://127.0.0.1:${port}` });
    assert.match(failure.message, /connection refused/);
    assert.match(failure.nextStep, new RegExp(`portcullis serve --listen 127\\.0\\.0\\.1:${port}`));
  });

  test('an unknown CA, or one of the same name with another key, leads to --certificate-authority', async () => {
    const other = await makeTestAuthority();
    for (const ca of [undefined, other.ca, (await makeTestAuthority('else')).ca]) {
      const failure = await refusal({ ca });
      assert.match(failure.message, /is not signed by a CA you trust/);
      assert.match(failure.nextStep, /--certificate-authority DATA-DIR\/ca\.crt/);
    }
    assert.equal(stub.requests.length, 0);
  });

  test('a certificate for another name is told from an untrusted one', async () => {
    assert.match((await refusal({ serverName: 'elsewhere.test' })).message, /is for another name/);
  });

  test('a port that speaks plain HTTP leads to the right port', async () => {
    const plain = createPlainServer((_request, response) => response.end('hello'));
    const port = await listening(plain);
    try {
      const failure = await refusal({ root: `https://127.0.0.1:${port}` });
      assert.match(failure.message, /does not speak TLS/);
      assert.match(failure.nextStep, /--ops-listen/);
    } finally {
      await closed(plain);
    }
  });

  test('a gateway that never answers ends at the deadline', async () => {
    stub.answers.override = () => {};
    const failure = await refusal({}, { ...defaultLimits, timeoutMs: 50 });
    assert.match(failure.message, /did not answer within 0\.05 s/);
  });

  test('a body that breaks off, is too long, or is not JSON is a failure', async () => {
    stub.answers.override = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{', () => response.destroy());
    };
    assert.match((await refusal()).message, /the request .* failed/);
    stub.answers.override = (_request, response) => sendJson(response, 200, { text: 'x'.repeat(2000) });
    assert.match((await refusal({}, { ...defaultLimits, maxBytes: 1000 })).message, /more than 1000 bytes/);
    for (const body of ['<html>', '[]', 'null', '']) {
      stub.answers.override = (_request, response) => response.end(body);
      assert.match((await refusal()).message, /not a Kubernetes object/, body);
    }
  });

  test('each refusal of the gateway has its own advice and keeps its message', async () => {
    const advice: readonly (readonly [code: number, step: RegExp])[] = [
      [401, /--token-auth-file/],
      [403, /--authorization-rules/],
      [404, /Check --server/],
      [429, /Try again/],
      [500, /Audit-Id/],
      [503, /Try again/],
    ];
    for (const [code, step] of advice) {
      stub.answers.override = (_request, response) => sendStatus(response, code, 'X', 'the very reason');
      const failure = await refusal();
      assert.match(failure.message, new RegExp(`\\(${code}\\): the very reason`));
      assert.match(failure.nextStep, step);
    }
    stub.answers.override = (_request, response) => sendStatus(response, 401, 'X', 'no');
    assert.match((await refusal({ token: undefined })).nextStep, /--client-ca-file/);
  });

  test('a redirect is not followed', async () => {
    const other = await startStub(authority);
    stub.answers.override = (_request, response) => {
      response.writeHead(307, { location: other.url });
      response.end();
    };
    try {
      assert.match((await refusal()).message, /redirects elsewhere \(307\)/);
      assert.equal(other.requests.length, 0);
    } finally {
      await other.close();
    }
  });

  test('a proxy gets a CONNECT and never the token', async () => {
    const seen: string[] = [];
    const proxy = createPlainServer();
    proxy.on('connect', (request, client) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'no token'}`);
      const upstream = connect(stub.port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(client).pipe(upstream);
      });
      upstream.on('error', () => client.destroy());
      client.on('error', () => upstream.destroy());
      upstream.on('close', () => client.destroy());
    });
    const port = await listening(proxy);
    stub.answers.override = (_request, response) => sendJson(response, 200, { kind: 'X' });
    try {
      const proxied = connection({
        root: `https://gateway.test:${stub.port}`,
        proxyEnv: { HTTPS_PROXY: `http://127.0.0.1:${port}` },
      });
      assert.deepEqual(await getJson(proxied, '/x', 'application/json'), { kind: 'X' });
      assert.deepEqual(seen, [`CONNECT gateway.test:${stub.port} no token`]);
      assert.equal(stub.requests[0]?.token, 'good-token');
    } finally {
      proxy.closeAllConnections();
      await closed(proxy);
    }
  });
});
