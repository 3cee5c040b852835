// Watches the TenantBindings and ClusterPermissions of a hub: decides which RBAC objects each cluster should have,
// queues the reconciliation of these objects for the cluster, and writes the results into the status on the hub.
import { textAt, textsAt } from '../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ApiClient, ApiObject, WatchedResource } from '../kube/types.ts';
import type { Reflector } from '../kube/reflector/reflector.ts';
import type { ClusterEvent } from '../model/cluster-events.ts';
import type { ClusterReader } from '../model/store.ts';
import { conditionsOf, generationOf, withConditions } from '../kube/objects/conditions.ts';
import { setFinalizer } from '../kube/objects/object-writer.ts';
import { isDeleting } from '../kube/objects/objects.ts';
import { Controller } from '../controllers/controller.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';
import type { Outcome, WorkQueue } from '../controllers/queue/work-queue.ts';
import { acceptance, Authors, type Author } from '../distribute/stamp/authors.ts';
import { ClusterGrants, type ClusterGrantsOptions } from './cluster-grants.ts';
import { forgetRemoved, keep, leave, makeHeld, type Held } from './held-grant.ts';
import { overallFindings, type Overall } from './hub/grant-status.ts';
import { selectClusters } from './hub/selection.ts';
import { authorPolicy } from './object/author-policy.ts';
import { clusterPermissions } from './object/cluster-permission.ts';
import {
  GrantFault,
  grantFinalizer,
  grantKey,
  type ClusterResult,
  type GrantKind,
  type Phase,
  type RbacObject,
} from './object/grant.ts';
import { tenantBindings } from './object/tenant-binding.ts';

export interface GrantsOptions extends Pick<ClusterGrantsOptions, 'connections' | 'outgoing' | 'onWrite'> {
  readonly client: ApiClient;
  readonly store: Pick<ClusterReader, 'get' | 'list' | 'subscribe'>;
  /** Whether every source of clusters has been read, so that a cluster without a record is really not registered. */
  readonly clustersKnown: () => boolean;
  /** Whether ClusterPermissions are handled too, beside TenantBindings. */
  readonly clusterPermissions: boolean;
  readonly log: ControllerLog;
}

/**
 * What is known of a TenantBinding or ClusterPermission without asking any cluster: its author, and the RBAC objects
 * that it asks for.
 */
interface Standing {
  readonly fault: Overall['fault'];
  readonly author: Author | undefined;
  readonly rbacObjects: readonly RbacObject[];
  readonly isExpired: boolean;
}

const placementDecisions: WatchedResource = {
  group: 'cluster.open-cluster-management.io',
  version: 'v1beta1',
  resource: 'placementdecisions',
};
/**
 * Longest wait in milliseconds until `expiresAt` is compared with the clock again, which may have been set meanwhile.
 */
const maxWaitMs = 3_600_000;

/** Reconciles TenantBindings and ClusterPermissions from its construction until `close`. */
export class Grants {
  readonly #options: GrantsOptions;
  readonly #controller: Controller;
  readonly #objects: readonly { readonly kind: GrantKind; readonly reflector: Reflector }[];
  readonly #decisions: Reflector;
  readonly #authors: Authors;
  readonly #queue: WorkQueue;
  readonly #held = new Map<string, Held>();
  readonly #clusters = new Map<string, ClusterGrants>();

