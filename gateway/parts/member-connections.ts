// Connections to all clusters of a store, and the list of open streams over them.
import type { ClusterReader } from '../../model/store.ts';
import { makeBufferReclaim, youngCollector } from '../../routing/buffer-reclaim.ts';
import { makeSharedTlsSettings } from '../../routing/dial/tls-settings.ts';
import { makeTransport, transportParts } from '../../routing/pools/transport.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import { makeConnections } from '../../routing/members/target.ts';
import type { Connections } from '../../routing/members/target.ts';
import type { Config } from '../../config/configuration.ts';
import { fixedTimes } from './fixed-times.ts';
import { followRegistrations } from '../open-streams/ended-streams.ts';

/**
 * The connections to one cluster can always carry at least this many streams at the same time. The number is the
 * default of `--max-cluster-streams`.
 */
const leastLongRunningCalls = 4096;

/** The connections of one process to member clusters, and the open streams on them. */
export interface MemberConnections {
  readonly connections: Connections;
  readonly openStreams: OpenStreams;
}

/** Makes connections to the clusters of a store. When a cluster is removed, its connections are closed. */
export function makeMemberConnections(
  store: Pick<ClusterReader, 'subscribe'>,
  config: Pick<Config, 'timeScale' | 'limits'>,
): MemberConnections {
  const times = fixedTimes(config.timeScale);
  // A lower --max-cluster-streams limits only callers. The gateway's own watches of the cluster still need connections.
  const longRunningCalls = Math.max(leastLongRunningCalls, config.limits.clusterStreams);
  const openStreams = makeOpenStreams();
  const onBody = makeBufferReclaim(youngCollector());
  const tlsSettings = makeSharedTlsSettings();
  const connections = makeConnections(
    (spec, credential) =>
      makeTransport({
        ...transportParts(spec, credential),
        onBody,
        tlsSettings,
        timeoutMs: times.connectTimeoutMs,
        limits: { ...times.transport, longRunningCalls },
      }),
    times.breaker,
  );
  followRegistrations(store, openStreams, connections);
  return { connections, openStreams };
}
