// The API of cluster-gateway on the wire, with a simulated hub that says who callers are and what they may: objects
// from its Secrets, writes of health back to them, and the proxy paths of three groups, each asked about as what it is.
import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, before, test } from 'node:test';
import { startSimulator } from '../../sim/server.ts';
import type { Simulator } from '../../sim/server.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../site/http2-client.ts';
import { exchange, openRaw, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import { writeHubKubeconfig } from '../site/simulated-hub.ts';
import type { Site } from '../site/site.ts';
import { grantedClusterRole, userSubject } from '../site/rbac.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const api = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways';
const health = `${api}/east/health`;
const namespace = 'credentials';
const json = 'Content-Type: application/json';
/** Of the hub: may do all, may look, may use the proxy of one group each. */
const people = ['admin', 'viewer', 'gateway-user', 'own-user', 'karmada-user'] as const;
type Person = (typeof people)[number];

const folder = tempDir('hub-api');
let hub: Simulator;
let site: Site;
let session: ClientHttp2Session;

const bearer = (person: Person): string => `Authorization: Bearer ${person}-token`;
const ask = (line: string, person: Person = 'admin', headers: readonly string[] = [], body = ''): Promise<RawAnswer> =>
  exchange(site, requestBytes(line, [bearer(person), ...headers], body));

function grant(person: Person, rules: readonly object[]): Parameters<Simulator['store']['apply']>[0][] {
  return grantedClusterRole(person, rules, userSubject(person)) as never;
}

function secret(name: string, server: string, ca: string, annotations = {}): object {
  const text = (value: string): string => Buffer.from(value).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name,
      namespace,
      annotations,
      labels: { 'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken' },
    },
    data: { endpoint: text(server), 'ca.crt': text(ca), token: text('the-member-token') },
  };
}

before(async () => {
  const proxyOf = (group: string, resource: string): object => ({
    apiGroups: [group],
    resources: [`${resource}/proxy`],
    verbs: ['*'],
  });
  hub = await startSimulator({
    name: 'hub',
    controllers: false,
    tokens: Object.fromEntries(people.map((name) => [`${name}-token`, { name, groups: ['system:authenticated'] }])),
    seed: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } } as never,
      ...grant('admin', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]),
      ...grant('viewer', [
        {
          apiGroups: ['cluster.core.oam.dev'],
          resources: ['clustergateways', 'clustergateways/health', 'virtualclusters'],
          verbs: ['get', 'list', 'watch'],
        },
      ]),
      ...grant('gateway-user', [proxyOf('cluster.core.oam.dev', 'clustergateways')]),
      ...grant('own-user', [proxyOf('gateway.portcullis.io', 'clusters')]),
      ...grant('karmada-user', [proxyOf('cluster.karmada.io', 'clusters')]),
    ],
  });
  site = await startSite({
    users: [{ token: 'local-token', name: 'local' }],
    config: {
      hubKubeconfig: writeHubKubeconfig(folder, hub),
      sources: 'kubeconfig,cluster-gateway',
      secretNamespace: namespace,
      allowMemberAddresses: '127.0.0.1',
    },
  });
  const { server, ca } = site.contexts[0]!;
  hub.store.apply(
    secret('east', server, ca, {
      'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(secret('east', server, ca)),
    }) as never,
  );
  session = await openHttp2(site);
  await waitFor(async () => (await ask(`GET ${api}/east`)).status === 200);
});
after(async () => {
  session.destroy();
  site.close();
  await hub.close();
});

interface Gateway {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly status: { readonly healthy?: boolean; readonly healthyReason?: string };
}

const annotationsOf = (name: string): Readonly<Record<string, string>> =>
  hub.store.get('secrets', namespace, name)!.metadata.annotations ?? {};

test('a Secret of the hub is a clustergateway and a virtualcluster; a cluster of a kubeconfig is neither', async () => {
  const list = JSON.parse((await ask(`GET ${api}`, 'viewer')).body) as { items: Gateway[] };
  assert.deepEqual(
    list.items.map(({ metadata }) => metadata.name),
    ['east'],
  );
  assert.equal((await ask(`GET ${api}/m1`, 'viewer')).status, 404);
  const virtual = JSON.parse(
    (await ask(`GET ${api.replace('clustergateways', 'virtualclusters')}`, 'viewer')).body,
  ) as {
    items: Gateway[];
  };
  assert.deepEqual(
    virtual.items.map(({ metadata }) => metadata.name),
    ['local', 'east'],
  );
  const second = await http2Exchange(
    session,
    http2Headers('GET', `${api}/east`, ['authorization', 'Bearer viewer-token']),
  );
  // Versions are those of records, which the probe changes as well.
  const unversioned = ({ metadata, ...rest }: Gateway): object => ({
    ...rest,
    metadata: { ...metadata, resourceVersion: '' },
  });
  assert.deepEqual(unversioned(JSON.parse(second.body) as Gateway), unversioned(list.items[0]!));
  for (const text of [JSON.stringify(list), JSON.stringify(virtual), second.body]) {
    for (const hidden of [
      'the-member-token',
      Buffer.from('the-member-token').toString('base64'),
      'CERTIFICATE',
      'last-applied',
    ])
      assert.ok(!text.includes(hidden), hidden);
  }
});

