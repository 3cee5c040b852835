// Informers of a real client-go over the index and over the live fan-out, with and without WatchList, behind lines that
// are cut at random bytes while objects change: what they have in the end is what the members have. With no traffic a
// line is not cut, so the changes go on until the last cut.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ensureBinaries } from '../../controlplane/build.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { startCuttingRelay } from '../streams/cutting-relay.ts';
import type { CuttingRelay } from '../streams/cutting-relay.ts';
import { reviewRights } from './index-objects.ts';
import { startInformers } from '../kubectl/informer-program.ts';
import type { InformerProgram, InformerSpec, InformerState, KubernetesObject } from '../kubectl/informer-program.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';

const run = promisify(execFile);
const portcullis = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const search = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const clusterAnnotation = 'shadow.clusterpedia.io/cluster-name';
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const carol = { name: 'carol', groups: [], token: 'carol-at-the-gateway' };
const namespace = 'informed';
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
/** Objects of names that both members have, and as many of names that only one has. */
const names = 15;
const changesPerSecond = 30;
const seed = Number(process.env['PORTCULLIS_SEED'] ?? '11');

/** An informer, how often its line is cut, and what it should have. */
interface Plan extends Omit<InformerSpec, 'server'> {
  readonly path: string;
  readonly cuts: number;
  /** A cut comes within so many bytes; some more than a list of it has, so that watches are cut too. */
  readonly mostBytes: number;
  readonly members: readonly string[];
}

const both = ['m1', 'm2'];
/** Fifty cuts. A SharedIndexInformer waits ever longer, up to a minute, so its line is cut less often. */
const plans: readonly Plan[] = [
  {
    name: 'shared-m1',
    kind: 'shared',
    path: `${search}/proxy/clusters/m1`,
    cuts: 3,
    mostBytes: 60_000,
    members: ['m1'],
  },
  {
    name: 'shared-m2',
    kind: 'shared',
    path: `${search}/proxy/clusters/m2`,
    cuts: 3,
    mostBytes: 60_000,
    members: ['m2'],
  },
  {
    name: 'one-cluster',
    kind: 'reflector',
    path: `${search}/proxy/clusters/m1`,
    cuts: 13,
    mostBytes: 60_000,
    members: ['m1'],
  },
  // Lists: the first events of a WatchList are gathered by namespace and name, whatever the key of the store is.
  { name: 'merged', kind: 'uid', path: `${search}/proxy`, lists: true, cuts: 13, mostBytes: 150_000, members: both },
  {
    name: 'merged-own',
    kind: 'uid',
    path: `${search}/proxy`,
    labelSelector: 'names=own',
    cuts: 10,
    mostBytes: 60_000,
    members: both,
  },
  {
    name: 'live',
    kind: 'uid',
    path: '/clusters/*/proxy',
    lists: true,
    partial: 'false',
    cuts: 8,
    mostBytes: 180_000,
    members: both,
  },
];

let plane: ControlPlane;
let gateway: GatewayProcess;
let binary: string;

before(async () => {
  binary = (await ensureBinaries(['informer']))['informer']!;
  plane = await startControlPlane({ members: both, bare: both, audit: false });
  const { stdout: access } = await run(process.execPath, [
    portcullis,
    ...['generate', 'member-access', '--index', '--index-resources', 'configmaps'],
    ...['--gateway-service-account', 'portcullis/gateway'],
  ]);
  for (const member of plane.members) {
    const applied = await member.kubectl(['apply', '-f', '-'], { stdin: access });
    assert.equal(applied.code, 0, applied.stderr);
    await member.apply(...reviewRights(gatewayUser), {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    });
    for (let i = 0; i < names; i += 1) {
      for (const name of [`same-${i}`, `${member.name}-${i}`]) {
        assert.equal((await member.request('POST', collection, configMap(name, 'first'))).status, 201, name);
      }
    }
  }
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol],
    args: ['--index-resources', 'configmaps'],
  });
  await eventually(
    'the index is whole',
    async () => {
      const { body } = await ask(gateway, carol.token, 'GET', `${search}/freshness`);
      const { clusters } = JSON.parse(body.toString('utf8')) as {
        readonly clusters: readonly { readonly resources: readonly { readonly whole: boolean }[] }[];
      };
      return (
        clusters.length === 2 &&
        clusters.every(({ resources }) => resources.length > 0 && resources.every(({ whole }) => whole))
      );
    },
    { timeoutMs: 60_000 },
  );
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

function configMap(name: string, text: string): object {
  const labels = { names: name.startsWith('same-') ? 'same' : 'own' };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels }, data: { text, filling: 'x'.repeat(100) } };
}

/**
 * Makes objects, changes each once and deletes six in seven, until told to stop; how many changes there were. Each name
 * is used for one object only, so that an event which was missed is not made good by a later one.
 */
async function churn(member: Member, first: number, signal: AbortSignal): Promise<number> {
  const startedMs = performance.now();
  let turn = 0;
  const send = async (method: string, number: number, text: string): Promise<void> => {
    if (number < first) return;
    const name = `${number % 2 === 0 ? 'same' : member.name}-${number}`;
    const path = method === 'POST' ? collection : `${collection}/${name}`;
    const { status, body } = await member.request(method, path, configMap(name, text));
    assert.ok(status < 300, `${method} ${name}: ${status} ${body}`);
  };
  for (; !signal.aborted; turn += 1) {
    const earlyMs = startedMs + (turn * 1000) / changesPerSecond - performance.now();
    if (earlyMs > 0) await delay(earlyMs);
    const number = first + Math.floor(turn / 3);
    if (turn % 3 === 0) await send('POST', number, 'made');
    else if (turn % 3 === 1) await send('PUT', number - 5, 'changed');
    else if (number % 7 > 0) await send('DELETE', number - 10, 'deleted');
  }
  return turn;
}

