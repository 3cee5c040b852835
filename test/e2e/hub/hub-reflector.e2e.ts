// The sources' view of a real hub stays what the hub holds, through kinds that come and go, a broken network, a dead
// line, a killed API server and a forgotten history. Each fault must really have happened, so the test sees it before
// it heals.
// Landing tier: clusters of a hub, also while the hub is away.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseAllDocuments } from 'yaml';

import { makeHubClient } from '../../../kube/client/hub-client.ts';
import { readHubKubeconfig } from '../../../cache/hub/hub-connection.ts';
import type { HubConnection } from '../../../kube/client/connection.ts';
import type { ApiClient } from '../../../kube/types.ts';
import { makeHubSources } from '../../../cache/sources/objects/catalogue.ts';
import { startHubSources, type HubSourcesHandle } from '../../../cache/sources/hub/hub.ts';
import type { SourceProblem } from '../../../cache/sources/source.ts';
import { createClusterStore } from '../../../model/store.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { writeKubeconfig } from '../../controlplane/kubeconfig.ts';
import { applyCustomResources } from '../../hub/site.ts';
import { startRelay, type Relay } from '../../hub/relay.ts';
import { eventually } from '../../site/polling.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';

const secretNamespace = 'open-cluster-management-credentials';
const clustersPath = '/apis/cluster.open-cluster-management.io/v1/managedclusters';
const secretsPath = `/api/v1/namespaces/${secretNamespace}/secrets`;

let plane: ControlPlane;
let hub: Member;
let relay: Relay;
let connection: HubConnection;
let client: ApiClient;
let handle: HubSourcesHandle;
const store = createClusterStore();
const events: string[] = [];
const reported: SourceProblem[] = [];
/** Every path the reflectors asked for, and the first line of every watch. */
const asked: string[] = [];
const firstLines: string[] = [];

before(async () => {
  plane = await startControlPlane({ members: ['hub'], bare: ['hub'] });
  hub = plane.member('hub');
  relay = await startRelay(Number(new URL(hub.url).port));
  await hub.apply(namespace(secretNamespace));
  const file = await writeKubeconfig(join(plane.dir, 'relay.kubeconfig'), [
    {
      name: 'hub',
      server: `https://127.0.0.1:${relay.port}`,
      caPem: hub.caPem,
      user: 'admin',
      credential: { certPem: hub.adminCertPem, keyPem: hub.adminKeyPem },
    },
  ]);
  connection = await readHubKubeconfig(file);
  client = noted(makeHubClient(connection, { version: 'e2e', silenceMs: 600, signTimeoutMs: 500 }));
  store.subscribe(({ type, record }) => void events.push(`${type} ${record.spec.name}`));
  handle = startHubSources({
    client,
    store,
    sources: makeHubSources({
      names: ['ocm', 'cluster-gateway', 'karmada', 'cluster-api', 'vcluster', 'argocd', 'pediacluster'],
      secretNamespace,
      secretNamespaces: [],
      managedServiceAccount: 'portcullis',
      clusterProxy: undefined,
    }),
    onProblem: (problem) => void reported.push(problem),
  });
});

after(async () => {
  handle?.close();
  client?.close();
  connection?.close();
  relay?.close();
  await plane?.stop();
});

/** The client with what it was asked and told on record. */
function noted(inner: ApiClient): ApiClient {
  return {
    get url() {
      return inner.url;
    },
    request(call) {
      asked.push(call.path);
      return inner.request(call);
    },
    async open(call) {
      const stream = await inner.open(call);
      async function* chunks(): AsyncGenerator<Buffer> {
        let first = true;
        for await (const chunk of stream.chunks) {
          if (first) firstLines.push(chunk.toString('utf8', 0, 300));
          first = false;
          yield chunk;
        }
      }
      return { ...stream, chunks: chunks() };
    },
    close: () => inner.close(),
  };
}

function namespace(name: string): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

