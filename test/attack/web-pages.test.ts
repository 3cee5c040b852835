// A web page of anybody, open in the browser of somebody who has a client certificate: the browser shows the
// certificate by itself, and the hub's front proxy vouches for whoever it took for the user. Headers that a page cannot
// forge (Origin, Sec-Fetch-Site) tell such requests.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { authority, makeCertificate } from '../../auth/x509/certificates.fixture.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { startPretendHub } from '../site/hub.ts';
import type { PretendHub } from '../site/hub.ts';
import { answerEcho } from '../site/member.ts';
import { exchange, requestBytes, upgradeLines } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import type { Shown } from '../site/tls-sessions.ts';
import { clientCertificate } from '../site/client-certificate.ts';

const dayMs = 24 * 60 * 60 * 1000;
const pods = '/clusters/m1/proxy/api/v1/namespaces/a/pods';
const exec = `${pods}/b/exec?command=sh`;
const bearer = 'Authorization: Bearer bob-token';
const hubOrigins = 'https://hub.example:6443';
const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
let hub: PretendHub;
let site: Site;
let alice: Shown;
let proxy: Shown;

before(async () => {
  const valid = { validFromMs: Date.now() - dayMs, validToMs: Date.now() + dayMs, extensions: authority() };
  const people = await makeCertificate({ subject: [{ CN: ['users'] }], ...valid });
  const proxies = await makeCertificate({ subject: [{ CN: ['front-proxy-ca'] }], ...valid });
  hub = await startPretendHub({
    'requestheader-client-ca-file': proxies.pem,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  });
  site = await startSite({
    members: 2,
    users: [{ token: 'bob-token', name: 'bob' }],
    clientCa: people.pem,
    config: { hubKubeconfig: hub.kubeconfig, sources: 'kubeconfig', clusterDomain: 'clusters.test', hubOrigins },
  });
  for (const member of site.members) {
    member.answer = (request) => {
      if (request.values('upgrade').length > 0) request.socket.write(switched);
      else answerEcho(request);
    };
  }
  alice = await clientCertificate('alice', people);
  proxy = await clientCertificate('front-proxy-client', proxies);
  await waitFor(
    async () => (await exchange(site, requestBytes(`GET ${pods}`, ['X-Remote-User: kate']), proxy)).status === 200,
  );
  site.members[0]!.requests.splice(0);
});
after(() => {
  site.close();
  hub.close();
});
afterEach(() => {
  for (const { requests } of site.members) requests.splice(0);
});

/** How a request comes. */
interface Way {
  readonly host?: string;
  readonly path?: string;
  readonly shown?: Shown | undefined;
}

/** A POST over HTTP/1.1, one over HTTP/2, and an exec over WebSocket; their statuses. */
async function everyWay(lines: readonly string[], { host = 'gateway.test', path = '', shown }: Way = {}) {
  const isMember = host.includes('.clusters.test');
  const below = (full: string): string => (isMember ? full.replace('/clusters/m1/proxy', '') : full);
  const options = { ...shown, ...(isMember ? { servername: host.split(':')[0]! } : {}) };
  const bytes = (line: string, more: readonly string[], body = ''): string =>
    requestBytes(line, [...more, ...lines], body).replace('Host: gateway.test', `Host: ${host}`);
  const target = path === '' ? below(pods) : path;
  const first = await exchange(site, bytes(`POST ${target}`, ['Content-Length: 2'], '{}'), options);
  const session = await openHttp2(site, options);
  const flat = lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const list = http2Headers('POST', target, flat).map((text) => (text === 'gateway.test' ? host : text));
  const second = await http2Exchange(session, list, '{}');
  session.destroy();
  const upgrade = await exchange(site, bytes(`GET ${below(exec)}`, upgradeLines('websocket')), options);
  return { statuses: [first.status, second.status, upgrade.status], answers: [first, second, upgrade] };
}

