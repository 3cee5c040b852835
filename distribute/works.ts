// Follows the works of a hub: decides in which clusters they are executed, and sends each event to the right cluster
// and work.
import type { HubClient, HubObject } from '../cache/hub/hub-types.ts';
import type { ObjectChange } from '../cache/hub/object-set.ts';
import { startReflector, type Reflector } from '../cache/hub/reflector.ts';
import type { ReflectorTiming } from '../cache/hub/reflector-types.ts';
import type { ClusterReader } from '../cache/model/store.ts';
import type { ClusterRecord } from '../cache/model/records.ts';
import { conditionsOf, findCondition, generationOf } from '../controllers/conditions.ts';
import { makeHubWriter } from '../controllers/hub/hub-writer.ts';
import { isDeleting, textsAt, type ResourceType } from '../controllers/objects.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';
import { isDeepStrictEqual } from 'node:util';
import { ClusterExecutor } from './cluster/cluster-executor.ts';
import type { ExecutionRules, WorkSettings } from './cluster/settings.ts';
import type { HubMark } from './inventory/applied-works.ts';
import type { SessionParts } from './member/member-session.ts';
import { manifestWorks, ownPrefix } from './work/manifest-work.ts';

export interface WorksOptions
  extends HubMark, ExecutionRules, Pick<SessionParts, 'connections' | 'outgoing' | 'onWrite'> {
  readonly client: HubClient;
  readonly store: Pick<ClusterReader, 'get' | 'subscribe'>;
  readonly log: ControllerLog;
  /** Sets of clusters whose works are executed, in addition to clusters with the annotation `execute-works`. */
  readonly clusterSets: readonly string[];
  readonly executorFault: WorkSettings['executorFault'];
  readonly timing?: Partial<ReflectorTiming>;
}

const managedClusters: ResourceType = {
  group: 'cluster.open-cluster-management.io',
  version: 'v1',
  resource: 'managedclusters',
};
/**
 * Annotation of a ManagedCluster: `"true"` has its works executed, `"false"` excludes it although its set is chosen.
 */
const chosenAnnotation = `${ownPrefix}execute-works`;
const setLabel = 'cluster.open-cluster-management.io/clusterset';
/**
 * Sources that register clusters from ManagedClusters. A cluster of another source may only happen to have the same
 * name.
 */
const sources: ReadonlySet<string> = new Set(['ocm', 'cluster-gateway']);

const missingPollMs = 10_000;
const maxBackoffMs = 5_000;

/** Numbers about works for the metrics. */
export interface WorkNumbers {
  /** Number of works in each state. */
  readonly works: Readonly<Record<'applied' | 'failed' | 'waiting' | 'deleting', number>>;
  /** For each cluster, how many seconds its longest waiting work has been in the queue. */
  readonly queueSeconds: readonly (readonly [cluster: string, seconds: number])[];
  readonly looks: number;
  readonly lookSeconds: number;
}

/** Executes works from the call of the constructor until `close`. */
export class Works {
  readonly #options: WorksOptions;
  readonly #settings: WorkSettings;
  readonly #works: Reflector;
  readonly #clusters: Reflector;
  readonly #executors = new Map<string, ClusterExecutor>();
  /** Names of works, by namespace. */
  readonly #names = new Map<string, Set<string>>();
  readonly #unsubscribe: () => void;
  #looks = 0;
  #lookSeconds = 0;
  /** True once all works are listed. Before that, a work that is not listed yet would look as if it were deleted. */
  #ready = false;

