// Does on the hub what OCM's registration agent does from within a cluster, for the clusters whose ManifestWorks the
// gateway executes and that have no such agent: renews the Lease, and writes into the ManagedCluster whether it is
// available. Without it OCM's hub takes these clusters for unreachable, and no Placement chooses them. A real agent has
// precedence: where one is or was, nothing is written.
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import type { Reflector } from '../../kube/reflector/reflector.ts';
import type { ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import { Controller } from '../../controllers/controller.ts';
import type { ControllerLog } from '../../controllers/queue/logged-queue.ts';
import type { Outcome, WorkQueue } from '../../controllers/queue/work-queue.ts';
import type { ClusterRecord } from '../../model/records.ts';
import type { ClusterReader } from '../../model/store.ts';
import { agentStatusPatch, isAccepted, probeOf } from './agent-status.ts';
import { isExecuted, managedClusters, recordOf } from './chosen-clusters.ts';
import { isFreshLease, keeperOf, leaseName, leases, newLease, renewalOf, restMsOf } from './heartbeat.ts';

export interface RegistrationsOptions {
  readonly client: ApiClient;
  readonly store: Pick<ClusterReader, 'get' | 'subscribe'>;
  readonly log: ControllerLog;
  /** OCM's sets of clusters, as for works. */
  readonly clusterSets: readonly string[];
  readonly timing?: Partial<ReflectorTiming>;
  /** Returns Unix milliseconds; default Date.now. */
  readonly now?: () => number;
}

const missingPollMs = 10_000;

const leftAlone = 'registration: the gateway neither renews the Lease of this cluster nor says whether it is available';

/**
 * Stands in for registration agents from its construction until `close`. The Leases then go stale, unless another
 * replica becomes leader and goes on.
 */
export class Registrations {
  readonly #options: RegistrationsOptions;
  readonly #now: () => number;
  readonly #controller: Controller;
  readonly #queue: WorkQueue;
  readonly #clusters: Reflector;
  readonly #leases: Reflector;
  /** True once all Leases are listed. Before that, one of an agent would look as if it were not there. */
  #ready = false;
  /** Why a cluster is left alone, as it is in the log already. */
  readonly #reported = new Map<string, string>();

  constructor(options: RegistrationsOptions) {
    this.#options = options;
    const { client, store, log, timing, now = Date.now } = options;
    this.#now = now;
    const controller = new Controller({ client, log, what: 'registration', timing: { missingPollMs, ...timing } });
    this.#controller = controller;
    this.#queue = controller.queue('ManagedCluster', (name) => this.#reconcile(name));
    this.#clusters = controller.follow(managedClusters, {
      onEach: ({ object }) => this.#queue.add(object.metadata.name),
    });
    this.#leases = controller.follow(
      { ...leases, fieldSelector: `metadata.name=${leaseName}` },
      { onEach: ({ object: { metadata } }) => this.#queue.add(metadata.namespace ?? '') },
    );
    controller.atClose(store.subscribe(({ record }) => this.#queue.add(record.spec.originalName)));
    controller.whenSynced([this.#clusters, this.#leases], () => {
      this.#ready = true;
      for (const name of this.#clusters.objects.keys()) this.#queue.add(name);
    });
  }

  close(): void {
    this.#controller.close();
  }

  async #reconcile(name: string): Promise<Outcome> {
    const cluster = this.#clusters.objects.get(name);
    const { clusterSets, store } = this.#options;
    if (!this.#ready || cluster === undefined || !isExecuted(cluster, clusterSets) || !isAccepted(cluster)) {
      this.#reported.delete(name);
      return 'done';
    }
    const nowMs = this.#now();
    const lease = this.#leases.objects.get(`${name}/${leaseName}`);
    const keeper = keeperOf(lease, cluster, nowMs);
    this.#report(name, keeper.who === 'other' ? keeper.why : undefined);
    if (keeper.who === 'other' || keeper.who === 'undecided')
      return keeper.untilMs === undefined ? 'done' : { afterMs: keeper.untilMs - nowMs };
    const record = recordOf(store, name);
    const probe = probeOf(record);
    if (record === undefined || probe === undefined) return 'done';
    const isOwn = keeper.who === 'gateway' && lease !== undefined;
    if (probe === 'True') {
      // The Lease first: OCM's hub would replace the condition while the Lease is stale.
      const kept = isOwn && restMsOf(lease, cluster, nowMs) > 0 ? lease : await this.#renew(name, lease);
      await this.#tell(cluster, record);
      return { afterMs: restMsOf(kept, cluster, this.#now()) };
    }
    // Once the Lease is stale, OCM's hub says Unknown. To say False then would make the two write against each other.
    if (isOwn && isFreshLease(lease, cluster, nowMs)) await this.#tell(cluster, record);
    return 'done';
  }

  async #renew(name: string, present: ApiObject | undefined): Promise<ApiObject> {
    const { writer } = this.#controller;
    return present === undefined
      ? await writer.create(leases, newLease(name, this.#now()))
      : await writer.patch(leases, present, renewalOf(present, this.#now()));
  }

  async #tell(cluster: ApiObject, record: ClusterRecord): Promise<void> {
    const patch = agentStatusPatch(cluster, record);
    if (patch !== undefined) await this.#controller.writer.patchStatus(managedClusters, cluster, patch);
  }

  #report(cluster: string, why: string | undefined): void {
    if (why === undefined) {
      this.#reported.delete(cluster);
      return;
    }
    if (this.#reported.get(cluster) !== why) this.#options.log.info({ cluster, why }, leftAlone);
    this.#reported.set(cluster, why);
  }
}