const served = [200, 200, 101];
const refused = [403, 403, 403];
const asKate = 'X-Remote-User: kate';
/** What a browser says of pages that are not ours. */
const foreign: readonly (readonly string[])[] = [
  ['Origin: https://evil.example'],
  ['Origin: null'],
  ['Origin: http://gateway.test'],
  ['Origin: https://gateway.test:8443'],
  ['Origin: https://gateway.test.evil.example'],
  ['Origin: https://evil.gateway.test'],
  ['Origin: https://gateway.test/'],
  ['Origin: https://alice@gateway.test'],
  ['Origin: https://gateway.test https://evil.example'],
  ['Origin: '],
  ['ORIGIN: https://evil.example'],
  ['Origin: https://gateway.test', 'Origin: https://evil.example'],
  ['Origin: https://gateway.test', 'Origin: https://gateway.test'],
  ['Sec-Fetch-Site: cross-site'],
  ['Sec-Fetch-Site: same-site'],
  ['sec-fetch-site: Cross-Site'],
  ['Sec-Fetch-Site: same-origin', 'Sec-Fetch-Site: cross-site'],
  ['Sec-Fetch-Site: same-origin, cross-site'],
  ['Sec-Fetch-Site: something-new'],
  ['Origin: https://gateway.test', 'Sec-Fetch-Site: cross-site'],
  ['Origin: https://evil.example', 'Sec-Fetch-Site: same-origin'],
  // Headers that only look like those say nothing.
  ['Origin: https://evil.example', 'X-Origin: https://gateway.test', 'Origin_: https://gateway.test'],
  ['Sec-Fetch-Site: cross-site', 'Sec_Fetch_Site: same-origin', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document'],
];

test('a page of another origin does nothing with a client certificate, on every transport (ATT-52)', async () => {
  for (const lines of foreign) {
    const { statuses, answers } = await everyWay(lines, { shown: alice });
    assert.deepEqual(statuses, refused, lines.join());
    for (const { body } of answers) {
      const status = JSON.parse(body) as { kind: string; reason: string; message: string };
      assert.deepEqual([status.kind, status.reason], ['Status', 'Forbidden']);
      assert.match(status.message, /web page of another origin/);
    }
  }
  assert.equal(site.upstream(), 0);
});

test('a page of another origin does nothing with what the hub’s front proxy says of its user (ATT-52)', async () => {
  for (const lines of foreign) {
    assert.deepEqual((await everyWay([asKate, ...lines], { shown: proxy })).statuses, refused, lines.join());
  }
  assert.equal(site.upstream(), 0);
});

test('reading, the gateway’s own answers and every cluster are as closed to other pages as writing (ATT-52)', async () => {
  const line = 'Sec-Fetch-Site: cross-site';
  for (const path of [pods, '/clusters/*/proxy/version', '/apis', '/apis/gateway.portcullis.io/v1alpha1/clusters']) {
    assert.equal((await exchange(site, requestBytes(`GET ${path}`, [line]), alice)).status, 403, path);
    assert.notEqual((await exchange(site, requestBytes(`GET ${path}`), alice)).status, 403, path);
  }
  assert.equal((await exchange(site, requestBytes('GET /readyz', [line]), alice)).status, 200, 'open to everybody');
});

test('no browser, the address itself and its own pages are served with a certificate, and through the hub (ATT-52)', async () => {
  for (const lines of [
    [],
    ['Sec-Fetch-Site: none'],
    ['Sec-Fetch-Site: same-origin'],
    ['Origin: https://gateway.test'],
    ['Origin: https://gateway.test:443'],
    ['Origin: https://GATEWAY.test', 'Sec-Fetch-Site: same-origin'],
    ['Sec_Fetch_Site: cross-site', 'X-Origin: https://evil.example'],
  ]) {
    assert.deepEqual((await everyWay(lines, { shown: alice })).statuses, served, lines.join());
    assert.deepEqual((await everyWay([asKate, ...lines], { shown: proxy })).statuses, served, lines.join());
  }
  const own = ['Origin: https://gateway.test:8443'];
  assert.deepEqual((await everyWay(own, { shown: alice, host: 'gateway.test:8443' })).statuses, served);
  const ipv6 = ['Origin: https://[::1]:8443'];
  assert.deepEqual((await everyWay(ipv6, { shown: alice, host: '[::1]:8443' })).statuses, served);
});

test('a program that sends the hub’s address as Origin is served through the hub, a page of a stranger there is not (ATT-52)', async () => {
  for (const origin of [hubOrigins, 'https://kubernetes.default.svc', 'https://kubernetes.default.svc:443']) {
    assert.deepEqual((await everyWay([asKate, `Origin: ${origin}`], { shown: proxy })).statuses, served, origin);
    const ofOther = [asKate, `Origin: ${origin}`, 'Sec-Fetch-Site: same-site'];
    assert.deepEqual((await everyWay(ofOther, { shown: proxy })).statuses, refused, origin);
  }
  for (const origin of ['https://hub.example', 'https://hub.example:64430', 'http://hub.example:6443']) {
    assert.deepEqual((await everyWay([asKate, `Origin: ${origin}`], { shown: proxy })).statuses, refused, origin);
  }
});

test('the page of one cluster’s host is a stranger to the others and to the gateway’s address (ATT-52)', async () => {
  const m1 = { shown: alice, host: 'm1.clusters.test' };
  const shared = { shown: alice, host: 'gateway.test' };
  assert.deepEqual((await everyWay(['Origin: https://m1.clusters.test'], m1)).statuses, served);
  for (const origin of ['https://m2.clusters.test', 'https://gateway.test', 'https://clusters.test']) {
    assert.deepEqual((await everyWay([`Origin: ${origin}`], m1)).statuses, refused, origin);
  }
  assert.deepEqual((await everyWay(['Origin: https://m1.clusters.test'], shared)).statuses, refused);
  assert.deepEqual((await everyWay(['Sec-Fetch-Site: same-site'], m1)).statuses, refused);
});

test('a bearer token is nobody’s by accident: it is taken from every page, as its holder and not the certificate’s (ATT-52)', async () => {
  const lines = ['Origin: https://console.example', 'Sec-Fetch-Site: cross-site', bearer];
  for (const way of [{}, { shown: alice }, { shown: proxy }]) {
    const { statuses } = await everyWay(way.shown === proxy ? [asKate, ...lines] : lines, way);
    assert.deepEqual(statuses, served);
    for (const request of site.members[0]!.requests.splice(0)) {
      assert.deepEqual(request.values('impersonate-user'), ['bob']);
    }
  }
});

test('a page cannot open the certificate’s door with a made-up token, in the header or as a subprotocol (ATT-52)', async () => {
  const page = ['Origin: https://evil.example', 'Sec-Fetch-Site: cross-site'];
  for (const shown of [alice, proxy]) {
    const { statuses } = await everyWay([asKate, ...page, 'Authorization: Bearer made-up'], { shown });
    assert.deepEqual(statuses, [401, 401, 401]);
    for (const [token, status] of [
      ['made-up', 401],
      ['bob-token', 101],
    ] as const) {
      const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
      const lines = upgradeLines('websocket').map((line) =>
        line.startsWith('Sec-WebSocket-Protocol') ? `${line}, ${protocol}` : line,
      );
      const answer = await exchange(site, requestBytes(`GET ${exec}`, [asKate, ...page, ...lines]), shown);
      assert.equal(answer.status, status);
    }
    const basic = await exchange(
      site,
      requestBytes(`GET ${pods}`, [asKate, ...page, 'Authorization: Basic YTpi']),
      shown,
    );
    assert.equal(basic.status, 403);
  }
  assert.deepEqual(
    site.members[0]!.requests.map((request) => request.values('impersonate-user')),
    [['bob'], ['bob']],
  );
});