/**
 * An object without what the index is documented to take out or put in; `live` answers carry a version of their own.
 */
function documented(object: KubernetesObject, withVersion: boolean): object {
  const {
    managedFields: _,
    annotations,
    resourceVersion,
    ...metadata
  } = object.metadata as KubernetesObject['metadata'] & { readonly managedFields?: unknown };
  const { [clusterAnnotation]: _cluster, [lastApplied]: _applied, ...kept } = annotations ?? {};
  return {
    ...object,
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      ...metadata,
      ...(Object.keys(kept).length > 0 && { annotations: kept }),
      ...(withVersion && { resourceVersion }),
    },
  };
}

const byUid = (objects: readonly KubernetesObject[], withVersion: boolean): Map<string, object> =>
  new Map(
    objects
      .map((object) => [object.metadata.uid, documented(object, withVersion)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Says which objects differ, or the whole stores would be printed. */
function compare(plan: Plan, state: InformerState, wanted: ReadonlyMap<string, readonly KubernetesObject[]>): void {
  const withVersion = plan.name !== 'live';
  const expected = byUid(
    plan.members
      .flatMap((member) => wanted.get(member)!)
      .filter(({ metadata }) => plan.labelSelector === undefined || metadata.labels?.['names'] === 'own'),
    withVersion,
  );
  const have = byUid(state.objects, withVersion);
  assert.equal(have.size, state.objects.length, `${plan.name}: no object twice`);
  assert.deepEqual(
    [...expected.keys()].filter((uid) => !have.has(uid)),
    [],
    `${plan.name}: missing`,
  );
  assert.deepEqual(
    [...have].filter(([uid]) => !expected.has(uid)),
    [],
    `${plan.name}: gone in the member`,
  );
  for (const [uid, object] of expected) assert.deepEqual(have.get(uid), object, plan.name);
}

for (const watchList of [true, false]) {
  test(`informers of client-go ${watchList ? 'with' : 'without'} WatchList, cut 50 times, have what the members have`, async (context) => {
    const relays: CuttingRelay[] = [];
    const over = new AbortController();
    let program: InformerProgram | undefined;
    try {
      const informers: InformerSpec[] = [];
      for (const [index, { path, cuts, mostBytes, members: _, ...plan }] of plans.entries()) {
        const relay = await startCuttingRelay(gateway.port, {
          seed: seed * 100 + index + (watchList ? 50 : 0),
          cuts,
          mostBytes,
        });
        relays.push(relay);
        informers.push({ ...plan, server: `https://127.0.0.1:${relay.port}${path}` });
      }
      program = startInformers(binary, watchList, { token: carol.token, caFile: gateway.caFile, namespace, informers });
      const churning = Promise.all(
        plane.members.map((member) => churn(member, watchList ? 1_000 : 100_000, over.signal)),
      );
      const counts = (): string => plans.map(({ name, cuts }, i) => `${name} ${relays[i]!.cuts}/${cuts}`).join(', ');
      const startedMs = performance.now();
      await Promise.race([
        churning,
        eventually('all lines are cut', () => relays.every(({ cuts }, i) => cuts === plans[i]!.cuts), {
          timeoutMs: 150_000,
          everyMs: 100,
        }).catch((error: unknown) => {
          throw new Error(`cuts: ${counts()}`, { cause: error });
        }),
      ]);
      const cutMs = performance.now() - startedMs;
      over.abort();
      const changes = await churning;

      const wanted = new Map<string, readonly KubernetesObject[]>();
      for (const member of plane.members) {
        const { body } = await member.request('GET', collection);
        wanted.set(member.name, (JSON.parse(body) as { readonly items: readonly KubernetesObject[] }).items);
      }
      let states: Readonly<Record<string, InformerState>> = {};
      await eventually(
        'the stores are the members',
        async () => {
          states = await program!.states();
          for (const plan of plans) compare(plan, states[plan.name]!, wanted);
          return true;
        },
        { timeoutMs: 90_000, everyMs: 500 },
      ).catch((error: unknown) => {
        throw new Error(`seed ${seed}: ${String((error as Error).cause)}`, { cause: error });
      });
      for (const { name, kind, lists } of plans) {
        const state = states[name]!;
        assert.equal(state.watchLists > 0, watchList && lists !== true, `${name}: WatchList as it was told`);
        // All three cuts of a SharedIndexInformer may come where it has to begin anew.
        if (kind !== 'shared') assert.ok(state.watches > 0, `${name} went on watching after a cut`);
      }
      const asked = plans.map(({ name }) => {
        const { lists, watches, watchLists } = states[name]!;
        return `${name} ${lists} lists, ${watches} watches, ${watchLists} WatchLists`;
      });
      context.diagnostic(
        `cuts within ${Math.round(cutMs / 1000)} s: ${counts()}; changes ${changes.join(' + ')}; ${asked.join('; ')}`,
      );
    } finally {
      over.abort();
      await program?.stop();
      for (const relay of relays) relay.close();
    }
  });
}
