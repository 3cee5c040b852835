// Where objects of a hub may lead the gateway: whoever may register a cluster must not choose the gateway's own
// machine, link or metadata service. Every pretend cluster here is at a loopback address, so what must be reached is
// allowed by name and the trap is another address of the same range.
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { after, before, mock, test } from 'node:test';
import type { Simulator } from '../../sim/server.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { exchange, requestBytes, upgradeLines } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import { startAdminHub, writeHubKubeconfig } from '../site/simulated-hub.ts';
import type { Site } from '../site/site.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const namespace = 'credentials';
const bearer = 'Authorization: Bearer admin-token';
const clusters = '/apis/gateway.portcullis.io/v1alpha1/clusters';
const folder = tempDir('addresses');
let hub: Simulator;
let site: Site;
/** On 127.0.0.2, the port of the member: what a name resolves to once the check is over. */
let trap: Server;
let trapped = 0;
/** What the name rebind.test resolves to now. */
let resolved: readonly string[] = ['127.0.0.1'];

const ask = (line: string, headers: readonly string[] = []): Promise<RawAnswer> =>
  exchange(site, requestBytes(line, [bearer, ...headers]));

function register(name: string, endpoint: string, further: Readonly<Record<string, string>> = {}): void {
  const text = (value: string): string => Buffer.from(value).toString('base64');
  const values = { endpoint, 'ca.crt': site.contexts[0]!.ca, token: 'the-member-token', ...further };
  hub.store.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name,
      namespace,
      annotations: { 'gateway.portcullis.io/tls-server-name': 'member.test' },
      labels: { 'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken' },
    },
    data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(value)])),
  } as never);
}

async function known(name: string): Promise<void> {
  await waitFor(async () => (await ask(`GET ${clusters}/${name}`)).status === 200);
}

