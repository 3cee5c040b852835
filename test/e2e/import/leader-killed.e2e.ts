// Two gateways, of which the one that leads is killed again and again in the middle of clusters' lives: when they are
// found, initialized, get another credential and end. Every third time it ends in good order. PORTCULLIS_IMPORT_KILLS
// says how often in all (9), PORTCULLIS_IMPORT_SEED gives other moments.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { createRandom } from '../../../bench/figures/statistics.ts';
import { http1Client, type OpenAnswer, type StreamClient } from '../../clients/stream-client.ts';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import {
  definitionFile,
  eventually,
  hasReason,
  isGone,
  paths,
  putStatus,
  read,
  remove,
  samplePolicy,
  startImportHub,
  type ImportHub,
  type Json,
} from './import-site.ts';

const kills = Number(process.env['PORTCULLIS_IMPORT_KILLS'] ?? 9);
const seed = Number(process.env['PORTCULLIS_IMPORT_SEED'] ?? 1);
/** A life takes about so long; the leader is killed at a random moment of it. */
const lifeMs = 1_500;
const leases = '/apis/coordination.k8s.io/v1/namespaces/clusterpedia-system/leases';
const sources = '/apis/cluster.x-k8s.io/v1beta2/namespaces/ns1/clusters';
let site: ImportHub;
let hub: Member;
let gateways: readonly GatewayProcess[];
let watcher: StreamClient;
/** What the hub tells of each kind from before the first life on. */
let watched: readonly OpenAnswer[];

before(async () => {
  site = await startImportHub({
    // A Lease lasts two seconds.
    gateway: { env: { PORTCULLIS_TEST_TIME_SCALE: '0.1' } },
  });
  hub = site.hub;
  await hub.apply(definitionFile('cluster-api-clusters.yaml'));
  await eventually('the hub serves clusters', async () => (await hub.request('GET', sources)).status === 200);
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns1' } }, samplePolicy('cluster-api'));
  const headers = { authorization: `Bearer ${hub.users.carol.token}` };
  watcher = http1Client({ url: hub.url, caPem: hub.caPem, headers });
  const watches = [paths.policies, paths.lifecycles, paths.clusters].map((each) =>
    watcher.get(`${each}?watch=true&timeoutSeconds=3600`),
  );
  watched = await Promise.all(watches);
  gateways = await Promise.all([site.startGateway(), site.startGateway()]);
  await hasReason(hub, `${paths.policies}/cluster-api`, 'Reconciling', 'ReconcileSourceResourceAndLifecycle');
});

after(async () => {
  watcher?.close();
  await site?.stop();
});

const path = (collection: string, name: string): string => `${collection}/capi-ns1.${name}`;

