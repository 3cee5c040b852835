// Starts the controllers of ClusterImportPolicies and PediaClusterLifecycles with their watches, and decides which
// objects each watch event causes to be reconciled.
import { textAt } from '../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../kube/types.ts';
import { resourceKey } from '../kube/paths.ts';
import type { ObjectChange } from '../kube/reflector/object-set.ts';
import type { Reflector } from '../kube/reflector/reflector.ts';
import type { ReflectorTiming } from '../kube/reflector/reflector-types.ts';
import { generationOf } from '../kube/objects/conditions.ts';
import { hubMapper } from './hub/discovery.ts';
import { makeFollowedTypes } from '../kube/reflector/followed-types.ts';
import { type ResourceType } from '../kube/objects/objects.ts';
import { makeDependents } from './lifecycles/dependents.ts';
import { makeLifecycleController } from './lifecycles/lifecycle-controller.ts';
import { controllerOf, isDeleting, ownersOf } from '../kube/objects/objects.ts';
import { isPolicy, lifecycles, pediaClusters, policies } from './hub/objects.ts';
import { makeTemplateRenderer, type TemplateRenderer } from './render/renderer.ts';
import { makePolicyController } from './policies/policy-controller.ts';
import { Controller } from '../controllers/controller.ts';
import type { ControllerLog } from '../controllers/queue/logged-queue.ts';
import type { WorkQueue } from '../controllers/queue/work-queue.ts';

export interface PolicyControllersOptions {
  readonly client: ApiClient;
  readonly log: ControllerLog;
  readonly timing?: Partial<ReflectorTiming>;
  /**
   * Renders the templates; the caller who passes it closes it. By default the controllers make a renderer and close it.
   */
  readonly templates?: TemplateRenderer;
  /** Interval in milliseconds at which all objects are reconciled, even without an event. */
  readonly resyncMs?: number;
  /**
   * Milliseconds from a change of a CustomResourceDefinition to the second reading of the hub's discovery, which may
   * lag behind.
   */
  readonly discoveryLagMs?: number;
}

const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };
/**
 * Interval in milliseconds at which the hub is asked for Clusterpedia's types while it does not serve them. A new
 * CustomResourceDefinition causes a request at once.
 */
const missingPollMs = 30_000;
/**
 * Milliseconds until a type that the hub does not serve is looked up again. For `closeLookMs` after a change of a
 * CustomResourceDefinition, `soonMs` is used instead, since discovery lags behind.
 */
const unservedMs = 10_000;
const soonMs = 500;
const closeLookMs = 20_000;
/**
 * Default in milliseconds: how long the hub's discovery may show an old state after a CustomResourceDefinition has
 * changed.
 */
const discoveryLagMs = 5_000;
const defaultResyncMs = 600_000;

/** Starts the controllers; the returned function stops them. */
export function startPolicyControllers(options: PolicyControllersOptions): () => void {
  const controllers = new PolicyControllers(options);
  return () => controllers.close();
}

class PolicyControllers {
  readonly #options: PolicyControllersOptions;
  readonly #controller: Controller;
  readonly #discovery;
  readonly #types;
  readonly #dependents = makeDependents();
  readonly #policyQueue: WorkQueue;
  readonly #lifecycleQueue: WorkQueue;
  readonly #policies: Reflector;
  readonly #lifecycles: Reflector;
  readonly #pediaClusters: Reflector;
  /**
   * True once all ClusterImportPolicies, PediaClusterLifecycles and PediaClusters are listed; nothing is reconciled
   * before. An object that is not listed yet would look as if it were deleted.
   */
  #ready = false;
  #closeLookUntilMs = 0;
  /** For each group whose CustomResourceDefinition changed, the timer after which discovery is read a second time. */
  readonly #lookups = new Map<string, NodeJS.Timeout>();

