// Informers of an unmodified client-go by Karmada's proxying path, through the hub, while clusters come and go: what
// they have is what the members have, no watch ends because of another cluster, and rows of one that is down stay.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ensureBinaries } from '../../controlplane/build.ts';
import type { Member } from '../../controlplane/fixture.ts';
import type { HubSite } from '../../hub/site.ts';
import { eventually } from '../../site/polling.ts';
import { startInformers } from '../kubectl/informer-program.ts';
import type { InformerProgram, InformerState } from '../kubectl/informer-program.ts';
import { hubSide } from '../hub/hub-sides.ts';
import type { Side } from '../kubectl/sides.ts';
import { proxying, searchPath } from './karmada-paths.ts';
import { complete, karmadaCluster, registry, startKarmadaSite } from './karmada-site.ts';

const namespace = 'informed';
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
const cached = 'resource.karmada.io/cached-from-cluster';
const everything = ['shared', 'reflector', 'uid'] as const;
let site: HubSite;
let informers: InformerProgram;
let carol: Side;

function configMap(name: string, text = 'first'): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { text } };
}

before(async () => {
  const binary = (await ensureBinaries(['informer']))['informer']!;
  site = await startKarmadaSite({ members: ['m1', 'm2', 'm3'], joined: ['m1', 'm2'], audit: false });
  for (const member of site.members) {
    await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await member.apply(...[1, 2, 3].map((i) => configMap(`${member.name}-${i}`)));
  }
  carol = hubSide(site, 'carol');
  const spec = { targetCluster: {}, resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', namespace }] };
  await site.hub.request('POST', `${searchPath}/resourceregistries`, registry('all', spec));
  await complete(site, 'all', 2);
  informers = startInformers(binary, true, {
    token: site.hub.users.carol.token,
    caFile: site.hub.caFile,
    namespace,
    informers: [
      ...everything.map((kind) => ({ name: kind, kind, server: site.hub.url + proxying })),
      { name: 'lists', kind: 'uid', server: site.hub.url + proxying, lists: true },
    ],
  });
});

after(async () => {
  carol?.end();
  await informers?.stop();
  await site?.stop();
});

/** `cluster/name resourceVersion text` of what the members have, and of what an informer has. */
async function held(members: readonly Member[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const member of members) {
    const { items } = JSON.parse((await member.request('GET', configMaps)).body) as { items: Informed[] };
    for (const item of items) found.push(lineOf(member.name, item));
  }
  return found.toSorted();
}

interface Informed {
  readonly metadata: { name: string; resourceVersion?: string; annotations?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
}

function lineOf(cluster: string, { metadata, data }: Informed): string {
  return `${cluster}/${metadata.name} ${metadata.resourceVersion} ${data?.['text']}`;
}

function stored({ objects }: InformerState): readonly string[] {
  return objects.map((object) => lineOf(object.metadata.annotations![cached]!, object)).toSorted();
}

/** Waits until all informers have what these members have; returns how often they have asked until then. */
async function allHave(expected: () => Promise<readonly string[]>): Promise<Readonly<Record<string, InformerState>>> {
  let states: Readonly<Record<string, InformerState>> = {};
  await eventually(
    'the informers have what the members have',
    async () => {
      const wanted = await expected();
      states = await informers.states();
      for (const [name, state] of Object.entries(states)) assert.deepEqual(stored(state), wanted, name);
      return true;
    },
    { timeoutMs: 60_000, everyMs: 200 },
  ).catch((error: unknown) => {
    throw new Error(String((error as Error).cause ?? error), { cause: error });
  });
  return states;
}

const counts = (states: Readonly<Record<string, InformerState>>): object =>
  Object.fromEntries(
    Object.entries(states).map(([name, { lists, watches, watchLists }]) => [name, [lists, watches, watchLists]]),
  );

test('informers have what the members have, and follow what is made, changed and deleted', async () => {
  const [m1, m2] = site.members as [Member, Member];
  const first = await allHave(() => held([m1, m2]));
  for (const member of [m1, m2]) {
    await member.request('POST', configMaps, configMap(`${member.name}-new`));
    await member.apply(configMap(`${member.name}-1`, 'changed'));
    await member.request('DELETE', `${configMaps}/${member.name}-2`);
  }
  const later = await allHave(() => held([m1, m2]));
  assert.deepEqual(counts(later), counts(first), 'by the watches that are open');
});

test('a cluster that joins is seen by the watches that are open, and ends none of them', async () => {
  const [m1, m2, m3] = site.members as [Member, Member, Member];
  const before = await allHave(() => held([m1, m2]));
  await site.hub.apply(...karmadaCluster(m3));
  await complete(site, 'all', 3);
  const joined = await allHave(() => held([m1, m2, m3]));
  assert.deepEqual(counts(joined), counts(before));
});

test('a cluster that is down ends no watch of the others, and its rows stay with a warning', async () => {
  const [m1, m2, m3] = site.members as [Member, Member, Member];
  const before = await allHave(() => held([m1, m2, m3]));
  const lost = await held([m3]);
  await m3.kill();
  await notReady('m3');
  await m1.apply(configMap('m1-later'));
  const after = await allHave(async () => [...(await held([m1, m2])), ...lost].toSorted());
  assert.deepEqual(counts(after), counts(before));
  const list = ['--server', site.hub.url + proxying, 'get', 'configmaps', '-n', namespace, '--no-headers'];
  const listed = await eventually(
    'a list says so',
    async () => {
      const outcome = await carol.run(list);
      return outcome.stderr.includes('m3') ? outcome : undefined;
    },
    { timeoutMs: 60_000, everyMs: 200 },
  );
  assert.match(listed.stderr, /Warning: cluster m3: configmaps shown as of \S+ ago/);
  assert.equal(listed.stdout.trimEnd().split('\n').length, (await held([m1, m2])).length + lost.length);
});

test('a cluster that leaves is told as deletions by the watches that are open, and ends none of them', async () => {
  const [m1, m2] = site.members as [Member, Member, Member];
  const before = await informers.states();
  const left = await site.hub.request('DELETE', '/apis/cluster.karmada.io/v1alpha1/clusters/m3');
  assert.equal(left.status, 200, left.body);
  const after = await allHave(() => held([m1, m2]));
  assert.deepEqual(counts(after), counts(before));
  const list = await carol.run(['--server', site.hub.url + proxying, 'get', 'configmaps', '-n', namespace]);
  assert.doesNotMatch(list.stdout + list.stderr, /m3/);
});

/** What Karmada says of a cluster that it cannot reach. */
async function notReady(name: string): Promise<void> {
  const lastTransitionTime = new Date().toISOString();
  const ready = { type: 'Ready', status: 'False', reason: 'ClusterNotReachable', message: '', lastTransitionTime };
  const path = `/apis/cluster.karmada.io/v1alpha1/clusters/${name}/status`;
  const type = { 'content-type': 'application/merge-patch+json' };
  const { status, body } = await site.hub.request('PATCH', path, { status: { conditions: [ready] } }, type);
  assert.equal(status, 200, body);
}
