// Follows the ManifestWorks of a hub: decides in which clusters the gateway executes them, and passes each event on to
// the ClusterExecutor of its cluster.
import { textsAt } from '../lib/objects/json-object.ts';
import type { ApiClient, ApiObject } from '../kube/types.ts';
import type { ObjectChange } from '../kube/reflector/object-set.ts';
import type { Reflector } from '../kube/reflector/reflector.ts';
import type { ReflectorTiming } from '../kube/reflector/reflector-types.ts';
import type { ClusterReader } from '../model/store.ts';
import { conditionsOf, findCondition, generationOf } from '../kube/objects/conditions.ts';
import { makeObjectWriter } from '../kube/objects/object-writer.ts';
import { isDeleting } from '../kube/objects/objects.ts';
import { Controller } from '../controllers/controller.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';
import { historyAnnotation } from '../lib/work-history.ts';
import { isDeepStrictEqual } from 'node:util';
import { ClusterExecutor } from './cluster/cluster-executor.ts';
import type { ExecutionRules, WorkSettings } from './cluster/settings.ts';
import { makeRuleEvaluator } from './feedback/rule-evaluator.ts';
import type { HubMark } from './inventory/applied-works.ts';
import type { SessionParts } from './member/member-session.ts';
import { isExecuted, managedClusters, recordOf } from './registration/chosen-clusters.ts';
import { Authors } from './stamp/authors.ts';
import { workStamp } from './stamp/work-stamp.ts';
import { manifestWorks } from './work/manifest-work.ts';
import { readWork } from './work/work.ts';

export interface WorksOptions
  extends HubMark, ExecutionRules, Pick<SessionParts, 'connections' | 'outgoing' | 'onWrite'> {
  readonly client: ApiClient;
  readonly store: Pick<ClusterReader, 'get' | 'subscribe'>;
  readonly log: ControllerLog;
  /**
   * OCM's sets of clusters whose ManifestWorks are executed, in addition to clusters with the annotation
   * `execute-works`.
   */
  readonly clusterSets: readonly string[];
  /** Whether works are executed although it is not proven who changed them last. */
  readonly acceptUnstamped: boolean;
  readonly mayExecuteAs: WorkSettings['mayExecuteAs'];
  /**
   * Called when a changed ManifestWork was applied or has failed, with the seconds since the hub's event of the change.
   */
  readonly onApplied: (seconds: number) => void;
  readonly timing?: Partial<ReflectorTiming>;
}

const missingPollMs = 10_000;

/** Numbers about ManifestWorks for the metrics. */
export interface WorkNumbers {
  /**
   * Number of ManifestWorks by the state of their last generation: `applied` without failures, `failed`, `waiting` to
   * be applied, or `deleting`.
   */
  readonly works: Readonly<Record<'applied' | 'failed' | 'waiting' | 'deleting', number>>;
  /** For each cluster, for how many seconds the ManifestWork that has waited longest has been in the queue. */
  readonly queueSeconds: readonly (readonly [cluster: string, seconds: number])[];
  readonly reconciles: number;
  readonly reconcileSeconds: number;
}

/** Executes ManifestWorks from its construction until `close`. */
export class Works {
  readonly #options: WorksOptions;
  readonly #controller: Controller;
  readonly #settings: WorkSettings;
  readonly #works: Reflector;
  readonly #clusters: Reflector;
  readonly #authors: Authors | undefined;
  /**
   * The result of `#authors.standing()` when all works were last reconciled. When it changes, all are reconciled again.
   */
  #standing = '';
  readonly #executors = new Map<string, ClusterExecutor>();
  /** Names of the ManifestWorks in each namespace; the namespace has the name of the cluster. */
  readonly #names = new Map<string, Set<string>>();
  /**
   * When each ManifestWork began to wait for its present generation to be applied, on the clock of `performance.now()`.
   */
  readonly #waitingSince = new Map<string, number>();
  #reconciles = 0;
  #reconcileSeconds = 0;
  /**
   * True once all ManifestWorks are listed. Before that, a work that is not listed yet would look as if it were
   * deleted.
   */
  #ready = false;