  constructor(options: PolicyControllersOptions) {
    this.#options = options;
    const { client, log, timing } = options;
    const controller = new Controller({ client, log, what: 'import policies', timing: { missingPollMs, ...timing } });
    this.#controller = controller;
    const templates = options.templates ?? makeTemplateRenderer();
    if (options.templates === undefined) controller.atClose(() => templates.close());
    this.#discovery = hubMapper(client);
    this.#types = makeFollowedTypes({
      client,
      ...(timing && { timing }),
      onObjects: (type, keys) => this.#onObjects(type, keys),
      onState: (type) => this.#onTypeState(type),
      onError: (error) => log.error({ err: error }, 'import policies: an object of the hub could not be handled'),
    });
    controller.atClose(() => this.#types.close());
    this.#policies = controller.follow(policies, { onEach: (change) => this.#onPolicy(change) });
    this.#lifecycles = controller.follow(lifecycles, { onEach: (change) => this.#onLifecycle(change) });
    this.#pediaClusters = controller.follow(pediaClusters, { onEach: (change) => this.#onPediaCluster(change) });
    controller.follow(definitions, { onEach: (change) => this.#onDefinition(change), metadataOnly: true });
    const { writer } = controller;
    const policyController = makePolicyController({
      writer,
      discovery: this.#discovery,
      types: this.#types,
      templates,
      policies: () => this.#policies.objects,
      lifecycles: () => this.#lifecycles.objects,
      unservedMs: () => (performance.now() < this.#closeLookUntilMs ? soonMs : unservedMs),
      onBound: (policy) => this.#addLifecyclesOf(policy),
    });
    const lifecycleController = makeLifecycleController({
      writer,
      types: this.#types,
      templates,
      policies: () => this.#policies.objects,
      lifecycles: () => this.#lifecycles.objects,
      pediaClusters: () => this.#pediaClusters.objects,
      onDependencies: (name, dependencies) => this.#dependents.set(name, dependencies),
    });
    this.#policyQueue = controller.queue('ClusterImportPolicy', (name) => policyController.reconcile(name));
    this.#lifecycleQueue = controller.queue('PediaClusterLifecycle', (name) => lifecycleController.reconcile(name));
    controller.every(options.resyncMs ?? defaultResyncMs, () => this.#addAll());
    controller.whenSynced([this.#policies, this.#lifecycles, this.#pediaClusters], () => {
      this.#ready = true;
      this.#addAll();
    });
  }

  close(): void {
    for (const timer of this.#lookups.values()) clearTimeout(timer);
    this.#controller.close();
  }

  // Watch events: which objects each event causes to be reconciled

  #onPolicy(change: ObjectChange): void {
    const { name } = change.object.metadata;
    if (isOther(change) || isDeleting(change.object)) this.#addPolicy(name);
    // PediaClusterLifecycles have a copy of the ClusterImportPolicy's spec, but their controller reads the policy's
    // annotations for options.
    if (change.type === 'DELETED' || isAnnotated(change)) this.#addLifecyclesOf(name);
  }

  /**
   * A changed PediaClusterLifecycle is reconciled. So is its ClusterImportPolicy, which reverts what others have
   * changed in the lifecycle. A change of the status alone causes nothing.
   */
  #onLifecycle(change: ObjectChange): void {
    const { object } = change;
    const owners = [controllerOf(object), change.type === 'MODIFIED' ? controllerOf(change.old) : undefined];
    const isSame =
      change.type === 'MODIFIED' &&
      generationOf(change.old) === generationOf(object) &&
      owners[0]?.uid === owners[1]?.uid &&
      !isDeleting(object);
    if (isSame) return;
    this.#addLifecycle(object.metadata.name);
    // The name of the deleted PediaClusterLifecycle is free now. Another ClusterImportPolicy may want a lifecycle with
    // that name.
    if (change.type === 'DELETED') for (const name of this.#policies.objects.keys()) this.#addPolicy(name);
    else for (const owner of owners) if (owner !== undefined && isPolicy(owner)) this.#addPolicy(owner.name);
  }

  #onPediaCluster(change: ObjectChange): void {
    if (isOther(change) || isDeleting(change.object)) this.#addLifecycle(change.object.metadata.name);
  }

  /**
   * A changed CustomResourceDefinition changes discovery: the hub may now serve a type that it did not serve, or prefer
   * another version.
   */
  #onDefinition({ object }: ObjectChange): void {
    const group = object.metadata.name.slice(object.metadata.name.indexOf('.') + 1);
    this.#closeLookUntilMs = performance.now() + closeLookMs;
    for (const reflector of [this.#policies, this.#lifecycles, this.#pediaClusters]) {
      if (object.metadata.name === `${reflector.resource.resource}.${reflector.resource.group}`) reflector.lookAgain();
    }
    this.#lookAgain(group);
    clearTimeout(this.#lookups.get(group));
    this.#lookups.set(
      group,
      setTimeout(() => this.#lookAgain(group), this.#options.discoveryLagMs ?? discoveryLagMs).unref(),
    );
  }

  /** Reads discovery of a group again, and reconciles the ClusterImportPolicies that name the group. */
  #lookAgain(group: string): void {
    this.#discovery.forget(group);
    for (const [name, policy] of this.#policies.objects) {
      const groups = [policy['spec'], ...((policy['spec'] as { references?: unknown[] }).references ?? [])];
      const named = [textAt(groups[0], 'source', 'group'), ...groups.slice(1).map((each) => textAt(each, 'group'))];
      if (named.includes(group)) this.#addPolicy(name);
    }
  }

  #onObjects(type: ResourceType, keys: readonly string[]): void {
    for (const policy of this.#types.usersOf(type)) {
      const [source] = this.#types.typesOf(policy);
      if (source !== undefined && resourceKey(source) === resourceKey(type)) this.#addPolicy(policy);
    }
    for (const key of keys) for (const name of this.#dependents.of(type, key)) this.#addLifecycle(name);
  }

  #onTypeState(type: ResourceType): void {
    for (const policy of this.#types.usersOf(type)) {
      this.#addPolicy(policy);
      this.#addLifecyclesOf(policy);
    }
  }

  // Adding objects to the queues of the controllers

  #addPolicy(name: string): void {
    if (this.#ready) this.#policyQueue.add(name);
  }

  #addLifecycle(name: string): void {
    if (this.#ready) this.#lifecycleQueue.add(name);
  }

  #addLifecyclesOf(policy: string): void {
    for (const [name, lifecycle] of this.#lifecycles.objects) {
      if (controllerOf(lifecycle)?.name === policy) this.#addLifecycle(name);
    }
  }

  #addAll(): void {
    for (const name of this.#policies.objects.keys()) this.#addPolicy(name);
    for (const name of this.#lifecycles.objects.keys()) this.#addLifecycle(name);
  }
}

/** Whether more than the status of an object has changed, so that the object must be reconciled. */
function isOther(change: ObjectChange): boolean {
  if (change.type !== 'MODIFIED') return true;
  const { object, old } = change;
  return (
    generationOf(old) !== generationOf(object) ||
    !isDeepStrictEqual(old.metadata.labels, object.metadata.labels) ||
    !isDeepStrictEqual(ownersOf(old), ownersOf(object)) ||
    isAnnotated(change)
  );
}

/** Whether the annotations of an existing object have changed. */
function isAnnotated(change: ObjectChange): boolean {
  return (
    change.type === 'MODIFIED' &&
    !isDeepStrictEqual(change.old.metadata.annotations, change.object.metadata.annotations)
  );
}
