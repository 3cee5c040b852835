// The hub's own kubectl on the three kinds that the gateway serves behind a real aggregator, and what cluster-gateway's
// clients send. Answers of a hub are aggregated from many servers, so a fault of ours shows in commands about other
// kinds.
// Landing tier: kubectl through a hub's own address.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { Member } from '../../controlplane/fixture.ts';
import { clusterSecret, secretNamespace } from '../../hub/objects.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { hubSide, ocmCluster } from './hub-sides.ts';
import type { Side } from '../kubectl/sides.ts';

const kinds = 'clusters.gateway.portcullis.io,clustergateways,virtualclusters';
const gateways = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways';

let site: HubSite;
let m1: Member;
/** cluster-admin on the hub; viewer and user of clusters; nobody. */
let carol: Side;
let alice: Side;
let bob: Side;

before(async () => {
  site = await startHubSite({
    members: ['m1', 'm2'],
    objects: (plane) => {
      const first = plane.member('m1');
      return [
        appliedSecret(clusterSecret(first, { annotations: { 'cluster.core.oam.dev/cluster-alias': 'first' } })),
        renamed(clusterSecret(first), 'eu.dotted.name'),
        ...ocmCluster(plane.member('m2')),
      ];
    },
  });
  m1 = site.plane.member('m1');
  carol = hubSide(site, 'carol');
  alice = hubSide(site, 'alice');
  bob = hubSide(site, 'bob');
});

after(async () => {
  for (const side of [carol, alice, bob]) side?.end();
  await site?.stop();
});

/** The Secret as `kubectl apply` leaves it: once more, whole, in an annotation. */
function appliedSecret(secret: object): object {
  const { metadata, ...rest } = secret as { metadata: { annotations: object } };
  const annotations = {
    ...metadata.annotations,
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(secret),
  };
  return { ...rest, metadata: { ...metadata, annotations } };
}

function renamed(secret: object, name: string): object {
  return { ...secret, metadata: { ...(secret as { metadata: object }).metadata, name } };
}