before(async () => {
  hub = await startAdminHub(namespace);
  site = await startSite({
    users: [{ token: 'local-token', name: 'local' }],
    config: {
      hubKubeconfig: writeHubKubeconfig(folder, hub),
      sources: 'kubeconfig,cluster-gateway',
      secretNamespace: namespace,
      allowMemberAddresses: '127.0.0.1',
    },
  });
  trap = createServer((socket: Socket) => {
    trapped += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => trap.listen(site.members[0]!.port, '127.0.0.2', resolve));
  const real = dns.lookup;
  mock.method(dns, 'lookup', ((host: string, options: object, callback: (...answer: unknown[]) => void) => {
    if (!host.endsWith('rebind.test')) return real(host, options as never, callback as never);
    callback(
      null,
      resolved.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  }) as never);
});
after(async () => {
  mock.restoreAll();
  trap.close();
  site.close();
  await hub.close();
});

const refusedEndpoints = [
  'https://127.0.0.2',
  'https://[::1]',
  'https://[::ffff:127.0.0.2]',
  'https://0.0.0.0',
  'https://[::]',
  'https://169.254.169.254',
  'https://[::ffff:a9fe:a9fe]',
  'https://[fd00:ec2::254]',
  'https://[fe80::1]',
  'https://100.100.100.200',
  'https://metadata.google.internal',
  'https://instance-data.ec2.internal',
  'https://[64:ff9b::a9fe:a9fe]',
  'https://224.0.0.1',
  'https://255.255.255.255',
];
const unreadableEndpoints = [
  'https://2130706434',
  'https://127.2',
  'https://0x7f.0.0.2',
  'https://0177.0.0.2',
  'https://127.0.0.2@example.com',
  'https://example.com#@127.0.0.2',
  'https://example.com\\@127.0.0.2',
  'http://127.0.0.2',
  'unix:///run/docker.sock',
  'file:///etc/passwd',
  'https://[fe80::1%25lo]',
  '//127.0.0.2',
];

test('an endpoint of an object that is no place for a cluster is refused when it is read, on every transport, 0 upstream (ATT-30)', async () => {
  const { port } = site.members[0]!;
  const all = [...refusedEndpoints, ...unreadableEndpoints];
  all.forEach((endpoint, index) =>
    register(`refused-${index}`, endpoint.includes('#') ? endpoint : `${endpoint}:${port}`),
  );
  await known(`refused-${all.length - 1}`);
  const mark = site.upstream();
  for (const [index, endpoint] of all.entries()) {
    const path = `/clusters/refused-${index}/proxy/api/v1/pods`;
    const exec = path.replace('pods', 'namespaces/a/pods/b/exec?command=c');
    const answers = [await ask(`GET ${path}`)];
    // The refusal stands in the record, which every way reads: one endpoint shows them all.
    if (index === 0) {
      answers.push(
        await ask(`GET ${exec}`, upgradeLines('websocket')),
        await ask(`POST ${exec}`, upgradeLines('SPDY/3.1')),
      );
      const list = http2Headers('GET', `${path}?watch=1`, ['authorization', 'Bearer admin-token']);
      const session = await openHttp2(site);
      const { status, body } = await http2Exchange(session, list);
      session.destroy();
      assert.deepEqual([status, /AddressRefused/.test(body)], [503, true]);
    }
    const reason = index < refusedEndpoints.length ? /AddressRefused/ : /InvalidConfiguration/;
    for (const { status, body } of answers) {
      assert.equal(status, 503, `${endpoint}: ${body}`);
      assert.match(body, reason, endpoint);
      assert.doesNotMatch(body, /the-member-token/);
    }
  }
  assert.deepEqual([site.upstream() - mark, trapped], [0, 0]);
});

test('so is the proxy of an object, and a proxy it cannot use never means "direct" (ATT-30)', async () => {
  const { port } = site.members[0]!;
  const good = `https://127.0.0.1:${port}`;
  const proxies = [
    `http://127.0.0.2:${port}`,
    `socks5://[::1]:${port}`,
    `https://169.254.169.254:${port}`,
    `http://u:p4ssw0rd@[::ffff:127.0.0.2]:${port}`,
    'http://localhost.localdomain.:3128/path',
    'file:///tmp/socket',
    'unix:///run/docker.sock',
    'ftp://10.0.0.1',
    'http://0x7f000002:3128',
  ];
  proxies.forEach((proxy, index) => register(`proxied-${index}`, good, { 'proxy-url': proxy }));
  await known(`proxied-${proxies.length - 1}`);
  const mark = site.upstream();
  for (const [index, proxy] of proxies.entries()) {
    const { status, body } = await ask(`GET /clusters/proxied-${index}/proxy/api`);
    assert.equal(status, 503, `${proxy}: ${body}`);
    assert.match(body, index < 4 ? /AddressRefused/ : /InvalidConfiguration/, proxy);
    assert.doesNotMatch(body, /p4ssw0rd/);
  }
  assert.deepEqual([site.upstream() - mark, trapped], [0, 0]);
});

test('a name that resolves to another address after it was accepted is refused at the connection (DNS rebinding), 0 upstream (ATT-30)', async () => {
  const { port } = site.members[0]!;
  const member = site.members[0]!;
  register('rebind', `https://rebind.test:${port}`);
  await known('rebind');
  const path = '/clusters/rebind/proxy/api/v1/pods';
  await waitFor(async () => (await ask(`GET ${path}`)).status === 200);
  const exec = path.replace('pods', 'namespaces/a/pods/b/exec?command=c');
  resolved = ['127.0.0.2'];
  // A connection that was under way when the sockets were closed, with the address of before, would answer for ever.
  await waitFor(async () => {
    for (const socket of member.sockets) socket.destroy();
    return /AddressRefused/.test((await ask(`GET ${path}`)).body);
  });
  for (const turn of [
    ['127.0.0.2'],
    ['169.254.169.254'],
    ['::1'],
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.2', '127.0.0.1'],
  ]) {
    resolved = turn;
    for (const socket of member.sockets) socket.destroy();
    await waitFor(() => member.sockets.every(({ destroyed }) => destroyed));
    const mark = member.requests.length;
    const session = await openHttp2(site);
    const answers = [
      await waitFor(async () => {
        const answer = await ask(`GET ${path}`);
        // Until the gateway has noticed that its kept connections are gone.
        return /AddressRefused/.test(answer.body) ? answer : undefined;
      }),
      await ask(`GET ${exec}`, upgradeLines('websocket')),
      await ask(`GET ${exec}`, upgradeLines('SPDY/3.1')),
      await http2Exchange(session, http2Headers('GET', `${path}?watch=1`, ['authorization', 'Bearer admin-token'])),
    ];
    session.destroy();
    for (const { status, body } of answers) {
      assert.equal(status, 503, body);
      assert.match(body, /AddressRefused/);
      assert.doesNotMatch(
        body,
        /127\.0\.0|169\.254|::1/,
        'what it resolved to would answer who asks about our network',
      );
    }
    assert.equal(member.requests.length, mark, turn.join());
  }
  assert.equal(trapped, 0);
  resolved = ['127.0.0.1'];
  await waitFor(async () => (await ask(`GET ${path}`)).status === 200);
});

test('the name of a proxy is judged at the connection as well (ATT-30)', async () => {
  const { port } = site.members[0]!;
  resolved = ['127.0.0.2'];
  register('rebind-proxy', `https://10.0.0.1:${port}`, { 'proxy-url': `http://proxy.rebind.test:${port}` });
  await known('rebind-proxy');
  const { status, body } = await ask('GET /clusters/rebind-proxy/proxy/api');
  assert.equal(status, 503);
  assert.match(body, /AddressRefused/);
  assert.equal(trapped, 0);
});

test('the operator’s own kubeconfig may name any address (ATT-30)', async () => {
  assert.equal((await exchange(site, requestBytes('GET /clusters/m1/proxy/api', [bearer]))).status, 200);
});
