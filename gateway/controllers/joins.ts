// Lets clusters join and leave by ClusterJoin objects if the configuration enables it. Audit events about writes to
// these clusters have the user `portcullis:join`, since no caller has sent them.
import type { Registry } from 'prom-client';
import { makeAddressRule } from '../../model/address-rule.ts';
import { makeUser } from '../../model/user.ts';
import { startClusterJoins, type ClusterJoins } from '../../join/start.ts';
import { registerJoinMetrics } from '../operations/controller-metrics.ts';
import { beginOwnWrite } from './own-writes.ts';
import type { SharedParts } from '../parts/shared-parts.ts';

const nobody = makeUser({ name: 'portcullis:join' });

/** Starts the controller of ClusterJoins; returns undefined when the configuration does not enable it. */
export function startJoinsOf(
  { options, hub, store, connections, audit, leases }: SharedParts,
  registry: Registry,
): ClusterJoins | undefined {
  const { config, log, closers } = options;
  const settings = config.hub?.joins;
  if (settings === undefined || config.hub === undefined || hub === undefined) return undefined;
  const joins = startClusterJoins({
    ...settings,
    leases,
    client: hub.client,
    store,
    connections,
    secretNamespace: config.hub.secretNamespace,
    rule: makeAddressRule(config.hub.memberAddresses),
    onWrite: async ({ join, ...write }) =>
      beginOwnWrite(audit, {
        write: { ...write, cluster: join.name },
        caller: nobody,
        executor: undefined,
        userAgent: 'portcullis-join',
        annotations: [
          ['gateway.portcullis.io/cluster', join.name],
          ['gateway.portcullis.io/cluster-join-uid', join.uid],
        ],
      }),
    log,
    timeScale: config.timeScale,
  });
  closers.push(() => void joins.close());
  registerJoinMetrics(registry, () => joins.numbers());
  return joins;
}
