// Clients that speak HTTP otherwise than kubectl: those that offer an upgrade with every request (Apache HttpClient 5,
// JDK HttpClient), and load balancers whose health checks are HTTP/1.0 (HAProxy, old ingress controllers).
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { exchange, openRaw, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const alice = 'Authorization: Bearer alice-token';
const offers: Readonly<Record<string, readonly string[]>> = {
  'Apache HttpClient 5': ['Connection: Upgrade', 'Upgrade: TLS/1.2'],
  'JDK HttpClient': [
    'Connection: Upgrade, HTTP2-Settings',
    'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA',
    'Upgrade: h2c',
  ],
};
const own = [
  '/readyz',
  '/version',
  '/api',
  '/apis',
  '/',
  '/openapi/v2',
  '/console/',
  '/apis/gateway.portcullis.io/v1alpha1/clusters',
  '/apis/gateway.portcullis.io/v1alpha1/clusters/m1',
  '/clusters/m1/proxy/api/v1/pods',
  '/clusters/*/proxy/api/v1/pods',
  '/nowhere',
];
let site: Site;

before(async () => {
  site = await startSite({ users: [{ token: 'alice-token', name: 'alice' }] });
});
after(() => site.close());
afterEach(() => void site.members[0]!.requests.splice(0));

/** What an answer is to its reader; ids, nonces and times of one request are left out. */
function essence({ status, body, complete, values }: RawAnswer): readonly unknown[] {
  const framing = values('content-length').length > 0 ? 'length' : values('transfer-encoding').join();
  return [
    status,
    body.replace(/"(?:timestamp|lastHeartbeatTime)":"[^"]*"|nonce="[^"]*"/g, ''),
    complete,
    framing,
    values('connection'),
  ];
}

for (const [client, lines] of Object.entries(offers)) {
  test(`the offer of ${client} changes no answer, and the connection goes on`, async () => {
    const connection = await openRaw(site);
    for (const path of own) {
      const ask = async (headers: readonly string[], method = 'GET'): Promise<readonly unknown[]> => {
        connection.send(requestBytes(`${method} ${path}`, [alice, ...headers]));
        return essence(await connection.answer({ method }));
      };
      const plain = await ask([]);
      assert.notEqual(plain[0], 400, path);
      assert.deepEqual(await ask(lines), plain, path);
      assert.deepEqual(await ask(lines, 'HEAD'), await ask([], 'HEAD'), path);
    }
    connection.close();
  });

  test(`the offer of ${client} with a body goes to the member as an ordinary request`, async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const framing of ['Content-Length: 2', 'Transfer-Encoding: chunked']) {
        const body = framing.startsWith('C') ? '{}' : '2\r\n{}\r\n0\r\n\r\n';
        const headers = [alice, ...lines, 'Content-Type: application/json', framing];
        const path = '/clusters/m1/proxy/api/v1/namespaces/default/pods/web';
        const answer = await exchange(site, requestBytes(`${method} ${path}`, headers, body));
        assert.equal(answer.status, 200, `${method} ${framing}`);
        const [request] = site.members[0]!.requests.splice(0);
        for (const name of ['connection', 'upgrade', 'http2-settings']) assert.deepEqual(request!.values(name), []);
      }
  });
}

const probed = [
  '/readyz',
  '/livez',
  '/healthz',
  '/readyz?verbose',
  '/readyz/ping',
  '/version',
  '/',
  '/api',
  '/apis',
  '/openapi/v2',
];

test('HTTP/1.0 gets what HTTP/1.1 gets for health, version and discovery, whole and then closed', async () => {
  for (const path of probed)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST'])
      // Many requests without a login would be held back at last.
      for (const headers of path.endsWith('z') ? ([[], [alice]] as const) : ([[alice]] as const)) {
        const modern = await exchange(site, requestBytes(`${method} ${path}`, headers));
        for (const host of ['', 'Host: lb.example\r\n', 'Connection: keep-alive\r\n']) {
          const text = headers.map((line) => `${line}\r\n`).join('');
          const client = await openRaw(site);
          client.send(`${method} ${path} HTTP/1.0\r\n${host}${text}\r\n`);
          const answer = await client.answer({ method });
          await client.closed;
          const what = `${method} ${path} ${host}`;
          assert.equal(answer.status, modern.status, what);
          assert.equal(answer.body.length, modern.body.length, what);
          assert.deepEqual([answer.values('connection'), answer.values('transfer-encoding')], [['close'], []], what);
          assert.equal(answer.values('content-length').length, 1, what);
          assert.equal(client.rest(), '', what);
        }
      }
  assert.equal((await exchange(site, 'GET /readyz HTTP/1.0\r\n\r\n')).status, 200);
});

test('HTTP/1.0 for anything else is 505 with a Status, and reaches no cluster', async () => {
  for (const path of [
    '/apis/gateway.portcullis.io/v1alpha1/clusters',
    '/clusters/m1/proxy/readyz',
    '/clusters/m1/proxy/api/v1/pods',
    '/clusters/*/proxy/api/v1/pods',
    '/console/',
    '/metrics/fleet',
  ]) {
    const answer = await exchange(site, `GET ${path} HTTP/1.0\r\n${alice}\r\n\r\n`);
    assert.equal(answer.status, 505, path);
    assert.match(answer.head, /^HTTP\/1\.1 505 HTTP Version Not Supported/);
    const { kind, code, message } = JSON.parse(answer.body) as { kind: string; code: number; message: string };
    assert.deepEqual([kind, code], ['Status', 505]);
    assert.match(message, /HTTP\/1\.0 is served only for health, version and discovery; use HTTP\/1\.1/);
    assert.equal(site.upstream(), 0);
  }
});

test('other versions stay refused', async () => {
  for (const version of ['HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/3.0', 'HTTP/1', 'http/1.0', 'HTTP/1.00', '']) {
    const answer = await exchange(site, `GET /readyz ${version}\r\nHost: x\r\n\r\n`);
    assert.equal(answer.status, 400, version);
  }
  assert.equal((await exchange(site, 'GET /readyz\r\n\r\n')).status, 400);
  assert.equal((await exchange(site, 'GET /readyz HTTP/1.1\r\n\r\n')).status, 400);
});
