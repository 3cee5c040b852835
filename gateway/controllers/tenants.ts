// Grants rights in clusters by TenantBindings and ClusterPermissions if the configuration enables it. Each write is
// sent as the author of the object, under the same identity rules as the author's own requests, and has an audit event.
import type { Registry } from 'prom-client';
import { makeUser } from '../../model/user.ts';
import { startTenants, type Tenants } from '../../tenants/start.ts';
import { by, registerRead } from '../operations/read-metric.ts';
import { beginOwnWrite } from './own-writes.ts';
import type { SharedParts } from '../parts/shared-parts.ts';

const nobody = makeUser({ name: 'portcullis:tenants' });

/** Starts the controllers of TenantBindings and ClusterPermissions; returns undefined when they are not enabled. */
export function startTenantsOf(
  { options, hub, store, sources, connections, outgoing, audit, leases }: SharedParts,
  registry: Registry,
): Tenants | undefined {
  const { config, log, closers } = options;
  const settings = config.hub?.tenants;
  if (settings === undefined || hub === undefined) return undefined;
  const tenants = startTenants({
    ...settings,
    leases,
    client: hub.client,
    store,
    clustersKnown: () => sources.synced(),
    connections,
    outgoing: outgoing.identity,
    onWrite: async ({ mark, user, ...write }) =>
      beginOwnWrite(audit, {
        write,
        caller: nobody,
        executor: user,
        userAgent: 'portcullis-tenants',
        annotations: [
          ['gateway.portcullis.io/cluster', write.cluster],
          ['gateway.portcullis.io/granted-by', mark.title],
          ['gateway.portcullis.io/granted-by-uid', mark.uid],
        ],
      }),
    log,
  });
  closers.push(() => void tenants.close());
  registerRead(
    registry,
    'portcullis_tenant_clusters',
    'Clusters of TenantBindings and ClusterPermissions, by how far their rights are.',
    'gauge',
    () => by('phase', Object.entries(tenants.numbers() ?? {})),
  );
  return tenants;
}
