// What Headlamp asks, as its own client sends it: its server forwards the browser's requests below the server address
// of a kubeconfig, and dials watches over WebSocket with that whole address as Origin. Two real members and the index
// of both, by the contexts that `portcullis kubeconfig --all --index` writes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { parse } from 'yaml';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually } from '../../site/polling.ts';
import { reviewRights } from '../index/index-objects.ts';
import { ask } from '../kubectl/kubectl-as.ts';

const run = promisify(execFile);
const program = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const carol = { name: 'carol', groups: ['operators'], token: 'carol-at-the-gateway' };
const configMaps = '/api/v1/namespaces/shop/configmaps';
/** Headers of a browser that its server passes on. */
const ofBrowser = {
  'user-agent': 'Mozilla/5.0',
  'x-forwarded-for': '127.0.0.1',
  'x-headlamp-user-id': 'a1b2',
  cookie: 'headlamp-auth-m1.0=a.b.c',
  'sec-fetch-site': 'same-origin',
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
};

let plane: ControlPlane;
let gateway: GatewayProcess;
/** Server addresses by context, from the kubeconfig. */
let servers: ReadonlyMap<string, string>;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'], bare: ['m1', 'm2'], audit: false });
  const chosen = ['--index', '--index-resources', 'configmaps', '--gateway-service-account', 'portcullis/gateway'];
  const { stdout: access } = await run(process.execPath, [program, 'generate', 'member-access', ...chosen]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access });
    assert.equal(applied.code, 0, applied.stderr);
    await member.apply(...reviewRights(gatewayUser), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'shop' },
    });
    await make(member.name, 'first');
  }
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol],
    args: ['--index-resources', 'configmaps'],
  });
  const kubeconfig = join(plane.dir, 'headlamp.kubeconfig');
  const ofGateway = ['--server', gateway.url, '--certificate-authority', gateway.caFile, '--token', carol.token];
  await run(process.execPath, [program, 'kubeconfig', ...ofGateway, '--all', '--index', '--output', kubeconfig]);
  const { clusters } = parse(readFileSync(kubeconfig, 'utf8')) as {
    clusters: { name: string; cluster: { server: string } }[];
  };
  servers = new Map(clusters.map(({ name, cluster }) => [name, cluster.server]));
  await eventually('the index is whole', async () => (await list('portcullis-all')).length === 2);
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

async function make(member: string, name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: 'b' } };
  const { status, body } = await plane.member(member).request('POST', configMaps, object);
  assert.equal(status, 201, body);
}

interface Answer {
  readonly status: number;
  readonly body: any;
}