/** A cluster of OCM with a credential beside it. */
function cluster(name: string, host = name): readonly object[] {
  return [
    {
      apiVersion: 'cluster.open-cluster-management.io/v1',
      kind: 'ManagedCluster',
      metadata: { name },
      spec: {
        hubAcceptsClient: true,
        managedClusterClientConfigs: [
          { url: `https://${host}.example:6443`, caBundle: Buffer.from(hub.caPem).toString('base64') },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: secretNamespace,
        labels: { 'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken' },
      },
      stringData: { token: `token-of-${name}` },
    },
  ];
}

async function remove(path: string): Promise<void> {
  const { status } = await hub.request('DELETE', path);
  assert.ok(status === 200 || status === 202, `${path}: ${status}`);
}

const usable = (): string =>
  store
    .list()
    .filter(({ spec }) => spec.problem === undefined)
    .map(({ spec }) => spec.name)
    .join();
const hostOf = (name: string): string | undefined => store.get(name)?.spec.endpoint?.host;
const lists = (): number => asked.filter((path) => path.startsWith(`${clustersPath}?limit=500`)).length;

/** Writes of other kinds, so that the hub's version moves on while ours stands still. */
async function moveVersion(): Promise<void> {
  for (let index = 0; index < 5; index += 1) {
    await hub.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'noise', namespace: 'default' },
      data: { index: `${index}` },
    });
  }
}

test('a hub without any of the kinds is a whole answer; their clusters come when they do', async () => {
  await handle.synced;
  assert.equal(usable(), '');
  await eventually('definitions are watched', () => asked.some((path) => path.includes('customresourcedefinitions')));
  await applyCustomResources(hub);
  await hub.apply(...cluster('one'), ...cluster('two.with.dots'));
  await eventually('the clusters', () => usable() === 'one,two.with.dots');
  assert.deepEqual(reported, []);
});

test('what is changed, deleted or created anew on the hub is so here, a new UID being another cluster', async () => {
  const before = store.get('one');
  await hub.apply(...cluster('one', 'elsewhere'));
  await eventually('the new address', () => hostOf('one') === 'elsewhere.example');
  assert.equal(store.get('one')?.spec.uid, before?.spec.uid);
  events.length = 0;
  await remove(`${clustersPath}/one`);
  await hub.apply(...cluster('one'));
  await eventually('the new cluster', () => hostOf('one') === 'one.example');
  assert.notEqual(store.get('one')?.spec.uid, before?.spec.uid);
  assert.ok(events.includes('DELETED one') && events.includes('ADDED one'), events.join());
});

test('a network that is cut for a while leaves nothing behind that the hub no longer has', async () => {
  await hub.apply(...cluster('gone'), ...cluster('kept'));
  await eventually('all four', () => usable() === 'gone,kept,one,two.with.dots');
  const kept = store.get('kept');
  const listed = lists();
  relay.set('cut');
  await eventually('the outage is told', () =>
    handle.problems().some(({ message }) => message.includes('a request to the hub')),
  );
  assert.equal(handle.problems().length, 1, JSON.stringify(handle.problems()));
  assert.equal(usable(), 'gone,kept,one,two.with.dots', 'what was known still is');
  await remove(`${clustersPath}/gone`);
  await remove(`${secretsPath}/gone`);
  await hub.apply(...cluster('came'), ...cluster('one', 'moved'));
  relay.set('open');
  await eventually('the truth', () => usable() === 'came,kept,one,two.with.dots' && hostOf('one') === 'moved.example');
  assert.equal(store.get('kept'), kept, 'the very same record');
  assert.equal(lists(), listed, 'it resumed and listed nothing again');
  await eventually('no problem', () => handle.problems().length === 0);
});

test('a line that is dead without a sign of it is noticed, and what it kept back is caught up with', async () => {
  relay.set('silent');
  await hub.apply(...cluster('one', 'silently'));
  await remove(`${clustersPath}/came`);
  await remove(`${secretsPath}/came`);
  await eventually('the silence is told', () =>
    handle.problems().some(({ message }) => message.includes('it did not answer within')),
  );
  assert.equal(hostOf('one'), 'moved.example');
  relay.set('open');
  await eventually('the truth', () => usable() === 'kept,one,two.with.dots' && hostOf('one') === 'silently.example');
});

