// Applies all manifests of one ManifestWork once, and reads the state of their objects. If the watch shows that an
// object is unchanged since the last time, no request is sent for it.
import { objectAt, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { GatewayError } from '../../model/errors.ts';
import { findCondition, type Finding } from '../../kube/objects/conditions.ts';
import type { OwnerReference } from '../../kube/objects/objects.ts';
import { contentHash, hashOf } from '../work/content-hash.ts';
import { faultOf, MissingRight, type ApplyFault } from '../apply/apply-fault.ts';
import { uidOf } from '../apply/owners.ts';
import { applyManifest } from '../apply/strategies.ts';
import { readFeedback } from '../feedback/feedback-values.ts';
import type { AppliedResource } from '../inventory/applied-works.ts';
import { RuleCount } from '../feedback/rule-count.ts';
import type { RuleEvaluator } from '../feedback/rule-evaluator.ts';
import type { Executor } from '../member/executor-identity.ts';
import type { MemberObjects, ObjectName } from '../member/member-objects.ts';
import type { MemberSession } from '../member/member-session.ts';
import { readinessOf } from '../../lib/objects/readiness/readiness.ts';
import { planOf } from '../work/apply-order.ts';
import { completeType, makeConfigFinder } from '../work/manifest-config.ts';
import type { ConditionRule, ConfigFinder, ManifestConfig } from '../work/manifest-config.ts';
import type { ManifestResult, Seen } from '../work/work-status.ts';
import { objectKey, placed, type ResourceMeta } from '../work/manifest-work.ts';
import type { Manifest, Work } from '../work/work.ts';
import { correct, type KnownObject } from './known-objects.ts';

export interface ApplyParts {
  readonly work: Work;
  readonly executor: Executor;
  readonly session: MemberSession;
  readonly objects: MemberObjects;
  /** What the gateway remembers of the work's objects since their last apply, by object key. */
  readonly known: Map<string, KnownObject>;
  readonly owner: OwnerReference;
  /** Whether feedback values that are objects or lists are written into the ManifestWork's status as JSON text. */
  readonly rawJson: boolean;
  readonly ruleEvaluator: RuleEvaluator;
  /**
   * The objects that the AppliedManifestWork records. Entries of the work's status, which somebody may have forged, are
   * checked against them.
   */
  readonly recorded: readonly AppliedResource[];
}

export interface ApplyResult {
  readonly results: readonly ManifestResult[];
  /**
   * The objects of the ManifestWork. The caller has them watched, so that a change of one causes the work to be applied
   * again.
   */
  readonly objects: readonly ObjectName[];
  /** Milliseconds after which the ManifestWork has to be applied again; undefined when only a change requires that. */
  readonly againMs: number | undefined;
  /** Whether a manifest failed and no time for the next attempt is set, so that the work queue has to choose one. */
  readonly failed: boolean;
  /**
   * Namespaces of the objects for which the executor (the identity that writes them) lacks a right; '' stands for
   * cluster-scoped objects.
   */
  readonly denied: ReadonlySet<string>;
}

/** How many manifests of a group in `inApplyOrder` are applied at the same time. */
const parallel = 8;

/**
 * Applies all manifests of a ManifestWork once.
 * @throws GatewayError when the member cannot be reached; `known` then keeps what it remembers of the objects
 */
export async function applyManifests(parts: ApplyParts): Promise<ApplyResult> {
  return await new ManifestApplier(parts).run();
}

class ManifestApplier {
  readonly #parts: ApplyParts;
  readonly #results: ManifestResult[] = [];
  readonly #objects: ObjectName[] = [];
  readonly #keys = new Set<string>();
  readonly #known: Map<string, KnownObject>;
  #againMs: number | undefined;
  #failed = false;
  readonly #denied = new Set<string>();
  readonly #ruleCount = new RuleCount();
  readonly #configOf: ConfigFinder;

  constructor(parts: ApplyParts) {
    this.#parts = parts;
    this.#known = parts.known;
    this.#configOf = makeConfigFinder(parts.work);
  }

  async run(): Promise<ApplyResult> {
    const { work, session } = this.#parts;
    const { groups, instead } = await planOf(work, session.kinds);
    for (const group of groups) await eachOf(group, parallel, (manifest) => this.#applyManifest(manifest));
    for (const [{ meta }, { meta: last }] of instead) {
      const result = this.#results.find((each) => each.meta.ordinal === last.ordinal)!;
      const { resource, namespace } = result.meta;
      this.#results.push({ ...this.#counted(result), meta: { ...meta, resource, namespace } });
    }
    // Forgets the objects that the work does not contain any more.
    if (!work.isComplete) for (const key of this.#known.keys()) if (!this.#keys.has(key)) this.#known.delete(key);
    return {
      results: this.#results,
      objects: this.#objects,
      againMs: this.#againMs,
      failed: this.#failed,
      denied: this.#denied,
    };
  }

  async #applyManifest({ meta, object: manifest, fault: unusable }: Manifest): Promise<void> {
    const { session, recorded, work } = this.#parts;
    if (unusable !== undefined) {
      // For a complete work, this entry comes from its status, which somebody else may have written; it names no
      // applied object.
      if (!work.isComplete) this.#recordUnserved(meta, unusable);
      return;
    }
    const found = await placed(meta, session.kinds);
    if (found === undefined) {
      if (!work.isComplete || recorded.some((each) => isSameName(each, meta)))
        this.#recordUnserved(meta, `the server doesn't have a resource type "${meta.kind}"`);
      return;
    }
    const { kind, meta: full } = found;
    const { namespace, name } = full;
    if (kind.namespaced && namespace === '') {
      const fault = faultOf(new Error('an empty namespace may not be set during creation'), undefined);
      this.#record(full, fault, { state: 'unreadable', message: 'it has no namespace' });
      return;
    }
    if (work.isComplete && this.#recordedUid(full) === '') return;
    const object: ObjectName = { kind, namespace, name };
    this.#objects.push(object);
    await this.#reconcileObject(full, object, manifest);
  }

  /** Applies one manifest, unless the watch shows that its object is unchanged since the last time. */
  async #reconcileObject(meta: ResourceMeta, object: ObjectName, manifest: JsonObject | undefined): Promise<void> {
    const { executor, session, owner } = this.#parts;
    const config = this.#configOf(meta);
    // Counted for every object, also for one that is unchanged, so that each reconcile refuses the same rules.
    const refused = this.#ruleCount.refusal(config.conditionRules.map(({ condition }) => condition));
    const key = objectKey(meta);
    this.#keys.add(key);
    const taskHash = hashOf([manifest ?? null, config, executor.key, owner.uid, refused ?? null]);
    const known = this.#known.get(key);
    const before = known?.taskHash === taskHash ? known : undefined;
    const { isFollowable, version } = session.watched(executor, object);
    if (!isFollowable) this.#retryWithin(unwatchedMs);
    const leftMs = (before?.lookAtMs ?? Infinity) - performance.now();
    if (before !== undefined && before.version === version && !mayTryAgain(before) && leftMs > 0) {
      if (leftMs < Infinity) this.#retryWithin(Math.ceil(leftMs));
      this.#record(meta, before.fault, before.seen);
      return;
    }
    const corrections = known?.corrections ?? [];
    const after = await this.#applyObject({ meta, object, manifest, config, refused, taskHash, before, corrections });
    this.#known.set(key, after);
    this.#record(meta, after.fault, after.seen);
  }

  async #applyObject(task: Task): Promise<KnownObject> {
    const { objects } = this.#parts;
    const { object, before, taskHash, corrections } = task;
    let live: JsonObject | undefined;
    try {
      live = await objects.get(object);
      // An object with another UID than the recorded one was not applied for this work, so nothing about it is
      // reported.
      if (this.#parts.work.isComplete && live !== undefined && uidOf(live) !== this.#recordedUid(task.meta))
        live = undefined;
    } catch (error) {
      if (isUnreachable(error)) throw error;
      const fault = faultOf(error, object);
      const seen: Seen = { state: 'unreadable', message: (error as Error).message };
      const content = before?.content;
      return { taskHash, corrections, version: '', content, fault, seen, refusedUntilMs: untilOf(fault) };
    }
    const waitMs = await this.#waitMs(task, live);
    if (waitMs > 0)
      return await this.#knownAs(task, live, {
        content: before?.content,
        fault: before?.fault,
        refusedUntilMs: before?.refusedUntilMs ?? 0,
        waitMs,
      });
    try {
      const applied = await this.#apply(task, live);
      const content = applied === undefined ? undefined : contentHash(applied);
      return await this.#knownAs(task, applied, { content, fault: undefined });
    } catch (error) {
      if (isUnreachable(error)) throw error;
      return await this.#knownAs(task, live, { content: undefined, fault: faultOf(error, object) });
    }
  }

  /**
   * Milliseconds until the manifest is applied; 0 for now. Infinity when the manifest is applied again only after a
   * change: the object is as the last apply left it, or the manifest or the ManifestWork is complete.
   */
  async #waitMs(task: Task, live: JsonObject | undefined): Promise<number> {
    const { config, manifest, before } = task;
    if (manifest === undefined || (await this.#isManifestComplete(task, live))) return Infinity;
    if (before === undefined || config.strategy.type === 'ReadOnly') return 0;
    // A manifest that failed is tried again when its waiting time (`refusedUntilMs`) is over.
    if (before.fault !== undefined) return mayTryAgain(before) ? 0 : Infinity;
    if (live !== undefined && before.content === contentHash(live)) return Infinity;
    return correct(before, performance.now());
  }

  /**
   * Whether the object is complete, so that it is not updated any more. The condition Complete in the work's status is
   * not trusted alone: the condition rules must also hold for the object as it is now, or, if the object is gone, the
   * AppliedManifestWork must record that it was applied.
   */
  async #isManifestComplete({ meta, config, refused }: Task, live: JsonObject | undefined): Promise<boolean> {
    const { work } = this.#parts;
    if (!isReportedComplete(work, meta)) return false;
    const rules = config.conditionRules.filter(({ condition }) => condition === completeType);
    if (live === undefined) return rules.length > 0 && this.#recordedUid(meta) !== '';
    if (refused !== undefined) return false;
    return (await this.#evaluate(live, rules)).some(({ status }) => status === 'True');
  }

  async #evaluate(live: JsonObject, rules: readonly ConditionRule[]): Promise<readonly Finding[]> {
    const { ruleEvaluator, work } = this.#parts;
    return await ruleEvaluator.evaluate(work.namespace, live, rules);
  }

  /** UID of the object in the AppliedManifestWork; '' when it was never applied. */
  #recordedUid(meta: ResourceMeta): string {
    const key = objectKey(meta);
    return this.#parts.recorded.find((each) => objectKey(each) === key)?.uid ?? '';
  }

  async #apply({ object, manifest, config, before }: Task, live: JsonObject | undefined) {
    const { objects, executor, owner } = this.#parts;
    // The object will be deleted with its ManifestWork, as the same executor (the identity that writes the objects). So
    // an executor that may not delete it must not create it.
    const isNew = before === undefined || before.fault !== undefined;
    if (executor.isNamed && config.isOwn && isNew && !(await objects.may('delete', object)))
      throw new MissingRight(`${executor.key} may not delete it`);
    if (config.strategy.type === 'ReadOnly') return live;
    return await applyManifest(
      {
        objects,
        object,
        manifest: cleaned(manifest!, object),
        strategy: config.strategy,
        ownership: { owner, wanted: config.isOwn },
        lastContent: before?.content,
      },
      live,
    );
  }

  async #knownAs(
    { taskHash, corrections, config, refused }: Task,
    live: JsonObject | undefined,
    { content, fault, refusedUntilMs = untilOf(fault), waitMs = Infinity }: Outcome,
  ): Promise<KnownObject> {
    const known = { taskHash, corrections, content, fault, refusedUntilMs };
    if (live === undefined)
      return { ...known, version: 'absent', seen: { state: 'absent' }, lookAtMs: this.#lookAtMs(waitMs) };
    const observation = {
      feedback: readFeedback(live, config.feedbackRules, this.#parts.rawJson),
      rules: refused ?? (await this.#evaluate(live, config.conditionRules)),
      readiness: readinessOf(live),
    };
    const { ruleEvaluator, work } = this.#parts;
    const rulesMs = ruleEvaluator.againMs(work.namespace, config.conditionRules) ?? Infinity;
    const seen: Seen = { state: 'present', uid: uidOf(live), observation };
    const version = textAt(live, 'metadata', 'resourceVersion');
    return { ...known, version, seen, lookAtMs: this.#lookAtMs(Math.min(waitMs, rulesMs)) };
  }

  /**
   * The time, on the clock of `performance.now()`, at which the object is read again; undefined when `waitMs` is
   * Infinity.
   */
  #lookAtMs(waitMs: number): number | undefined {
    if (waitMs === Infinity) return undefined;
    this.#retryWithin(Math.ceil(waitMs));
    return performance.now() + waitMs;
  }

  /** The result for one more manifest of the same object. Conditions by rules are counted for it again. */
  #counted(result: ManifestResult): ManifestResult {
    if (result.seen.state !== 'present') return result;
    const { observation } = result.seen;
    const refused = this.#ruleCount.refusal(observation.rules.map(({ type }) => type));
    if (refused === undefined) return result;
    return { ...result, seen: { ...result.seen, observation: { ...observation, rules: refused } } };
  }

  #recordUnserved(meta: ResourceMeta, why: string): void {
    this.#record(meta, faultOf(new Error(why), undefined), { state: 'unserved' });
  }

  #record(meta: ResourceMeta, fault: ApplyFault | undefined, seen: Seen): void {
    if (fault?.isDenial === true) this.#denied.add(meta.namespace);
    if (fault?.againMs !== undefined) this.#retryWithin(fault.againMs);
    else if (fault !== undefined) this.#failed = true;
    const applied = fault === undefined ? 'done' : { reason: fault.reason, message: fault.message };
    this.#results.push({ meta, applied: this.#parts.work.isComplete ? 'kept' : applied, seen });
  }

  #retryWithin(ms: number): void {
    this.#againMs = Math.min(ms, this.#againMs ?? ms);
  }
}