async function output(side: Side, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await side.run(args);
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}\n${site.gateway.log().slice(-2000)}`);
  assert.equal(stderr, '', args.join(' '));
  return stdout;
}

/** Rows of a table as lists of cells; the first is the header. */
function rows(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.trim().split(/ {2,}/));
}

test('kubectl get lists all three kinds in one command, each with its columns', async () => {
  const text = await output(alice, 'get', kinds);
  const [clusters = '', clustergateways = '', virtualclusters = ''] = text.split('\n\n');
  assert.deepEqual(rows(clusters)[0], [
    'NAME',
    'AVAILABLE',
    'VERSION',
    'SOURCE',
    'IDENTITY',
    'LATENCY',
    'INDEX',
    'AGE',
  ]);
  assert.deepEqual(
    rows(clusters).map((cells) => cells[0]),
    ['NAME', 'eu.dotted.name', 'm1', 'm2'].map((name) =>
      name === 'NAME' ? name : `cluster.gateway.portcullis.io/${name}`,
    ),
  );
  assert.deepEqual(rows(clustergateways)[0], ['NAME', 'PROVIDER', 'CREDENTIAL-TYPE', 'ENDPOINT-TYPE', 'HEALTHY']);
  assert.match(clustergateways, /clustergateway.cluster.core.oam.dev\/m1 +ServiceAccountToken +Const +false\n/);
  assert.deepEqual(rows(virtualclusters)[0], ['NAME', 'ALIAS', 'CREDENTIAL_TYPE', 'ENDPOINT', 'ACCEPTED', 'LABELS']);
  assert.match(virtualclusters, /^\S*\/local +Internal +- +true /m);
  assert.match(virtualclusters, /^\S*\/m1 +first +ServiceAccountToken +Const +true /m);
  assert.match(virtualclusters, /^\S*\/m2 +ManagedCluster +- +true /m);
});

test('every output and every name people type', async () => {
  const wide = await output(alice, 'get', kinds, '-o', 'wide');
  for (const column of ['SERVER', 'ORIGINAL NAME', 'CREATION_TIMESTAMP']) assert.ok(wide.includes(column), column);
  assert.ok(wide.includes(m1.url));
  const all = (await output(alice, 'get', kinds, '-o', 'name')).trim().split('\n');
  assert.deepEqual(all.length, 3 + 3 + 4);
  for (const name of ['pcl', 'cluster.gateway.portcullis.io', 'vc', 'vcluster', 'virtual-clusters', 'clustergateway']) {
    assert.match(await output(alice, 'get', name, 'm1', '-o', 'name'), /\/m1\n$/, name);
  }
  for (const form of ['yaml', 'json', 'jsonpath={.items[*].metadata.name}', 'custom-columns=N:.metadata.name']) {
    assert.ok((await output(alice, 'get', 'pcl', '-o', form)).includes('eu.dotted.name'), form);
  }
  assert.match(
    await output(alice, 'get', 'clustergateways', '-l', 'cluster.core.oam.dev/cluster-endpoint-type=Const'),
    /m1/,
  );
  assert.match(await output(alice, 'describe', 'clustergateway', 'm1'), /Address: +https:/);
  assert.equal(
    await output(alice, 'wait', 'pcl/m1', '--for=condition=Available'),
    'cluster.gateway.portcullis.io/m1 condition met\n',
  );
});

test('kubectl get -w tells of a cluster that comes, changes and goes', async () => {
  const running = ['pcl', 'clustergateways', 'virtualclusters'].map((kind) => alice.start(['get', kind, '-w']));
  await Promise.all(running.map((each) => each.until(/m1 /)));
  const secret = renamed(clusterSecret(m1), 'late');
  await site.hub.apply(secret);
  await Promise.all(running.map((each) => each.until(/late /)));
  await site.hub.apply({
    ...secret,
    metadata: {
      ...(secret as { metadata: object }).metadata,
      annotations: { 'status.cluster.core.oam.dev/healthy': 'true', 'cluster.core.oam.dev/cluster-alias': 'renamed' },
    },
  });
  await Promise.all([running[1]!.until(/late .* true\n/), running[2]!.until(/late +renamed /)]);
  const path = `/api/v1/namespaces/${secretNamespace}/secrets/late`;
  assert.equal((await site.hub.request('DELETE', path)).status, 200);
  const gone = alice.start(['wait', 'clustergateway/late', '--for=delete', '--timeout=20s']);
  assert.equal((await gone.finish()).code, 0);
  for (const each of running) await each.stop();
  assert.ok(!(await output(alice, 'get', 'pcl', '-o', 'name')).includes('late'));
});

test('kubectl explain knows every kind and field, and the aggregated documents of the hub stay valid', async () => {
  for (const [path, expected] of [
    ['clusters.gateway.portcullis.io', /KIND: +Cluster\n[^]*spec\s+<Object>/],
    ['clusters.gateway.portcullis.io.status.conditions.reason', /One word for programs/],
    ['pcl.metadata.uid', /FIELD: uid <string>/],
    ['clustergateways', /KIND: +ClusterGateway\n/],
    ['clustergateways.spec.access.endpoint.const.address', /URL of the API server/],
    ['virtualclusters.spec', /credential-type\s+<string>/],
    ['pods.spec.nodeName', /FIELD: nodeName <string>/],
  ] as const) {
    assert.match(await output(alice, 'explain', path), expected, path);
  }
  assert.match(await output(alice, 'explain', 'clustergateways', '--recursive'), /proxy-url\s+<string>/);
  const old = await output(alice, 'explain', 'clusters.gateway.portcullis.io.spec', '--output=plaintext-openapiv2');
  assert.match(old, /fallbackServers/);
  const v2 = JSON.parse(await output(carol, 'get', '--raw', '/openapi/v2')) as { paths: object; definitions: object };
  assert.ok(Object.hasOwn(v2.paths, `${gateways}/{name}/health`) && Object.hasOwn(v2.paths, '/api/v1/pods'));
  for (const [, name = ''] of JSON.stringify(v2).matchAll(/"\$ref":"#\/definitions\/([^"]*)"/g)) {
    assert.ok(Object.hasOwn(v2.definitions, name), name);
  }
  const v3 = JSON.parse(await output(carol, 'get', '--raw', '/openapi/v3')) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  for (const group of ['gateway.portcullis.io', 'cluster.core.oam.dev']) {
    const { serverRelativeURL } = v3.paths[`apis/${group}/v1alpha1`]!;
    assert.match(await output(carol, 'get', '--raw', serverRelativeURL), /"openapi":"3.0.0"/);
  }
});

test('api-resources and api-versions, and discovery of everything else, are whole', async () => {
  const text = await output(alice, 'api-resources', '-o', 'wide');
  const ours = rows(text).filter((cells) => /portcullis|cluster.core.oam.dev/.test(cells.join(' ')));
  const [clusters, clustergateways, virtualclusters] = ['clusters', 'clustergateways', 'virtualclusters'].map((name) =>
    ours.find((cells) => cells[0] === name)!.join(' '),
  );
  assert.equal(clusters, 'clusters pcl gateway.portcullis.io/v1alpha1 false Cluster get,list,watch portcullis');
  assert.equal(clustergateways, 'clustergateways cluster.core.oam.dev/v1alpha1 false ClusterGateway get,list,watch');
  assert.equal(
    virtualclusters,
    'virtualclusters vc,vcluster,vclusters,virtual-cluster,virtual-clusters cluster.core.oam.dev/v1alpha1 false VirtualCluster get,list,watch',
  );
  assert.match(text, /^deployments /m);
  const versions = (await output(alice, 'api-versions')).split('\n');
  for (const group of ['gateway.portcullis.io', 'cluster.core.oam.dev'])
    assert.ok(versions.includes(`${group}/v1alpha1`));
  assert.equal(await output(alice, 'get', 'portcullis', '-o', 'name'), await output(alice, 'get', 'pcl', '-o', 'name'));
});

test('requests through the hub reach every cluster as the caller, dotted names and other source included', async () => {
  for (const [name, member] of [
    ['m1', m1],
    ['eu.dotted.name', m1],
    ['m2', site.plane.member('m2')],
  ] as const) {
    const mark = await member.auditMark();
    const version = JSON.parse(await output(alice, 'get', '--raw', `${clusterPath(name)}/version`)) as object;
    assert.deepEqual(version, JSON.parse((await member.request('GET', '/version')).body));
    const list = await output(alice, 'get', '--raw', `${clusterPath(name)}/api/v1/namespaces/team-a/pods?limit=1`);
    assert.equal((JSON.parse(list) as { kind: string }).kind, 'PodList');
    const [event] = await member.waitForAudit(
      ({ requestURI, impersonatedUser }) => impersonatedUser !== undefined && requestURI.includes('/team-a/pods'),
      { mark },
    );
    assert.equal(event!.impersonatedUser!.username, 'alice');
    assert.deepEqual(event!.impersonatedUser!.groups!.toSorted(), ['developers', 'system:authenticated', 'team-a']);
  }
});

test('who was given nothing on the hub sees nothing of clusters and reaches none', async () => {
  for (const args of [
    ['get', 'pcl'],
    ['get', 'clustergateways', 'm1'],
    ['get', 'virtualclusters'],
    ['get', '--raw', `${clusterPath('m1')}/version`],
    ['get', '--raw', `${gateways}/m1/proxy/version`],
    ['get', '--raw', `${gateways}/m1/health`],
  ]) {
    const { code, stderr } = await bob.run(args);
    assert.equal(code, 1);
    assert.match(stderr, /^Error from server \(Forbidden\)/, args.join(' '));
  }
  // Seeing clusters and writing their health are two rights.
  const { stderr } = await alice.run(['get', '--raw', `${gateways}/m1/health`]);
  assert.match(stderr, /Forbidden/);
});

test('what the Go clients of cluster-gateway send works on the hub (CG-73, CG-74, CG-75, CG-76, CG-77, CG-78, CG-79)', async () => {
  const { hub } = site;
  const json = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await hub.request(method, path, body);
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.body}`);
    return JSON.parse(answer.body) as T;
  };
  interface Gateway {
    metadata: { name: string; resourceVersion: string };
    status: { healthy?: boolean; healthyReason?: string };
  }
  const r1 = await json<{ resources: { kind: string }[] }>('GET', '/apis/cluster.core.oam.dev/v1alpha1');
  assert.ok(r1.resources.some(({ kind }) => kind === 'ClusterGateway'));
  assert.equal((await json<Gateway>('GET', `${gateways}/m1`)).metadata.name, 'm1');
  const list = await json<{ items: Gateway[] }>('GET', gateways);
  assert.ok(list.items.some(({ metadata }) => metadata.name === 'm1'));
  const read = await json<Gateway>('GET', `${gateways}/m1/health`);
  assert.equal(read.status.healthy ?? false, false);
  const status = { healthy: true, healthyReason: 'ConnectionTimeout' };
  const updated = await json<Gateway>('PUT', `${gateways}/m1/health`, { ...read, status });
  assert.deepEqual(updated.status, status);
  assert.deepEqual((await json<Gateway>('GET', `${gateways}/m1/health`)).status, status);
  assert.equal((await hub.request('PUT', `${gateways}/m1/health`, read)).status, 409);
  assert.deepEqual((await json<Gateway>('PUT', `${gateways}/m1/health`, { ...updated, status: {} })).status, {});
  // The Secret has the two annotations, and all it had before.
  const secret = await json<{ metadata: { annotations: object }; data: object }>(
    'GET',
    `/api/v1/namespaces/${secretNamespace}/secrets/m1`,
  );
  const annotations = new Map(Object.entries(secret.metadata.annotations));
  assert.equal(annotations.get('status.cluster.core.oam.dev/healthy'), 'false');
  assert.equal(annotations.get('cluster.core.oam.dev/cluster-alias'), 'first');
  assert.deepEqual(Object.keys(secret.data).toSorted(), ['ca.crt', 'endpoint', 'token']);
  // Of a ManagedCluster without a Secret too.
  const ocm = await json<Gateway>('GET', `${gateways}/m2/health`);
  assert.deepEqual((await json<Gateway>('PUT', `${gateways}/m2/health`, { ...ocm, status })).status, status);
  assert.equal((await hub.request('PUT', `${gateways}/nobody/health`, read)).status, 404);
  // The round trippers of cluster-gateway put this in front of whatever path a client asks for; system:masters stays on
  // the hub.
  for (const path of ['healthz', 'version', 'apis']) {
    const through = await hub.request('GET', `${gateways}/m1/proxy/${path}`);
    assert.equal(through.status, 200, path);
    assert.equal(through.body, (await m1.request('GET', `/${path}`)).body, path);
  }
  assert.equal((await hub.request('GET', `${gateways}/m1/proxy/api/v1/secrets`)).status, 403);
  const typed = hubSide(site, 'carol', { url: hub.url, caFile: hub.caFile, path: `${gateways}/m1/proxy` });
  assert.match(await output(typed, 'get', 'namespaces', '-o', 'name'), /^namespace\/team-a$/m);
  await output(typed, 'create', 'configmap', 'through-the-hub', '-n', 'team-a', '--from-literal=a=b');
  assert.match(await output(typed, 'delete', 'configmap', 'through-the-hub', '-n', 'team-a'), /deleted/);
});