test('a killed API server and a history it has forgotten (410) lead to a new list, without what was deleted meanwhile', async () => {
  relay.set('cut');
  await remove(`${clustersPath}/kept`);
  await remove(`${secretsPath}/kept`);
  await hub.apply(...cluster('late'));
  await moveVersion();
  await hub.kill();
  await hub.restart();
  await moveVersion();
  const listed = lists();
  relay.set('open');
  await eventually('the truth', () => usable() === 'late,one,two.with.dots');
  assert.ok(
    firstLines.some((line) => line.includes('"code":410')),
    'the hub really answered 410',
  );
  assert.ok(lists() > listed, 'and was listed anew');
  await hub.apply(...cluster('late', 'and-followed'));
  await eventually('events after it', () => hostOf('late') === 'and-followed.example');
});

test('an API server that is killed and comes back is followed again without a restart of ours', async () => {
  await hub.kill();
  await eventually('the outage is told', () =>
    handle.problems().some(({ message }) => message.includes('a request to the hub')),
  );
  assert.equal(usable(), 'late,one,two.with.dots');
  await hub.restart();
  await hub.apply(...cluster('after'));
  await eventually('the new cluster', () => usable() === 'after,late,one,two.with.dots', { timeoutMs: 30_000 });
  await eventually('no problem', () => handle.problems().length === 0).catch((error: unknown) =>
    assert.fail(`${String(error)}: ${JSON.stringify(handle.problems())}`),
  );
});

test('when a kind is removed from the hub its clusters go, and come back with it', async () => {
  const folder = join(import.meta.dirname, '../../hub/crds');
  const names = readdirSync(folder)
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .map((document) => (document.toJS() as { metadata: { name: string } } | null)?.metadata.name ?? '');
  assert.ok(names.includes('managedclusters.cluster.open-cluster-management.io'));
  await remove(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/managedclusters.cluster.open-cluster-management.io',
  );
  await eventually('no usable cluster', () => usable() === '', { timeoutMs: 30_000 });
  await eventually('its definition is gone', async () => (await hub.request('GET', clustersPath)).status === 404);
  await applyCustomResources(hub);
  await hub.apply(...cluster('again'));
  await eventually('the cluster', () => usable().split(',').includes('again'), { timeoutMs: 30_000 });
});

test('without a right the missing rule is told, and its clusters come once it is granted', async () => {
  const { name, token } = hub.users.bob;
  const file = await writeKubeconfig(join(plane.dir, 'bob.kubeconfig'), [
    { name: 'hub', server: hub.url, caPem: hub.caPem, user: name, credential: { token } },
  ]);
  const connection = await readHubKubeconfig(file);
  const bobs = makeHubClient(connection, { version: 'e2e' });
  const view = createClusterStore();
  const sources = makeHubSources({
    names: ['ocm'],
    secretNamespace,
    secretNamespaces: [],
    managedServiceAccount: 'portcullis',
    clusterProxy: undefined,
  });
  const limited = startHubSources({ client: bobs, store: view, sources });
  try {
    await limited.synced;
    const messages = limited.problems().map(({ message }) => message);
    assert.ok(
      messages.some((message) =>
        message.includes(
          'a ClusterRole with apiGroups ["cluster.open-cluster-management.io"], resources ["managedclusters"], verbs ["list", "watch"]',
        ),
      ),
      messages.join('\n'),
    );
    assert.deepEqual(view.list(), []);
    await hub.apply(
      ...grantedClusterRole(
        'told',
        [
          {
            apiGroups: ['cluster.open-cluster-management.io'],
            resources: ['managedclusters'],
            verbs: ['list', 'watch'],
          },
          { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
        ],
        userSubject(name),
      ),
    );
    await eventually('the cluster', () => view.get('again') !== undefined, { timeoutMs: 60_000 });
    await eventually('no problem', () => limited.problems().length === 0, { timeoutMs: 60_000 });
  } finally {
    limited.close();
    bobs.close();
    connection.close();
  }
});
