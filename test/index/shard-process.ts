// A process that follows members together with others, over one PostgreSQL, until it is killed. It reports to its
// parent what it follows and what it would answer, several times a second, and closes when it is told to.
import { makeTransport, transportParts } from '../../routing/pools/transport.ts';
import { makeConnections } from '../../routing/members/target.ts';
import { createClusterStore } from '../../model/store.ts';
import { openPostgresStore } from '../../store/postgres/store.ts';
import { makeAsks } from '../../sync/ask-member.ts';
import { makeSelection } from '../../sync/discover/selection.ts';
import { startShardedSync } from '../../sync/shards/sharded-sync.ts';
import { memberSpec } from './sync-site.ts';

/** What the one argument holds, as JSON. */
export interface ShardProcessOptions {
  readonly url: string;
  readonly replica: string;
  readonly resources: readonly string[];
  readonly forgetAfterMs?: number;
  readonly members: readonly {
    readonly name: string;
    readonly url: string;
    readonly caPem: string;
    readonly token: string;
  }[];
}

/** What it says. */
export interface ShardReport {
  /** Names of the clusters that this process follows. */
  readonly own: readonly string[];
  /** Those of them whose types are all watched. */
  readonly watched: readonly string[];
  /** What it says of each cluster, whoever follows it. */
  readonly clusters: readonly {
    readonly name: string;
    readonly fault: string | undefined;
    /** Age of the ConfigMaps, milliseconds; undefined when they were never read. */
    readonly ageMs: number | undefined;
  }[];
}

const { url, replica, resources, members, forgetAfterMs } = JSON.parse(process.argv[2] ?? '{}') as ShardProcessOptions;
const clusters = createClusterStore();
clusters.apply(
  'test',
  members.map((member) => memberSpec(member.name, member, member.token)),
);
const connections = makeConnections((spec, credential) => makeTransport(transportParts(spec, credential)));
const store = await openPostgresStore({ url, connections: 6 });
const sync = await startShardedSync({
  clusters,
  areClustersKnown: Promise.resolve(),
  asksOf: ({ uid }) => makeAsks(() => clusters.getByUid(uid), connections, 'self'),
  store,
  leases: store.leases,
  selection: makeSelection(resources, undefined),
  log: { info: () => undefined, warn: () => undefined },
  replica,
  ...(forgetAfterMs === undefined ? {} : { forgetAfterMs }),
  timing: { clusterRetry: { firstMs: 50, maxMs: 500, fastTries: 5, slowMs: 500 }, firstBackoffMs: 50, quietMs: 500 },
});
const configMaps = { group: '', resource: 'configmaps' };
const reporting = setInterval(() => {
  const own = sync.own();
  const isWatched = ({ types }: (typeof own)[number]): boolean =>
    types.length > 0 && types.every(({ phase }) => phase === 'watching');
  const report: ShardReport = {
    own: own.map(({ cluster }) => cluster),
    watched: own.filter(isWatched).map(({ cluster }) => cluster),
    clusters: sync.state().map(({ cluster, fault, incarnation }) => {
      const confirmedAtMs = incarnation && sync.confirmedAtMs(incarnation.id, configMaps);
      return { name: cluster, fault: fault?.message, ageMs: confirmedAtMs && sync.now() - confirmedAtMs };
    }),
  };
  process.send!(report);
}, 200);
process.once('message', () => {
  clearInterval(reporting);
  void sync
    .close()
    .then(() => store.close())
    .then(() => {
      connections.close('abort');
      process.exit();
    });
});