test('no secret is in anything the hub tells of the three kinds', async () => {
  const kept = [m1.gatewayToken, m1.caPem, site.plane.member('m2').gatewayToken].map((secret) => secret.trim());
  const secrets = kept.flatMap((secret) => [secret, Buffer.from(secret).toString('base64').slice(0, -4)]);
  const texts: string[] = [];
  for (const form of ['yaml', 'json', 'wide', 'go-template={{.}}'])
    texts.push(await output(carol, 'get', kinds, '-o', form));
  for (const name of ['m1', 'm2']) texts.push(await output(carol, 'describe', kinds, name));
  for (const path of [
    '/apis/gateway.portcullis.io/v1alpha1/clusters',
    gateways,
    gateways.replace('clustergateways', 'virtualclusters'),
  ]) {
    for (const query of [
      '',
      '/m1',
      '/m1/health',
      '/m1/status',
      '?watch=true&timeoutSeconds=1',
      '?includeObject=Object',
    ]) {
      for (const accept of ['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io']) {
        texts.push((await site.hub.request('GET', path + query, undefined, { accept })).body);
      }
    }
  }
  assert.ok(texts.join('').split(m1.url).length > 20);
  for (const secret of secrets) {
    for (const text of texts) assert.ok(!text.includes(secret) && !text.includes(JSON.stringify(secret).slice(1, -1)));
  }
});

