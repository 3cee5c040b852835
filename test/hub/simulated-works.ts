// A process with a simulated hub and simulated clusters whose works a gateway executes, for measuring it with more
// clusters than a machine has room for. Settings come as a file (argument 1); the first line of standard output is the
// hub's address. Each line on standard input is `{id, order}`, and is answered with a line `{id, answer}`. Easy to get
// wrong: a round must not end before the last status is written, or the next one would be measured with its rest.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { parse } from 'yaml';

import { chosen, definition } from '../e2e/distribute/works-site.ts';
import { startSimulatedClusters } from '../e2e/distribute/simulated-clusters.ts';
import { clusterSecret, secretNamespace } from './objects.ts';
import { startLine, type Line } from '../site/line.fixture.ts';
import { startSimulator, type Simulator } from '../../sim/server.ts';
import type { JsonObject, KubeObject } from '../../sim/model/types.ts';

/** Contents of the settings file. */
export interface FleetSettings {
  readonly clusters: number;
  readonly worksPerCluster: number;
  readonly objectsPerWork: number;
}

/** The first line of standard output. */
export interface FleetAddress {
  readonly url: string;
  readonly caPem: string;
  /** Of the account that the gateway uses. */
  readonly token: string;
}

/**
 * `round`: every work is changed, and the first cluster answers each request `slowMs` later until all others have
 * finished. `count`: tells what was asked of the clusters so far.
 */
export type FleetOrder = { readonly do: 'round'; readonly slowMs: number } | { readonly do: 'count' };

/** The answer to `round`. */
export interface FleetRound {
  /** Until all works of all clusters but the first were applied. */
  readonly seconds: number;
  /** Works of the first cluster that were not applied by then. */
  readonly unfinished: number;
}

/** The answer to `count`. */
export interface FleetCount {
  readonly applied: number;
  /** Requests of the executor so far that are no watches. */
  readonly requests: number;
  readonly watches: number;
}

const text = 'portcullis '.repeat(64);
const settings = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as FleetSettings;
const { clusters, worksPerCluster, objectsPerWork } = settings;
const worksOfAll = clusters * worksPerCluster;

const hub = await startSimulator({
  name: 'hub',
  controllers: false,
  seed: [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: secretNamespace } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'portcullis' } },
    parse(readFileSync(path.join(import.meta.dirname, 'crds/managedclusters.yaml'), 'utf8')) as JsonObject,
    definition('manifestworks') as JsonObject,
  ],
});
const simulators: Simulator[] = [];
for (let made = 0; made < clusters; made += 50)
  simulators.push(
    ...(await startSimulatedClusters(
      Math.min(50, clusters - made),
      {
        controllers: false,
        nodes: 0,
        http2: true,
      },
      made,
    )),
  );
const line = await startLine(simulators[0]!.port);
const count = countRequests(simulators);
let applied = 0;
const unapplied = new Map<string, Set<string>>();
let tell = (): void => undefined;

hub.store.subscribe('ManifestWork', (_, work) => {
  const { namespace = '', name, generation } = work.metadata;
  const left = unapplied.get(namespace);
  if (left?.has(name) !== true || !isApplied(work, generation)) return;
  left.delete(name);
  applied += 1;
  tell();
});
simulators.forEach((simulator, index) => register(simulator, index === 0 ? line : undefined));

process.stdout.write(`${JSON.stringify({ url: hub.url, caPem: hub.caPem, token: hub.adminToken })}\n`);
// Ends with whoever started it.
const orders = createInterface({ input: process.stdin });
orders.on('close', () => process.exit(0));
for await (const text of orders) {
  const { id, order } = JSON.parse(text) as { readonly id: number; readonly order: FleetOrder };
  process.stdout.write(`${JSON.stringify({ id, answer: await obey(order) })}\n`);
}

async function obey(order: FleetOrder): Promise<FleetRound | FleetCount> {
  if (order.do === 'count') return { applied, ...count() };
  await until(() => applied === worksOfAll);
  line.slow(order.slowMs);
  const startMs = performance.now();
  applied = 0;
  const round = String(startMs);
  for (const { name } of simulators) putWorks(name, round);
  const first = simulators[0]!.name;
  const left = (): number => unapplied.get(first)!.size;
  await until(() => applied + left() === worksOfAll);
  const seconds = (performance.now() - startMs) / 1000;
  const unfinished = left();
  line.slow(0);
  await until(() => applied === worksOfAll);
  return { seconds, unfinished };
}

/** Resolves when it holds; it is asked after each work that is applied. */
async function until(holds: () => boolean): Promise<void> {
  if (holds()) return;
  await new Promise<void>((resolve) => {
    tell = () => {
      if (holds()) resolve();
    };
  });
}

/** Its Secret, its ManagedCluster and its works. */
function register(simulator: Simulator, by: Line | undefined): void {
  const { name, caPem, adminToken } = simulator;
  const url = by === undefined ? simulator.url : `https://127.0.0.1:${by.port}`;
  const secret = clusterSecret({ name, url, caPem, gatewayToken: adminToken }) as JsonObject;
  const { stringData, ...rest } = secret as { readonly stringData: Readonly<Record<string, string>> };
  const data = Object.fromEntries(
    Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  hub.store.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  hub.store.apply({
    apiVersion: 'cluster.open-cluster-management.io/v1',
    kind: 'ManagedCluster',
    metadata: { name, annotations: chosen },
    spec: {
      hubAcceptsClient: true,
      managedClusterClientConfigs: [{ url, caBundle: Buffer.from(caPem).toString('base64') }],
    },
  });
  hub.store.apply({ ...rest, data });
  putWorks(name, 'first');
}

/** Makes or changes every work of the cluster, each with one value that is new in every object. */
function putWorks(cluster: string, round: string): void {
  const left = new Set<string>();
  unapplied.set(cluster, left);
  for (let work = 0; work < worksPerCluster; work += 1) {
    const name = `work-${work}`;
    const manifests = Array.from({ length: objectsPerWork }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `${name}-${index}`, namespace: 'ns1' },
      data: { round, text },
    }));
    left.add(name);
    const changed = hub.store.update('ManifestWork', cluster, name, (object) => {
      object.metadata.generation = (object.metadata.generation ?? 0) + 1;
      object['spec'] = { workload: { manifests } };
    });
    if (changed === undefined)
      hub.store.apply({
        apiVersion: 'work.open-cluster-management.io/v1',
        kind: 'ManifestWork',
        metadata: { name, namespace: cluster },
        spec: { workload: { manifests } },
      });
  }
}

function isApplied(work: KubeObject, generation: unknown): boolean {
  const { conditions = [] } = (work['status'] ?? {}) as { readonly conditions?: readonly JsonObject[] };
  return conditions.some(
    (each) => each['type'] === 'Applied' && each['status'] === 'True' && each['observedGeneration'] === generation,
  );
}

/** Counts what the executor asks; probes and other things of the gateway are not its doing. */
function countRequests(of: readonly Simulator[]): () => Omit<FleetCount, 'applied'> {
  let requests = 0;
  let watches = 0;
  for (const { audit } of of)
    audit.subscribe(({ verb, code, isDone, rawHeaders }) => {
      const isExecutors = rawHeaders.includes('portcullis-works');
      if (!isExecutors || isDone || code !== undefined) return;
      if (verb === 'watch') watches += 1;
      else requests += 1;
    });
  return () => ({ requests, watches });
}