  constructor(options: WorksOptions) {
    this.#options = options;
    const { client } = options;
    this.#settings = {
      ...options,
      writer: makeHubWriter(client),
      work: (namespace, name) => this.#works.objects.get(`${namespace}/${name}`),
    };
    this.#works = this.#follow(manifestWorks, false, (change) => this.#onWork(change));
    this.#clusters = this.#follow(managedClusters, true, ({ object }) => this.#choose(object.metadata.name));
    this.#unsubscribe = options.store.subscribe(({ record: { spec } }) =>
      this.#executors.get(spec.originalName)?.recordChanged(),
    );
    Promise.all([this.#works.synced, this.#clusters.synced]).then(
      () => {
        this.#ready = true;
        for (const name of this.#clusters.objects.keys()) this.#choose(name);
      },
      () => undefined,
    );
  }

  numbers(): WorkNumbers {
    const works = { applied: 0, failed: 0, waiting: 0, deleting: 0 };
    for (const work of this.#works.objects.values())
      if (this.#executors.has(work.metadata.namespace ?? '')) works[stateOf(work)] += 1;
    const queueSeconds = [...this.#executors].map(([name, each]) => [name, each.queueAgeMs() / 1000] as const);
    return { works, queueSeconds, looks: this.#looks, lookSeconds: this.#lookSeconds };
  }

  close(): void {
    this.#unsubscribe();
    for (const executor of this.#executors.values()) executor.close();
    this.#executors.clear();
    this.#works.close();
    this.#clusters.close();
  }

  #follow(resource: ResourceType, metadataOnly: boolean, onEach: (change: ObjectChange) => void): Reflector {
    const { client, timing, log } = this.#options;
    return startReflector({
      client,
      resource,
      metadataOnly,
      timing: { missingPollMs, maxBackoffMs, ...timing },
      onChange: (changes) => {
        for (const change of changes) onEach(change);
      },
      onState: ({ fault }) => {
        if (fault !== undefined) log.warn({ fault: fault.message }, 'works: objects of the hub cannot be read');
      },
      onError: (error) => log.error({ err: error }, 'works: an object of the hub could not be handled'),
    });
  }

  #onWork(change: ObjectChange): void {
    const { namespace = '', name } = change.object.metadata;
    let names = this.#names.get(namespace);
    if (names === undefined) this.#names.set(namespace, (names = new Set()));
    const executor = this.#executors.get(namespace);
    if (change.type === 'DELETED') {
      names.delete(name);
      executor?.workGone(name);
      return;
    }
    names.add(name);
    if (change.type === 'ADDED' || isRelevant(change.old, change.object)) executor?.addWork(name);
  }

  /** Begins or ends the execution of a cluster's works, as its ManagedCluster asks for. */
  #choose(name: string): void {
    if (!this.#ready) return;
    const cluster = this.#clusters.objects.get(name);
    const isChosen = cluster !== undefined && this.#isChosen(cluster);
    const executor = this.#executors.get(name);
    if (isChosen === (executor !== undefined)) return;
    if (executor !== undefined) {
      this.#executors.delete(name);
      executor.close();
      return;
    }
    const { connections, outgoing, onWrite, log, timing } = this.#options;
    const made = new ClusterExecutor({
      cluster: name,
      record: () => this.#recordOf(name),
      connections,
      outgoing,
      onWrite,
      settings: this.#settings,
      works: () => this.#names.get(name) ?? [],
      log,
      onPass: (seconds) => {
        this.#looks += 1;
        this.#lookSeconds += seconds;
      },
      ...(timing && { timing }),
    });
    this.#executors.set(name, made);
  }

  #isChosen({ metadata: { labels = {}, annotations = {} } }: HubObject): boolean {
    const said = annotations[chosenAnnotation];
    if (said !== undefined) return said === 'true';
    return this.#options.clusterSets.includes(labels[setLabel] ?? '');
  }

  #recordOf(name: string): ClusterRecord | undefined {
    const record = this.#options.store.get(name);
    if (record === undefined || record.spec.originalName !== name) return undefined;
    return sources.has(record.spec.source) ? record : undefined;
  }
}

function stateOf(work: HubObject): keyof WorkNumbers['works'] {
  if (isDeleting(work)) return 'deleting';
  const applied = findCondition(conditionsOf(work), 'Applied');
  if (applied?.observedGeneration !== generationOf(work)) return 'waiting';
  return applied?.status === 'True' ? 'applied' : 'failed';
}

/** Whether a change of a work can require action. Most changes of its status come from the executor itself. */
function isRelevant(old: HubObject, now: HubObject): boolean {
  return (
    generationOf(old) !== generationOf(now) ||
    isDeleting(old) !== isDeleting(now) ||
    !isDeepStrictEqual(old.metadata.labels, now.metadata.labels) ||
    !isDeepStrictEqual(old.metadata.annotations, now.metadata.annotations) ||
    !isDeepStrictEqual(textsAt(old, 'metadata', 'finalizers'), textsAt(now, 'metadata', 'finalizers'))
  );
}
