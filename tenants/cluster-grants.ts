// Reconciles the grants (TenantBindings and ClusterPermissions) of one cluster, with a queue of its own: a cluster that
// does not answer does not delay the others.
import type { ReflectorTiming } from '../kube/reflector/reflector-types.ts';
import { GatewayError } from '../model/errors.ts';
import { makeQueue, type ControllerLog } from '../controllers/queue/logged-queue.ts';
import type { Outcome, WorkQueue } from '../controllers/queue/work-queue.ts';
import { MemberRefusal } from '../distribute/member/member-objects.ts';
import type { Author } from '../distribute/stamp/authors.ts';
import { reconcileGrant, revokeGrant, type GrantOutcome, type GrantParts } from './member/reconcile-grant.ts';
import type { Mark } from './member/manifests.ts';
import { TenantSession, type TenantSessionParts } from './member/tenant-session.ts';
import type { ClusterResult, GrantedObject, RbacObject } from './object/grant.ts';

/** What is to be done in one cluster for one grant, that is, for one TenantBinding or ClusterPermission. */
export interface Task {
  readonly mark: Mark;
  /** The objects that the cluster should have; undefined when everything that was granted is to be removed. */
  readonly rbacObjects: readonly RbacObject[] | undefined;
  /**
   * The user as whom objects are made; undefined when it is not proven who the author is. Objects can then only be
   * removed.
   */
  readonly author: Author | undefined;
}

export interface ClusterGrantsOptions extends Omit<TenantSessionParts, 'onObjects' | 'onError'> {
  readonly log: ControllerLog;
  /**
   * Returns what is to be done now in this cluster for a grant (TenantBinding or ClusterPermission); undefined when
   * there is nothing to do.
   */
  readonly task: (grant: string) => Task | undefined;
  readonly known: (grant: string) => ClusterResult | undefined;
  /** Called with the result of a reconciliation, which is then written to the hub. */
  readonly onResult: (grant: string, outcome: Omit<GrantOutcome, 'afterMs'>) => void;
  /** Records objects on the hub before they are made in the cluster. Resolves when the hub has the record. */
  readonly announce: (grant: string, objects: readonly GrantedObject[], author: Author) => Promise<void>;
  readonly timing?: Partial<ReflectorTiming>;
}

const workers = 4;

export class ClusterGrants {
  readonly #options: ClusterGrantsOptions;
  readonly #session: TenantSession;
  readonly #queue: WorkQueue;

  constructor(options: ClusterGrantsOptions) {
    this.#options = options;
    const { cluster, log } = options;
    this.#session = new TenantSession({
      ...options,
      onObjects: (grants) => {
        for (const grant of grants) this.add(grant);
      },
      onError: (error) => log.error({ cluster, err: error }, 'tenants: an object of a cluster could not be handled'),
    });
    const reconcile = (grant: string): Promise<Outcome> => this.#reconcile(grant);
    this.#queue = makeQueue('grant', `tenants of cluster ${cluster}`, log, reconcile, { workers, maxRetryMs: 30_000 });
  }

  /** Adds the grant (TenantBinding or ClusterPermission) to the queue of this cluster. */
  add(grant: string): void {
    this.#queue.add(grant);
  }

  close(): void {
    this.#queue.close();
    this.#session.close();
  }

  async #reconcile(grant: string): Promise<Outcome> {
    const { task: taskOf, known, onResult, announce } = this.#options;
    const task = taskOf(grant);
    if (task === undefined) {
      this.#session.follow(grant, undefined, [], false);
      return 'done';
    }
    const parts: GrantParts = {
      session: this.#session,
      grant,
      mark: task.mark,
      known: () => known(grant),
      announce: (objects, author) => announce(grant, objects, author),
    };
    const { rbacObjects, author } = task;
    try {
      const { afterMs, ...outcome } =
        rbacObjects === undefined || author === undefined
          ? await revokeGrant(parts, author)
          : await reconcileGrant(parts, rbacObjects, author);
      onResult(grant, outcome);
      return afterMs === undefined ? 'done' : { afterMs };
    } catch (error) {
      const isRefusal = error instanceof MemberRefusal;
      if (!isRefusal && !(error instanceof GatewayError)) throw error;
      onResult(grant, {
        phase: isRefusal ? 'Error' : 'Pending',
        reason: isRefusal ? 'RefusedByCluster' : 'Unreachable',
        message: error.message,
        objects: known(grant)?.objects ?? [],
      });
      return 'retry';
    }
  }
}