function credential(name: string, text: string): object {
  const kubeconfig = readFileSync(site.plane.member('m1').adminKubeconfig, 'utf8');
  const value = Buffer.from(`${kubeconfig}# ${text}\n`).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${name}-kubeconfig`, namespace: 'ns1' },
    data: { value },
  };
}

const textOf = (cluster: Json): string =>
  /# (\w+)\n$/.exec(Buffer.from(cluster?.spec.kubeconfig ?? '', 'base64').toString())?.[1] ?? '';

/** Begins one cluster's life, goes on with the one before, and ends the one before that. */
async function live(round: number): Promise<void> {
  const name = `c${round}`;
  await hub.apply({ apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { name, namespace: 'ns1' } });
  await delay(lifeMs / 4);
  await hub.apply(credential(name, 'first'));
  await delay(lifeMs / 4);
  await putStatus(hub, `${sources}/${name}`, { conditions: [{ type: 'ControlPlaneInitialized', status: 'True' }] });
  await delay(lifeMs / 4);
  if (round > 0) await hub.apply(credential(`c${round - 1}`, 'second'));
  await delay(lifeMs / 4);
  if (round > 1) await remove(hub, `${sources}/c${round - 2}`);
}

function eventsOf(answer: OpenAnswer): readonly Json[] {
  const lines = answer.body().toString('utf8').split('\n').slice(0, -1);
  return lines.map((line): Json => JSON.parse(line));
}

/** Finalizers that an object lost before it was deleted, and objects that were made anew or lost their owner. */
function losses(): readonly string[] {
  const found: string[] = [];
  for (const answer of watched) {
    const last = new Map<string, Json>();
    for (const { type, object } of eventsOf(answer)) {
      const { name, uid, finalizers = [], ownerReferences = [], deletionTimestamp } = object.metadata;
      const before = last.get(name);
      last.set(name, { uid, finalizers, ownerReferences });
      if (before === undefined) continue;
      const what = `${object.kind} ${name}`;
      if (before.uid !== uid) found.push(`${what} was made anew`);
      if (type !== 'DELETED' && ownerReferences.length < before.ownerReferences.length)
        found.push(`${what} lost its owner`);
      if (deletionTimestamp !== undefined) continue;
      for (const each of before.finalizers) if (!finalizers.includes(each)) found.push(`${what} lost ${each}`);
      if (type === 'DELETED' && before.finalizers.length > 0) found.push(`${what} ended with ${before.finalizers}`);
    }
    assert.ok(last.size > 0, 'the hub tells of objects');
  }
  return found;
}

/** The gateway that puts policies into effect, found by the name that it has written into the Lease. */
async function leader(): Promise<GatewayProcess> {
  return await eventually('one leads', async () => {
    const holder: string = (await read(hub, `${leases}/clusterpedia-controller-manager`))?.spec.holderIdentity ?? '';
    return gateways.find(({ log }) => holder !== '' && log().includes(`"leads":true,"holder":"${holder}"`));
  });
}

test('whenever the leader is killed or ended, the other goes on: nothing is made twice, and nothing is left behind', async (t) => {
  const random = createRandom(seed);
  for (let round = 0; round < kills; round += 1) {
    const victim = await leader();
    const living = live(round);
    await delay(random() * lifeMs);
    await victim.stop(round % 3 === 2 ? 'SIGTERM' : 'SIGKILL');
    const other = gateways.find((each) => each !== victim)!;
    gateways = [other, await site.startGateway()];
    await living;
  }
  for (let round = 0; round < kills - 2; round += 1) {
    for (const collection of [paths.lifecycles, paths.clusters]) await isGone(hub, path(collection, `c${round}`));
  }
  for (const [round, text] of [
    [kills - 2, 'second'],
    [kills - 1, 'first'],
  ] as const) {
    await eventually(
      `${text} of c${round}`,
      async () => textOf(await read(hub, path(paths.clusters, `c${round}`))) === text,
    );
    const [lifecycle, cluster] = await Promise.all(
      [paths.lifecycles, paths.clusters].map((collection) => read(hub, path(collection, `c${round}`))),
    );
    assert.deepEqual(lifecycle.metadata.finalizers, ['clusterpedia.io/pediacluster-lifecycle-controller']);
    await hasReason(hub, path(paths.clusters, `c${round}`), 'Ready', 'Ready');
    assert.equal(cluster.metadata.ownerReferences[0].uid, lifecycle.metadata.uid);
    assert.deepEqual((await read(hub, path(paths.clusters, `c${round}`))).metadata.finalizers, [
      'clusterpedia.io/cluster-synchro-controller',
    ]);
  }
  // Told by the watches: the hub's audit log has another code for a request whose sender was killed meanwhile.
  const made = watched.slice(1).flatMap((answer) => eventsOf(answer).filter(({ type }) => type === 'ADDED'));
  t.diagnostic(`${made.length} objects made, ${kills} leaders killed or ended, seed ${seed}`);
  const names = made.map(({ object }) => `${object.kind} ${object.metadata.name}`);
  const wanted = ['PediaCluster', 'PediaClusterLifecycle'].flatMap((kind) =>
    Array.from({ length: kills }, (_, round) => `${kind} capi-ns1.c${round}`),
  );
  assert.deepEqual(names.toSorted(), wanted.toSorted());
  assert.deepEqual(losses(), []);
});