/** A request of the page, as Headlamp's server sends it on. */
async function fetched(
  context: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const server = servers.get(context)!;
  const method = body === undefined ? 'GET' : 'POST';
  const sent = body && JSON.stringify(body);
  const origin = body && { origin: 'http://localhost:4466' };
  const target = new URL(server).pathname + path;
  const answer = await ask(gateway, carol.token, method, target, sent, { ...ofBrowser, ...origin, ...headers });
  const text = answer.body.toString('utf8');
  return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

async function list(context: string): Promise<readonly any[]> {
  const { status, body } = await fetched(context, `${configMaps}?limit=1000`);
  assert.equal(status, 200, JSON.stringify(body));
  return (body.items as any[]).filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt');
}

interface Watch {
  readonly socket: WebSocket;
  readonly events: { readonly type: string; readonly object: any }[];
}

/** A watch as Headlamp's multiplexer dials it. */
async function watched(context: string, path: string): Promise<Watch> {
  const server = servers.get(context)!;
  const socket = new WebSocket(server.replace('https', 'wss') + path, {
    ca: gateway.caPem,
    headers: { Origin: server, Authorization: `Bearer ${carol.token}` },
  });
  const events: Watch['events'] = [];
  socket.on('message', (data: Buffer) => events.push(JSON.parse(data.toString('utf8'))));
  await once(socket, 'open');
  return { socket, events };
}

for (const context of ['portcullis-m1', 'portcullis-m2', 'portcullis-all']) {
  test(`Headlamp finds ${context} alive, and what it serves, in the form it asks for`, async () => {
    assert.match((await fetched(context, '/version')).body.gitVersion, /^v1\./);
    assert.equal((await fetched(context, '/healthz')).status, 200);
    const accept = 'application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList';
    const { body } = await fetched(context, '/api', undefined, { accept });
    assert.equal(body.kind, 'APIGroupDiscoveryList');
    const resources = body.items.flatMap((item: any) => item.versions.flatMap((each: any) => each.resources));
    const found = resources.find(({ resource }: { resource: string }) => resource === 'configmaps');
    assert.equal(found.responseKind.kind, 'ConfigMap');
    assert.ok(found.verbs.includes('list') && found.verbs.includes('watch'));
    assert.equal((await fetched(context, '/apis', undefined, { accept })).body.kind, 'APIGroupDiscoveryList');
  });

  test(`Headlamp's watch of ${context} goes on from its list and sees what comes, changes and goes`, async () => {
    const { body } = await fetched(context, `${configMaps}?limit=1000`);
    const version = encodeURIComponent(body.metadata.resourceVersion as string);
    const { socket, events } = await watched(context, `${configMaps}?limit=1000&watch=1&resourceVersion=${version}`);
    const member = context === 'portcullis-m2' ? 'm2' : 'm1';
    const name = `from-${context}`;
    const path = `${configMaps}/${name}`;
    await make(member, name);
    const seen = (type: string): Promise<any> =>
      eventually(`${type} of ${name}`, () =>
        events.find((each) => each.type === type && each.object.metadata.name === name),
      );
    const added = await seen('ADDED');
    assert.equal(added.object.kind, 'ConfigMap');
    await plane
      .member(member)
      .request('PATCH', path, { data: { a: 'c' } }, { 'content-type': 'application/merge-patch+json' });
    assert.equal((await seen('MODIFIED')).object.data.a, 'c');
    await plane.member(member).request('DELETE', path);
    await seen('DELETED');
    socket.close();
    await once(socket, 'close');
  });
}

test('the context of the index lists the objects of both clusters, each named in an annotation', async () => {
  const names = (await list('portcullis-all')).map(
    ({ metadata }) => `${metadata.annotations['shadow.clusterpedia.io/cluster-name']}/${metadata.name}`,
  );
  assert.deepEqual(names.toSorted(), ['m1/first', 'm2/first']);
});

test('Headlamp is told who its user is in a cluster, and what that user may do there', async () => {
  const whoami = await fetched('portcullis-m1', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
  });
  assert.equal(whoami.status, 201, JSON.stringify(whoami.body));
  assert.equal(whoami.body.status.userInfo.username, 'carol');
  const rules = await fetched('portcullis-m1', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
    kind: 'SelfSubjectRulesReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { namespace: 'default' },
  });
  assert.equal(rules.status, 201);
  const access = await fetched('portcullis-m1', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { resourceAttributes: { verb: 'delete', resource: 'configmaps', namespace: 'shop' } },
  });
  assert.equal(access.body.status.allowed, true);
});

test('a watch ends with its client, and what Headlamp asked is in the statistics of each cluster', async () => {
  const { socket } = await watched('portcullis-m2', `${configMaps}?watch=1`);
  const statistics = async (): Promise<readonly any[]> => {
    const { status, body } = await ask(gateway, carol.token, 'GET', '/apis/gateway.portcullis.io/v1alpha1/statistics');
    assert.equal(status, 200, body.toString('utf8'));
    return JSON.parse(body.toString('utf8')).items;
  };
  const streams = async (): Promise<number> => {
    const { openRequests } = (await statistics()).find(({ metadata }) => metadata.name === 'm2');
    return Object.entries(openRequests as Record<string, number>).reduce(
      (sum, [kind, count]) => (kind === 'short' ? sum : sum + count),
      0,
    );
  };
  await eventually('the watch is counted', async () => (await streams()) === 1);
  socket.terminate();
  await eventually('the watch is over', async () => (await streams()) === 0);
  const items = await statistics();
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['m1', 'm2'],
  );
  for (const { requests } of items) {
    assert.ok(requests.codes['200'] >= 4 && requests.verbs['get'] >= 3, JSON.stringify(requests));
  }
});