  constructor(options: GrantsOptions) {
    this.#options = options;
    const { client, store, log } = options;
    const controller = new Controller({ client, log, what: 'tenants' });
    this.#controller = controller;
    this.#queue = controller.queue('grant', (key) => this.#reconcile(key));
    const kinds = options.clusterPermissions ? [tenantBindings, clusterPermissions] : [tenantBindings];
    this.#objects = kinds.map((kind) => ({
      kind,
      reflector: controller.follow(kind.type, { onEach: ({ object }) => this.#queue.add(grantKey(kind, object)) }),
    }));
    this.#decisions = controller.follow(placementDecisions, { onEach: () => this.#addAll() });
    this.#authors = new Authors({
      client,
      policy: authorPolicy,
      onChange: () => this.#addAll(),
      onError: (error) => log.error({ err: error }, 'tenants: a policy of the hub could not be handled'),
    });
    controller.atClose(() => this.#authors.close());
    controller.atClose(store.subscribe((event) => this.#onCluster(event)));
  }

  /**
   * In how many clusters the grants (TenantBindings and ClusterPermissions) are in each phase: one grant in three
   * clusters counts three times.
   */
  numbers(): Readonly<Record<Phase, number>> {
    const counts = { Pending: 0, Applied: 0, Error: 0, Removed: 0 };
    for (const { results } of this.#held.values()) for (const { phase } of results.values()) counts[phase] += 1;
    return counts;
  }

  close(): void {
    for (const each of this.#clusters.values()) each.close();
    this.#controller.close();
  }

  #addAll(): void {
    for (const { kind, reflector } of this.#objects)
      for (const object of reflector.objects.values()) this.#queue.add(grantKey(kind, object));
  }

  #onCluster({ type, record, previous }: ClusterEvent): void {
    const { spec } = record;
    if (type !== 'MODIFIED' || previous?.spec !== spec) this.#addAll();
    // The cluster record has changed: the cluster may answer again, so its grants are tried again.
    const cluster = this.#clusters.get(spec.name);
    if (cluster !== undefined) for (const [key, held] of this.#held) if (held.tasks.has(spec.name)) cluster.add(key);
  }

  #find(key: string): { readonly kind: GrantKind; readonly object: ApiObject } | undefined {
    const [name, path = ''] = key.split(' ');
    const known = this.#objects.find(({ kind }) => kind.kind === name);
    const object = known?.reflector.objects.get(path);
    return known === undefined || object === undefined ? undefined : { kind: known.kind, object };
  }

  async #reconcile(key: string): Promise<Outcome> {
    const found = this.#find(key);
    const known = this.#held.get(key);
    if (found === undefined) {
      this.#held.delete(key);
      for (const cluster of known?.tasks.keys() ?? []) this.#clusters.get(cluster)?.add(key);
      return 'done';
    }
    const { kind } = found;
    const held = known ?? makeHeld(kind, found.object);
    this.#held.set(key, held);
    const object = held.written?.base === found.object ? held.written.now : found.object;
    const { writer } = this.#controller;
    // Once the admission policies are read, every object is added to the queue again.
    if (this.#authors.isReading()) return 'done';
    if (!isDeleting(object) && !hasFinalizer(object)) {
      await setFinalizer(writer, kind.type, object, { finalizer: grantFinalizer, wanted: true });
      return 'done';
    }
    const standing = this.#standingOf(kind, object);
    const undecided = this.#assign(key, held, object, standing);
    const now = await this.#record(held, object, standing, undecided);
    held.written = { base: found.object, now };
    if (isDeleting(object) && [...held.results.values()].every(({ objects }) => objects.length === 0)) {
      await setFinalizer(writer, kind.type, now, { finalizer: grantFinalizer, wanted: false });
      this.#authors.forget(object.metadata.uid);
      return 'done';
    }
    const expiresAtMs = kind.expiresAtMs(object);
    if (expiresAtMs === undefined || standing.isExpired) return 'done';
    return { afterMs: Math.min(maxWaitMs, Math.max(1, expiresAtMs - Date.now())) };
  }

  #standingOf(kind: GrantKind, object: ApiObject): Standing {
    const isExpired = (kind.expiresAtMs(object) ?? Infinity) <= Date.now();
    const author = this.#authors.of(object);
    const standing = { fault: undefined, author: undefined, rbacObjects: [], isExpired };
    if ('fault' in author) return { ...standing, fault: { reason: 'AuthorUnproven', message: author.fault } };
    try {
      // Called only because it throws a GrantFault when the object's choice of clusters is invalid.
      kind.clustersOf(object);
      return { ...standing, author, rbacObjects: kind.rbacObjectsOf(object) };
    } catch (error) {
      if (error instanceof GrantFault)
        return { ...standing, author, fault: { reason: 'Refused', message: error.message } };
      throw error;
    }
  }

  /**
   * Determines the task of each cluster and passes it on. Returns the names of the placements for which there are no
   * decisions yet.
   */
  #assign(key: string, held: Held, object: ApiObject, standing: Standing): readonly string[] {
    const { kind, results } = held;
    const { fault, author, rbacObjects, isExpired } = standing;
    const isOver = isDeleting(object) || isExpired;
    const { names, undecided } =
      isOver || fault !== undefined
        ? { names: new Set<string>(), undecided: [] }
        : selectClusters(kind.clustersOf(object), this.#options.store.list(), [...this.#decisions.objects.values()]);
    held.tasks.clear();
    forgetRemoved(held, generationOf(object));
    const mark = { uid: object.metadata.uid, title: key };
    for (const name of names) held.tasks.set(name, { mark, rbacObjects, author });
    const left = [...results].filter(([name]) => !names.has(name));
    if (fault === undefined) {
      for (const [name, { objects, phase }] of left)
        if (objects.length === 0 && phase !== 'Removed') results.delete(name);
    }
    if (isOver || (fault === undefined && undecided.length === 0)) {
      const removal = kind.prunes(object) || isExpired ? { mark, rbacObjects: undefined, author } : undefined;
      leave(held, left, removal);
    }
    const state = `${object.metadata.uid} ${generationOf(object)} ${author?.key}`;
    for (const [name, task] of held.tasks) this.#give(key, held, name, `${state} ${task.rbacObjects !== undefined}`);
    this.#takeBack(key, held);
    return undecided;
  }

  /**
   * Clusters that have no task any more are reconciled once more, so that they drop the task that they were given
   * before.
   */
  #takeBack(key: string, { given, tasks }: Held): void {
    for (const name of given.keys()) {
      if (tasks.has(name)) continue;
      given.delete(name);
      this.#clusters.get(name)?.add(key);
    }
  }

  /**
   * Passes a task on to the queue of its cluster if the task has changed. If the cluster is not registered, records
   * that as its result.
   */
  #give(key: string, held: Held, name: string, state: string): void {
    const { store, clustersKnown, log } = this.#options;
    if (store.get(name) === undefined) {
      held.given.delete(name);
      const isRemoval = held.tasks.get(name)?.rbacObjects === undefined;
      if (isRemoval && clustersKnown()) {
        log.warn(
          { grant: key, cluster: name },
          'tenants: a cluster is not registered any more; what was granted stays in it',
        );
        held.results.delete(name);
        held.tasks.delete(name);
        return;
      }
      const message = 'the cluster is not registered with the gateway';
      const objects = held.results.get(name)?.objects ?? [];
      keep(held, name, { phase: 'Pending', reason: 'NotRegistered', message, objects });
      return;
    }
    if (held.given.get(name) === state) return;
    held.given.set(name, state);
    if (held.tasks.get(name)?.rbacObjects !== undefined && !held.results.has(name))
      keep(held, name, { phase: 'Pending', reason: 'Waiting', message: 'the cluster was not asked yet', objects: [] });
    this.#clusterOf(name).add(key);
  }

  #clusterOf(cluster: string): ClusterGrants {
    const known = this.#clusters.get(cluster);
    if (known !== undefined) return known;
    const { store, connections, outgoing, onWrite, log } = this.#options;
    const made = new ClusterGrants({
      cluster,
      record: () => store.get(cluster),
      connections,
      outgoing,
      onWrite,
      log,
      task: (key) => this.#held.get(key)?.tasks.get(cluster),
      known: (key) => this.#held.get(key)?.results.get(cluster),
      onResult: (key, outcome) => {
        const held = this.#held.get(key);
        if (held === undefined) return;
        keep(held, cluster, outcome);
        this.#queue.add(key);
      },
      announce: (key, objects, author) => this.#announce(key, cluster, objects, author),
    });
    this.#clusters.set(cluster, made);
    return made;
  }

  async #announce(key: string, cluster: string, objects: ClusterResult['objects'], author: Author): Promise<void> {
    const held = this.#held.get(key);
    if (held === undefined) throw new GrantFault('it is gone from the hub');
    const before = held.results.get(cluster);
    const names = new Set((before?.objects ?? []).map(nameOf));
    const added = objects.filter((each) => !names.has(nameOf(each)));
    const outcome = before ?? { phase: 'Pending', reason: 'Waiting', message: '' };
    keep(held, cluster, { ...outcome, objects: [...(before?.objects ?? []), ...added] }, author);
    await new Promise<void>((resolve) => {
      held.waiting.push(resolve);
      this.#queue.add(key);
    });
  }

  /**
   * Writes results and conditions to the hub, if they have changed. Returns the object as the hub has it afterwards.
   */
  async #record(
    held: Held,
    object: ApiObject,
    { fault, isExpired }: Standing,
    undecided: readonly string[],
  ): Promise<ApiObject> {
    const { writer } = this.#controller;
    const { kind, results } = held;
    const { waiting } = held;
    held.waiting = [];
    try {
      const { appliedType } = kind;
      const overall = overallFindings({ results, fault, isExpired, undecided, appliedType });
      const isProven = fault?.reason !== 'AuthorUnproven';
      const findings = isProven ? [...overall, acceptance(object)] : overall;
      const conditions = withConditions(conditionsOf(object), findings, generationOf(object));
      const { annotations, status } = kind.toldBy(results, conditions, object);
      let now = object;
      const isTold = Object.entries(annotations).every(
        ([key, value]) => textAt(object, 'metadata', 'annotations', key) === (value ?? ''),
      );
      const { resourceVersion } = object.metadata;
      if (!isTold) now = await writer.patch(kind.type, object, { metadata: { resourceVersion, annotations } });
      if (!isSame(status, now)) now = await writer.patchStatus(kind.type, now, status);
      for (const resolve of waiting) resolve();
      return now;
    } catch (error) {
      held.waiting.push(...waiting);
      throw error;
    }
  }
}

function hasFinalizer(object: ApiObject): boolean {
  return textsAt(object, 'metadata', 'finalizers').includes(grantFinalizer);
}

function isSame(status: object, object: ApiObject): boolean {
  const present = (object as { readonly status?: Readonly<Record<string, unknown>> }).status ?? {};
  return Object.entries(status).every(([key, value]) => isDeepStrictEqual(present[key] ?? null, value));
}

function nameOf({ kind, namespace, name }: ClusterResult['objects'][number]): string {
  return `${kind} ${namespace ?? ''}/${name}`;
}
