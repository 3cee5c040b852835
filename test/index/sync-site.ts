// Sync of the index over real connections into a real store, for tests with a simulator or a real API server. Writes
// are counted at the store: a row that is sent again with the same bytes is no change.
import { fixedCredential } from '../../model/fixed-credential.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { createClusterStore, type ClusterStore } from '../../model/store.ts';
import { makeConnections } from '../../routing/members/target.ts';
import { makeTransport, transportParts } from '../../routing/pools/transport.ts';
import { allOf } from '../../query/list-query.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import type { IndexStore, WriteBatch } from '../../store/store.ts';
import { makeAsks } from '../../sync/ask-member.ts';
import type { IndexIdentity } from '../../sync/index-identity.ts';
import { makeSelection } from '../../sync/discover/selection.ts';
import { startSync } from '../../sync/sync.ts';
import type { SyncHandle, SyncTiming, TypeState } from '../../sync/member/sync-types.ts';
import { typeKey, type ResourceType } from '../../query/types.ts';

/** A cluster as a source would give it. */
export function memberSpec(
  name: string,
  member: { readonly url: string; readonly caPem: string },
  token: string,
): ClusterSpec {
  const { hostname, port } = new URL(member.url);
  return {
    name,
    originalName: name,
    uid: `00000000-0000-4000-8000-${Buffer.from(name).toString('hex').padStart(12, '0').slice(0, 12)}`,
    source: 'test',
    sourceDetail: name,
    labels: {},
    endpoint: { scheme: 'https', host: hostname, port: Number(port), basePath: '' },
    tls: { ca: member.caPem, serverName: undefined, insecure: false },
    proxy: undefined,
    credential: fixedCredential('token', {
      authorization: `Bearer ${token}`,
      clientCertificate: undefined,
      expiresAtMs: undefined,
    }),
    transportKey: `${name} ${member.url}`,
    problem: undefined,
  };
}

export interface SyncSite {
  readonly clusters: ClusterStore;
  readonly store: IndexStore;
  readonly sync: SyncHandle;
  /** What was asked to be written since the start. */
  readonly batches: readonly WriteBatch[];
  /** Rows the store really changed since the start, and deleted. */
  counts(): { readonly written: number; readonly deleted: number };
  /** Text of each row by `cluster/namespace/name`. */
  rows(type: ResourceType): Promise<ReadonlyMap<string, string>>;
  state(cluster: string, resource: string): TypeState | undefined;
  close(): Promise<void>;
}

/** Short enough for tests in which a member comes back. */
const clusterRetry = { firstMs: 50, maxMs: 500, fastTries: 5, slowMs: 500 };

/** Starts it; the folder of the store is the caller's, so that another one can go on with it. */
export async function startSyncSite(options: {
  readonly directory: string;
  readonly specs: readonly ClusterSpec[];
  readonly resources?: readonly string[];
  readonly identity?: IndexIdentity;
  readonly timing?: Partial<SyncTiming>;
}): Promise<SyncSite> {
  const clusters = createClusterStore();
  clusters.apply('test', options.specs);
  const connections = makeConnections((spec, credential) => makeTransport(transportParts(spec, credential)));
  const inner = await openSqliteStore({ directory: options.directory });
  const batches: WriteBatch[] = [];
  let isClosed = false;
  let written = 0;
  let deleted = 0;
  const store: IndexStore = inner;
  const apply = inner.apply.bind(inner);
  store.apply = async (batch) => {
    // The bytes may be given away to the writer's thread.
    batches.push(batch);
    const commit = await apply(batch);
    written += commit.written;
    deleted += commit.deleted;
    return commit;
  };
  const sync = await startSync({
    clusters,
    areClustersKnown: Promise.resolve(),
    asksOf: ({ uid }) => makeAsks(() => clusters.getByUid(uid), connections, options.identity ?? 'impersonate'),
    store,
    selection: makeSelection(options.resources, undefined),
    log: { info: () => undefined, warn: () => undefined },
    timing: { clusterRetry, firstBackoffMs: 50, maxBackoffMs: 500, discoveryPauseMs: 100, ...options.timing },
  });
  return {
    clusters,
    store,
    sync,
    batches,
    counts: () => ({ written, deleted }),
    async rows(type) {
      const types = await inner.types();
      const grants = new Map(
        types.map(({ incarnation }) => [incarnation.id, new Map([[typeKey(type), 'all' as const]])]),
      );
      const page = await inner.list(allOf(type), { grants, digest: JSON.stringify([...grants.keys()]) }, {});
      const rows = new Map<string, string>();
      for await (const chunk of page.chunks) {
        for (const { cluster, namespace, name, raw } of chunk) {
          rows.set(`${cluster}/${namespace}/${name}`, Buffer.from(raw).toString('utf8'));
        }
      }
      return rows;
    },
    state: (cluster, resource) =>
      sync
        .state()
        .find((each) => each.cluster === cluster)
        ?.types.find(({ type }) => type.resource === resource),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await sync.close();
      connections.close('abort');
      await inner.close();
    },
  };
}