test('the same commands straight to the gateway with a token of the hub', async () => {
  const endpoint = { url: site.gateway.url, caFile: site.gateway.caFile, path: '' };
  const direct = hubSide(site, 'alice', endpoint);
  assert.equal(await output(direct, 'get', kinds, '-o', 'name'), await output(alice, 'get', kinds, '-o', 'name'));
  assert.match(await output(direct, 'get', 'vc,clustergateways', '-o', 'wide'), /CREATION_TIMESTAMP/);
  for (const kind of kinds.split(',')) {
    for (const form of ['plaintext', 'plaintext-openapiv2']) {
      assert.match(await output(direct, 'explain', kind, `--output=${form}`), /KIND: +(Virtual)?Cluster/, form);
    }
  }
  const served = (await output(direct, 'api-resources', '-o', 'name')).trim().split('\n');
  assert.deepEqual(served.toSorted(), [
    'clustergateways.cluster.core.oam.dev',
    'clusters.gateway.portcullis.io',
    'collectionresources.clusterpedia.io',
    'indexes.search.portcullis.io',
    'proxying.search.karmada.io',
    'resources.clusterpedia.io',
    'search.search.karmada.io',
    'statistics.gateway.portcullis.io',
    'virtualclusters.cluster.core.oam.dev',
  ]);
  const watching = direct.start(['get', 'clustergateways', '-w']);
  await watching.until(/m1 /);
  await watching.stop();
  const nobody = hubSide(site, 'bob', endpoint);
  assert.match((await nobody.run(['get', 'clustergateways'])).stderr, /Forbidden/);
});

test("Karmada's path is served on the direct listener only", async () => {
  const path = '/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/version';
  const direct = hubSide(site, 'carol', { url: site.gateway.url, caFile: site.gateway.caFile, path: '' });
  assert.match(await output(direct, 'get', '--raw', path), /gitVersion/);
  const { stderr } = await carol.run(['get', '--raw', path]);
  assert.match(stderr, /NotFound/);
});