test('health is written to the Secret and echoed, over both protocols and with either framing (CG-77)', async () => {
  const before = { ...annotationsOf('east') };
  const read = JSON.parse((await ask(`GET ${health}`)).body) as Gateway;
  const put = async (object: Gateway, framing: 'length' | 'chunked' | 'http2'): Promise<Gateway> => {
    const body = JSON.stringify(object);
    if (framing === 'http2') {
      const headers = ['authorization', 'Bearer admin-token', 'content-type', 'application/json'];
      const answer = await http2Exchange(session, http2Headers('PUT', health, headers), body);
      assert.equal(answer.status, 200, answer.body);
      return JSON.parse(answer.body) as Gateway;
    }
    const sent =
      framing === 'length'
        ? await ask(`PUT ${health}`, 'admin', [json, `Content-Length: ${body.length}`], body)
        : await ask(
            `PUT ${health}`,
            'admin',
            [json, 'Transfer-Encoding: chunked'],
            `5\r\n${body.slice(0, 5)}\r\n${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`,
          );
    assert.equal(sent.status, 200, sent.body);
    return JSON.parse(sent.body) as Gateway;
  };
  let last = read;
  for (const framing of ['length', 'chunked', 'http2'] as const) {
    last = await put({ ...last, status: { healthy: true, healthyReason: framing } }, framing);
    assert.deepEqual(last.status, { healthy: true, healthyReason: framing });
    assert.equal(annotationsOf('east')['status.cluster.core.oam.dev/healthy-reason'], framing);
  }
  const after = { ...annotationsOf('east') };
  delete after['status.cluster.core.oam.dev/healthy'];
  delete after['status.cluster.core.oam.dev/healthy-reason'];
  assert.deepEqual(after, before);
  const stale = await ask(
    `PUT ${health}`,
    'admin',
    [json, `Content-Length: ${JSON.stringify(read).length}`],
    JSON.stringify(read),
  );
  assert.equal(stale.status, 409);
});

test('looking is not writing: who may only get health cannot put it, and the Secret stays as it is', async () => {
  const before = annotationsOf('east');
  assert.equal((await ask(`GET ${health}`, 'viewer')).status, 200);
  for (const person of ['viewer', 'gateway-user', 'own-user'] as const) {
    assert.equal((await ask(`PUT ${health}`, person, [json, 'Content-Length: 2'], '{}')).status, 403, person);
  }
  assert.equal((await ask(`GET ${health}`, 'gateway-user')).status, 403);
  assert.deepEqual(annotationsOf('east'), before);
});

test('a body that is too long or that never comes whole does not hold anything up', async () => {
  const long = await ask(`PUT ${health}`, 'admin', [json, 'Content-Length: 1000000'], 'x');
  assert.equal(long.status, 413);
  const client = await openRaw(site);
  client.send(requestBytes(`PUT ${health}`, [bearer('admin'), json, 'Content-Length: 100'], '{'));
  client.close();
  assert.equal((await ask(`GET ${health}`)).status, 200);
});

test('every proxy path reaches the cluster as the caller, and is asked about as what it is', async () => {
  const paths = {
    'gateway-user': `${api}/east/proxy`,
    'own-user': '/apis/gateway.portcullis.io/v1alpha1/clusters/east/proxy',
    'karmada-user': '/apis/cluster.karmada.io/v1alpha1/clusters/east/proxy',
  } as const;
  const { requests } = site.members[0]!;
  for (const [holder, path] of Object.entries(paths)) {
    for (const person of ['gateway-user', 'own-user', 'karmada-user'] as const) {
      requests.splice(0);
      const { status } = await ask(`GET ${path}/api/v1/pods`, person);
      const reached = requests.filter((request) => request.head.includes('/api/v1/pods'));
      assert.equal(status, person === holder ? 200 : 403, `${person} on ${path}`);
      assert.deepEqual(
        reached.map((request) => request.values('impersonate-user')),
        person === holder ? [[person]] : [],
      );
    }
  }
  // The short form is our own group's.
  assert.equal((await ask('GET /clusters/east/proxy/api/v1/pods', 'own-user')).status, 200);
  assert.equal((await ask('GET /clusters/east/proxy/api/v1/pods', 'gateway-user')).status, 403);
});

test('a watch tells of a Secret that comes and goes', async () => {
  const client = await openRaw(site);
  client.send(requestBytes(`GET ${api}?watch=true`, [bearer('viewer')]));
  await client.answer({ headOnly: true });
  await client.restMatches(/"ADDED".*"east"/);
  const { server, ca } = site.contexts[0]!;
  hub.store.apply(secret('west', server, ca) as never);
  await client.restMatches(/"ADDED".*"west"/);
  hub.store.remove('secrets', namespace, 'west');
  await client.restMatches(/"DELETED".*"west"/);
  client.close();
});