interface Task {
  readonly meta: ResourceMeta;
  readonly object: ObjectName;
  /** The manifest; undefined when the object is only read, because the ManifestWork is complete. */
  readonly manifest: JsonObject | undefined;
  readonly config: ManifestConfig;
  /** The conditions that the object gets instead of those by its rules; undefined when the rules are evaluated. */
  readonly refused: readonly Finding[] | undefined;
  readonly taskHash: string;
  /** What the gateway remembers of the object; undefined when this manifest was not yet applied as this executor. */
  readonly before: KnownObject | undefined;
  readonly corrections: KnownObject['corrections'];
}

/** The result of one attempt to apply a manifest. */
interface Outcome {
  /** Content hash of the object after it was applied last; undefined if that failed. */
  readonly content: string | undefined;
  readonly fault: ApplyFault | undefined;
  /** See {@link KnownObject}. By default, the time that the fault asks for. */
  readonly refusedUntilMs?: number;
  /**
   * Milliseconds until the manifest is applied again, to undo a change that somebody else made. Absent: not before the
   * object changes again.
   */
  readonly waitMs?: number;
}

/** An object that the executor cannot watch is read at this interval, in milliseconds. */
const unwatchedMs = 60_000;

/** Removes from a manifest what it must not set, such as the UID, and sets the object's namespace. */
function cleaned(manifest: JsonObject, { namespace }: ObjectName): JsonObject {
  const {
    uid: _uid,
    resourceVersion: _version,
    managedFields: _fields,
    namespace: _namespace,
    ...metadata
  } = objectAt(manifest, 'metadata');
  return { ...manifest, metadata: { ...metadata, ...(namespace === '' ? {} : { namespace }) } };
}