  constructor(options: WorksOptions) {
    this.#options = options;
    const { client, log, store, timing } = options;
    const controller = new Controller({ client, log, what: 'works', timing: { missingPollMs, ...timing } });
    this.#controller = controller;
    this.#authors = options.acceptUnstamped ? undefined : this.#followPolicies();
    this.#settings = {
      ...options,
      ruleEvaluator: makeRuleEvaluator(),
      authors: this.#authors,
      writer: makeObjectWriter(client),
      work: (namespace, name) => {
        const object = this.#works.objects.get(`${namespace}/${name}`);
        return object && readWork(object);
      },
    };
    this.#works = controller.follow(manifestWorks, { onEach: (change) => this.#onWork(change) });
    this.#clusters = controller.follow(managedClusters, {
      onEach: ({ object }) => this.#choose(object.metadata.name),
      metadataOnly: true,
    });
    controller.atClose(
      store.subscribe(({ record: { spec } }) => this.#executors.get(spec.originalName)?.recordChanged()),
    );
    controller.whenSynced([this.#works, this.#clusters], () => {
      this.#ready = true;
      for (const name of this.#clusters.objects.keys()) this.#choose(name);
    });
  }

  numbers(): WorkNumbers {
    const works = { applied: 0, failed: 0, waiting: 0, deleting: 0 };
    for (const work of this.#works.objects.values())
      if (this.#executors.has(work.metadata.namespace ?? '')) works[stateOf(work)] += 1;
    const queueSeconds = [...this.#executors].map(([name, each]) => [name, each.queueAgeMs() / 1000] as const);
    return { works, queueSeconds, reconciles: this.#reconciles, reconcileSeconds: this.#reconcileSeconds };
  }

  close(): void {
    for (const executor of this.#executors.values()) executor.close();
    this.#executors.clear();
    this.#controller.close();
    this.#settings.ruleEvaluator.close();
    this.#authors?.close();
  }

  #followPolicies(): Authors {
    const { client, log } = this.#options;
    return new Authors({
      client,
      policy: workStamp,
      onChange: () => {
        const standing = this.#authors?.standing() ?? '';
        if (standing === this.#standing) return;
        this.#standing = standing;
        for (const [cluster, executor] of this.#executors)
          for (const name of this.#names.get(cluster) ?? []) executor.addWork(name);
      },
      onError: (error) => log.error({ err: error }, 'works: a policy of the hub could not be handled'),
    });
  }

  #onWork(change: ObjectChange): void {
    const { namespace = '', name } = change.object.metadata;
    let names = this.#names.get(namespace);
    if (names === undefined) this.#names.set(namespace, (names = new Set()));
    const executor = this.#executors.get(namespace);
    this.#measure(`${namespace}/${name}`, change);
    if (change.type === 'DELETED') {
      names.delete(name);
      this.#authors?.forget(change.object.metadata.uid);
      executor?.workGone(name);
      return;
    }
    names.add(name);
    if (change.type === 'ADDED' || isRelevant(change.old, change.object)) executor?.addWork(name);
  }

  #measure(key: string, { type, object }: ObjectChange): void {
    const isChosen = this.#executors.has(object.metadata.namespace ?? '');
    const state = type === 'DELETED' || !isChosen ? undefined : stateOf(object);
    if (state === 'waiting') {
      if (!this.#waitingSince.has(key)) this.#waitingSince.set(key, performance.now());
      return;
    }
    const since = this.#waitingSince.get(key);
    this.#waitingSince.delete(key);
    const isDone = state === 'applied' || state === 'failed';
    if (since !== undefined && isDone) this.#options.onApplied((performance.now() - since) / 1000);
  }

  /**
   * Starts or stops the execution of a cluster's ManifestWorks, as the labels and annotations of its ManagedCluster ask
   * for.
   */
  #choose(name: string): void {
    if (!this.#ready) return;
    const cluster = this.#clusters.objects.get(name);
    const isChosen = cluster !== undefined && isExecuted(cluster, this.#options.clusterSets);
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
      record: () => recordOf(this.#options.store, name),
      connections,
      outgoing,
      onWrite,
      settings: this.#settings,
      works: () => this.#names.get(name) ?? [],
      log,
      onReconcile: (seconds) => {
        this.#reconciles += 1;
        this.#reconcileSeconds += seconds;
      },
      ...(timing && { timing }),
    });
    this.#executors.set(name, made);
  }
}

function stateOf(work: ApiObject): keyof WorkNumbers['works'] {
  if (isDeleting(work)) return 'deleting';
  const applied = findCondition(conditionsOf(work), 'Applied');
  if (applied?.observedGeneration !== generationOf(work)) return 'waiting';
  return applied?.status === 'True' ? 'applied' : 'failed';
}

/** Whether a change of a ManifestWork requires action. Most changes of the status are the gateway's own writes. */
function isRelevant(old: ApiObject, now: ApiObject): boolean {
  return (
    generationOf(old) !== generationOf(now) ||
    isDeleting(old) !== isDeleting(now) ||
    !isDeepStrictEqual(old.metadata.labels, now.metadata.labels) ||
    !isDeepStrictEqual(annotationsIn(old), annotationsIn(now)) ||
    !isDeepStrictEqual(textsAt(old, 'metadata', 'finalizers'), textsAt(now, 'metadata', 'finalizers'))
  );
}

/** The annotations of a ManifestWork, without the history, which the gateway itself writes. */
function annotationsIn({ metadata: { annotations = {} } }: ApiObject): object {
  const { [historyAnnotation]: _, ...others } = annotations;
  return others;
}
