// The operations on the index for its operators: read its status, move a cluster to another replica, rebuild clusters.
// The gateway has already checked that the caller may do that, so the answers may name every cluster.
import { GatewayError } from '../../model/errors.ts';
import type { Leases } from '../../store/leases.ts';
import type { DatabaseStatus } from '../../store/postgres/store.ts';
import { indexedOf } from '../../sync/indexed.ts';
import type { ClusterState } from '../../sync/member/sync-types.ts';
import type { RebuildRequests } from './rebuild-requests.ts';

/** The operations of a running index. */
export interface IndexOperations {
  /** Returns the index's status as a JSON object without `kind`. @throws GatewayError (rejects) INDEX_UNAVAILABLE */
  status(): Promise<object>;
  /**
   * Moves a cluster to a replica, which lists and watches it until the replica ends. The other clusters of its shard
   * (the group of clusters that one replica reads) move, too.
   * @param to name of the replica; undefined to let the replicas distribute the shard again
   * @returns a sentence for the operator that says what was done
   * @throws GatewayError (rejects) CLUSTER_NOT_FOUND, NOT_FOUND, BAD_REQUEST
   */
  move(cluster: string, to: string | undefined): Promise<string>;
  /**
   * Requests that clusters are rebuilt: their rows are deleted, and all objects are read from the clusters again.
   * @param clusters names of clusters; undefined for all
   * @returns a sentence for the operator that says what was done
   * @throws GatewayError (rejects) CLUSTER_NOT_FOUND, and then nothing was done
   */
  rebuild(clusters: readonly string[] | undefined): Promise<string>;
}

/** The parts of a running index that its operations use. */
export interface OperatedIndex {
  readonly state: () => readonly ClusterState[];
  readonly requests: RebuildRequests;
  /**
   * Which replica lists and watches the clusters of which shard. Undefined for SQLite, where one process watches all
   * clusters.
   */
  readonly leases: Leases | undefined;
  /** Returns the state of the PostgreSQL database. Undefined for SQLite. */
  readonly database: (() => DatabaseStatus) | undefined;
}

export function makeOperations({ state, requests, leases, database }: OperatedIndex): IndexOperations {
  const find = (cluster: string): ClusterState => {
    const found = state().find((each) => each.cluster === cluster);
    if (found === undefined)
      throw new GatewayError('CLUSTER_NOT_FOUND', `cluster "${cluster}" is not in the index`, {
        kind: 'clusters',
        name: cluster,
      });
    return found;
  };
  return {
    async status() {
      const states = state();
      const owners = (await leases?.look())?.map(({ owner }) => owner);
      const ownerOf = ({ uid }: ClusterState): string | undefined => leases && owners![leases.shardOf(uid)];
      return {
        store: storeStatus(database?.()),
        whole: states.length > 0 && states.every(isWhole),
        ...(leases === undefined
          ? {}
          : { replicas: replicasOf(await leases.replicas(), owners!, states.map(ownerOf)) }),
        clusters: states.map((each) => clusterStatus(each, ownerOf(each))),
      };
    },
    async move(cluster, to) {
      const { uid } = find(cluster);
      if (leases === undefined) {
        const why =
          'the index is in SQLite, which one process follows for all: only replicas over PostgreSQL share clusters';
        throw new GatewayError('BAD_REQUEST', why);
      }
      const shard = leases.shardOf(uid);
      if (!(await leases.pin(shard, to))) {
        const why = `there is no replica ${JSON.stringify(to)} that could follow cluster "${cluster}": the status of the index names all`;
        throw new GatewayError('NOT_FOUND', why);
      }
      const along = state().filter((each) => leases.shardOf(each.uid) === shard).length - 1;
      const others = along === 0 ? '' : `, and ${along} more of shard ${shard}`;
      return to === undefined
        ? `The replicas decide again who follows cluster "${cluster}"${others}.`
        : `Cluster "${cluster}"${others} is followed by replica ${JSON.stringify(to)} from now on, until that one ends.`;
    },
    async rebuild(clusters) {
      const chosen = clusters === undefined ? state() : clusters.map(find);
      const objects = chosen.reduce((sum, each) => sum + objectsOf(each), 0);
      await requests.add(chosen.map(({ uid }) => uid));
      const [only] = chosen;
      const named = chosen.length === 1 ? `cluster "${only!.cluster}"` : `${chosen.length} clusters`;
      return `The ${objects} objects of ${named} are dropped from the index and read anew from now on.`;
    },
  };
}

function storeStatus(status: DatabaseStatus | undefined): object {
  if (status === undefined) return { kind: 'SQLite' };
  const { name, form, fault, lagMs, logAgeMs } = status;
  const seconds = { answeredSecondsAgo: lagMs / 1000, logSeconds: Math.round(logAgeMs / 1000) };
  return { kind: 'PostgreSQL', name, form, ...(fault === undefined ? {} : { fault }), ...seconds };
}

/**
 * Returns one object for each running replica, with the numbers of shards (groups of clusters) and clusters that it
 * reads.
 */
function replicasOf(
  living: readonly string[],
  owners: readonly string[],
  ofClusters: readonly (string | undefined)[],
): readonly object[] {
  const count = (names: readonly (string | undefined)[], name: string): number =>
    names.filter((each) => each === name).length;
  return living.map((name) => ({ name, shards: count(owners, name), clusters: count(ofClusters, name) }));
}

function clusterStatus(state: ClusterState, replica: string | undefined): object {
  const { summary, message } = indexedOf(state);
  return {
    cluster: state.cluster,
    indexed: summary,
    message,
    objects: objectsOf(state),
    lagSeconds: state.types.reduce((most, { lagMs }) => Math.max(most, lagMs), 0) / 1000,
    ...(replica === undefined || replica === '' ? {} : { replica }),
  };
}

/** Whether the index has all objects of every type that it should have of a cluster. */
function isWhole({ fault, types }: ClusterState): boolean {
  return fault === undefined && types.length > 0 && types.every((type) => type.isWhole);
}

function objectsOf({ types }: ClusterState): number {
  return types.reduce((sum, { objects }) => sum + objects, 0);
}