/** Whether the ManifestWork's status says that the object of this manifest is complete. */
function isReportedComplete({ reported }: Work, meta: ResourceMeta): boolean {
  const entry = reported.find((each) => isSameObject(each.meta, meta));
  return entry !== undefined && findCondition(entry.conditions, completeType)?.status === 'True';
}

/**
 * Whether an entry of the AppliedManifestWork may be about this object. The plural names are not compared, since the
 * member no longer serves the kind and its plural name is not known.
 */
function isSameName(each: AppliedResource, { group, namespace, name }: ResourceMeta): boolean {
  return each.uid !== '' && each.group === group && each.namespace === namespace && each.name === name;
}

function isSameObject(one: ResourceMeta, { group, kind, name, namespace }: ResourceMeta): boolean {
  return one.group === group && one.kind === kind && one.name === name && one.namespace === namespace;
}

/** Whether a manifest that failed may be applied again now, since its waiting time is over. */
function mayTryAgain({ fault, refusedUntilMs }: KnownObject): boolean {
  return fault !== undefined && performance.now() >= refusedUntilMs;
}

function untilOf(fault: ApplyFault | undefined): number {
  return performance.now() + (fault?.againMs ?? 0);
}

function isUnreachable(error: unknown): boolean {
  return error instanceof GatewayError && error.code !== 'IDENTITY_REFUSED';
}

async function eachOf<T>(items: readonly T[], atOnce: number, act: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const work = async (): Promise<void> => {
    for (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
}
