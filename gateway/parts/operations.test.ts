import assert from 'node:assert/strict';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { after, afterEach, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import { protectMetrics } from '../operations/metrics-protection.ts';
import type { MetricsReviews } from '../operations/metrics-protection.ts';
import { startOperations } from './operations.ts';
import type { Operations, OperationsTls } from './operations.ts';
import { makeAuthority, signServingCertificate } from '../certificates/serving-certificate.ts';
import type { Authority } from '../certificates/serving-certificate.ts';

// Listens on every address: what is not loopback differs from machine to machine, and this reaches it as well.
const everywhere = { host: '0.0.0.0', port: 0 };
const registry = new Registry();
const reviews: MetricsReviews = {
  holderOf: async (token) => (token.startsWith('of-') ? makeUser({ name: token.slice(3) }) : undefined),
  mayGet: async (user, path) => user.name === 'prometheus' && path === '/metrics',
};
let authority: Authority;
let pair: OperationsTls;
let operations: Operations | undefined;

before(async () => {
  authority = await makeAuthority();
  pair = await signServingCertificate(authority, ['127.0.0.1'], 3_600_000);
});
afterEach(() => operations?.close());
after(() => registry.clear());

async function start(asked: MetricsReviews = reviews): Promise<string> {
  operations = await startOperations(everywhere, registry, [], { tls: pair, admit: protectMetrics(asked) });
  return operations.url.replace('0.0.0.0', '127.0.0.1');
}

function get(
  url: string,
  headers: readonly string[] = [],
): Promise<{ status: number; text: string; raw: readonly string[] }> {
  return new Promise((resolve, reject) => {
    request(url, { ca: authority.cert, agent: false, headers: ['Host', 'metrics', ...headers] }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode!, text, raw: response.rawHeaders }));
    })
      .on('error', reject)
      .end();
  });
}

test('on an address others reach, metrics are served over TLS to a token that may get /metrics', async () => {
  const url = await start();
  assert.match(url, /^https:/);
  const answer = await get(`${url}/metrics`, ['Authorization', 'Bearer of-prometheus']);
  assert.equal(answer.status, 200);
});

test('nobody else reads metrics there', async () => {
  const url = await start();
  const refused = async (...headers: string[]): Promise<number> => (await get(`${url}/metrics`, headers)).status;
  assert.equal(await refused(), 401);
  assert.equal(await refused('Authorization', 'Bearer unknown'), 401);
  assert.equal(await refused('Authorization', 'Basic b2YtcHJvbWV0aGV1cw=='), 401);
  assert.equal(await refused('Authorization', 'Bearer of-prometheus', 'Authorization', 'Bearer of-eve'), 401);
  const answer = await get(`${url}/metrics`, ['Authorization', 'Bearer of-eve']);
  assert.equal(answer.status, 403);
  assert.match(answer.text, /user "eve" may not get \/metrics: bind it to a ClusterRole/);
});

test('there is nothing but metrics there', async () => {
  const url = await start();
  for (const path of ['/livez', '/readyz', '/healthz', '/', '/debug', '/metrics/x'])
    assert.equal((await get(url + path, ['Authorization', 'Bearer of-prometheus'])).status, 404);
});

test('a hub that cannot be asked means no', async () => {
  const down = async (): Promise<never> => {
    throw new GatewayError('HUB_UNAVAILABLE', 'the hub does not answer');
  };
  const url = await start({ ...reviews, mayGet: down });
  assert.equal((await get(`${url}/metrics`, ['Authorization', 'Bearer of-prometheus'])).status, 503);
});

test('plain HTTP is not understood there', async () => {
  const url = await start();
  await assert.rejects(fetch(`${url.replace('https', 'http')}/metrics`));
});

test('a new certificate is shown to new connections', async () => {
  const url = new URL(await start());
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: Number(url.port), ca: authority.cert }, () => {
        resolve(socket.getPeerX509Certificate()!.toString());
        socket.destroy();
      }).on('error', reject);
    });
  const first = await shown();
  operations!.setTls(await signServingCertificate(authority, ['127.0.0.1'], 3_600_000));
  assert.notEqual(await shown(), first);
});

test('on loopback it stays plain HTTP with health, whatever protection there is', async () => {
  const admit = protectMetrics(reviews);
  operations = await startOperations({ host: '127.0.0.1', port: 0 }, registry, [], { tls: pair, admit });
  assert.match(operations.url, /^http:/);
  assert.equal((await fetch(`${operations.url}/metrics`)).status, 200);
});

test('metrics and health are read over HTTP/1.0 without Host, and with an offer to upgrade', async () => {
  const ping = { name: 'ping', on: ['livez', 'readyz'] as const, fault: () => undefined };
  operations = await startOperations({ host: '127.0.0.1', port: 0 }, registry, [ping]);
  const port = Number(new URL(operations.url).port);
  const ask = async (bytes: string): Promise<string> => {
    const socket = connectPlain(port, '127.0.0.1');
    socket.write(bytes);
    return (await buffer(socket)).toString('latin1');
  };
  const offers = ['Upgrade: TLS/1.2', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__', 'Upgrade: websocket'];
  for (const path of ['/metrics', '/readyz', '/livez', '/healthz']) {
    for (const method of ['GET', 'HEAD']) {
      const old = await ask(`${method} ${path} HTTP/1.0\r\n\r\n`);
      assert.match(old, /^HTTP\/1\.[01] 200 OK\r\n/, path);
      assert.doesNotMatch(old, /transfer-encoding/i, path);
      for (const offer of offers) {
        const request = `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\n${offer}\r\n\r\n`;
        assert.match(await ask(request), /^HTTP\/1\.1 200 OK\r\n/, `${path} ${offer}`);
      }
    }
  }
});
