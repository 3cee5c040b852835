// Executes the ManifestWorks of one cluster, with a queue of its own. While the member cannot be reached, or another
// agent executes the works there, nothing is written to the member. The watch of AppliedManifestWorks shows when that
// changes.
import type { ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import { makeQueue, type ControllerLog } from '../../controllers/queue/logged-queue.ts';
import type { Outcome, WorkQueue } from '../../controllers/queue/work-queue.ts';
import { followAppliedWorks, type AppliedWorks } from '../inventory/applied-works.ts';
import { MemberSession, type SessionParts } from '../member/member-session.ts';
import { ownPrefix } from '../work/manifest-work.ts';
import type { Work } from '../work/work.ts';
import { endAppliedWork, endWork } from './clean-up.ts';
import { KnownObjects } from './known-objects.ts';
import type { WorkSettings } from './settings.ts';
import { reconcileWork, writeOwnConditions, type ReconcileParts } from './reconcile-work.ts';

export interface ClusterExecutorOptions extends Omit<SessionParts, 'onObjects' | 'onRights' | 'onError'> {
  readonly settings: WorkSettings;
  /** Names of the cluster's ManifestWorks. */
  readonly works: () => Iterable<string>;
  readonly log: ControllerLog;
  /** Called with the duration of each reconcile, in which one ManifestWork was applied once. */
  readonly onReconcile: (seconds: number) => void;
  readonly timing?: Partial<ReflectorTiming>;
}

/** How many ManifestWorks of one cluster are handled at the same time. The others wait in the queue. */
const workers = 4;
/**
 * Milliseconds to wait after a change of an object before its ManifestWork is handled. Changes come in bursts, and
 * handling the work once covers them all.
 */
const gatherMs = 300;

const workPrefix = 'work/';
const appliedPrefix = 'applied/';

export class ClusterExecutor {
  readonly #options: ClusterExecutorOptions;
  readonly #session: MemberSession;
  readonly #appliedWorks: AppliedWorks;
  readonly #known = new KnownObjects();
  readonly #queue: WorkQueue;
  readonly #soon = new Map<string, NodeJS.Timeout>();
  #obstacle: string | undefined;

  constructor(options: ClusterExecutorOptions) {
    this.#options = options;
    const { cluster, settings, log, timing } = options;
    const onError = (error: unknown): void =>
      log.error({ cluster, err: error }, 'works: an object of a cluster could not be handled');
    this.#session = new MemberSession({
      ...options,
      onObjects: (type) => {
        for (const work of this.#session.worksOf(type)) this.#addSoon(work);
      },
      onRights: (work) => {
        this.#known.retryDenied(work);
        this.addWork(work);
      },
      onError,
    });
    this.#queue = makeQueue('ManifestWork', `works of cluster ${cluster}`, log, (key) => this.#reconcile(key), {
      workers,
    });
    this.#appliedWorks = followAppliedWorks({
      client: this.#session.own,
      hubHash: settings.hubHash,
      agentId: settings.agentId,
      onChange: (names) => this.#onAppliedWorks(names),
      onState: () => this.#addAllWhenChanged(),
      onError,
      ...(timing && { timing }),
    });
  }

  /**
   * Adds a ManifestWork to the queue, for a work that was created, changed or deleted, or that is to be applied again.
   */
  addWork(name: string): void {
    // If the ManifestWork was missing on the hub before, its AppliedManifestWork may have a time at which it is
    // deleted, and this time must be cleared now. If its deletion has begun already, it may be waiting for the work,
    // which names the executor that may delete the objects.
    const appliedWork = this.#appliedWorks.of(name);
    if (appliedWork !== undefined && (appliedWork.isDeleting || appliedWork.evictionStart !== undefined))
      this.#queue.add(appliedPrefix + appliedWork.name);
    this.#queue.add(workPrefix + name);
  }

  /**
   * Stops watching the objects of a ManifestWork that is gone from the hub, and adds its AppliedManifestWork to the
   * queue, since that now has to be deleted.
   */
  workGone(name: string): void {
    this.#session.forget(name);
    this.#known.forget(name);
    this.#queue.add(appliedPrefix + `${this.#options.settings.hubHash}-${name}`);
  }

  /** Tries at once to reach the member, after the cluster was registered or its address or credential changed. */
  recordChanged(): void {
    this.#appliedWorks.lookAgain();
  }

  /**
   * Returns a condition that tells why the ManifestWorks of this cluster are not executed now; undefined while they are
   * executed.
   */
  obstacle(): Finding | undefined {
    const { fault, phase, synced } = this.#appliedWorks.state();
    const type = `${ownPrefix}Reached`;
    if (fault !== undefined) return { type, status: 'False', reason: fault.reason, message: fault.message };
    if (!synced) return { type, status: 'False', reason: 'NotReached', message: 'the cluster was not reached yet' };
    const executed = { type: `${ownPrefix}Executed`, status: 'False' } as const;
    if (phase === 'missing') {
      const message = 'the cluster does not have AppliedManifestWorks: install their CustomResourceDefinition there';
      return { ...executed, reason: 'NoAppliedManifestWorks', message };
    }
    const foreign = this.#appliedWorks.foreign();
    if (foreign === undefined) return undefined;
    const message = `the agent ${JSON.stringify(foreign.agentId)} executes works of this hub in the cluster; end it and delete its AppliedManifestWorks, or switch execution by the gateway off`;
    return { ...executed, reason: 'OtherAgent', message };
  }

  /** For how many milliseconds the ManifestWork that has waited longest has been in the queue. */
  queueAgeMs(): number {
    return this.#queue.longestWaitMs();
  }

  close(): void {
    this.#queue.close();
    for (const timer of this.#soon.values()) clearTimeout(timer);
    this.#appliedWorks.close();
    this.#session.close();
  }

  #onAppliedWorks(names: readonly string[]): void {
    this.#addAllWhenChanged();
    const { hubHash } = this.#options.settings;
    for (const name of names) {
      this.#queue.add(appliedPrefix + name);
      if (name.startsWith(`${hubHash}-`)) this.#addWhenWaiting(name.slice(hubHash.length + 1));
    }
  }

  /**
   * Adds the ManifestWork of a changed AppliedManifestWork only if the AppliedManifestWork is gone or the work is being
   * deleted. The gateway itself makes most other changes, so they need no reaction.
   */
  #addWhenWaiting(workName: string): void {
    const work = this.#work(workName);
    const appliedWork = this.#appliedWorks.of(workName);
    if (work !== undefined && (appliedWork === undefined || work.isDeleting)) this.addWork(workName);
  }

  /** Adds all ManifestWorks of the cluster to the queue when `obstacle` gives another answer than before. */
  #addAllWhenChanged(): void {
    const obstacle = this.obstacle();
    const reported = obstacle === undefined ? '' : `${obstacle.reason} ${obstacle.message}`;
    if (reported === this.#obstacle) return;
    this.#obstacle = reported;
    const { cluster, log, works } = this.#options;
    if (obstacle === undefined) log.info({ cluster }, 'works: ManifestWorks of the cluster are executed from now on');
    else log.warn({ cluster, fault: obstacle.message }, 'works: ManifestWorks of the cluster are not executed');
    for (const name of works()) this.addWork(name);
    for (const { name } of this.#appliedWorks.own()) this.#queue.add(appliedPrefix + name);
  }

  #addSoon(work: string): void {
    if (this.#soon.has(work)) return;
    const add = (): void => {
      this.#soon.delete(work);
      this.addWork(work);
    };
    this.#soon.set(work, setTimeout(add, gatherMs).unref());
  }

  #work(name: string): Work | undefined {
    return this.#options.settings.work(this.#options.cluster, name);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const parts: ReconcileParts = {
      settings: this.#options.settings,
      session: this.#session,
      appliedWorks: this.#appliedWorks,
      known: this.#known,
      log: this.#options.log,
    };
    const obstacle = this.obstacle();
    if (key.startsWith(appliedPrefix)) {
      if (obstacle !== undefined) return 'done';
      return await endAppliedWork(parts, this.#options.cluster, key.slice(appliedPrefix.length));
    }
    const work = this.#work(key.slice(workPrefix.length));
    if (work === undefined) return 'done';
    if (obstacle !== undefined) {
      await this.#reportObstacle(work, obstacle);
      return 'done';
    }
    if (work.isDeleting) return await endWork(parts, work);
    const startMs = performance.now();
    const outcome = await reconcileWork(parts, work);
    this.#options.onReconcile((performance.now() - startMs) / 1000);
    return outcome;
  }

  async #reportObstacle(work: Work, obstacle: Finding): Promise<void> {
    // No condition is written before the first list of AppliedManifestWorks, which takes only a moment.
    if (obstacle.reason === 'NotReached') return;
    await writeOwnConditions(this.#options.settings, work, [obstacle]);
  }
}
