// Starts the execution of ManifestWorks if the configuration enables it. The objects of a work are written over the
// gateway's connections, under the same identity rules as requests, after the hub has authorized them, and with audit
// events.
import { Histogram, type Registry } from 'prom-client';
import { makeUser, type User } from '../../model/user.ts';
import type { WorkWrite } from '../../distribute/member/member-session.ts';
import { startWorkExecutor } from '../../distribute/start.ts';
import type { WorkExecutor } from '../../distribute/start.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import type { RunningAudit } from '../audit/audit.ts';
import { beginOwnWrite } from './own-writes.ts';
import { registerWorkMetrics } from '../operations/controller-metrics.ts';
import type { SharedParts } from '../parts/shared-parts.ts';

/** Starts the execution of ManifestWorks; returns undefined when the configuration does not enable it. */
export function startWorksOf(
  { options, hub, store, connections, outgoing, audit, leases }: SharedParts,
  registry: Registry,
): WorkExecutor | undefined {
  const { config, log, closers } = options;
  const settings = config.hub?.works;
  if (settings === undefined || hub === undefined) return undefined;
  const latency = new Histogram({
    name: 'portcullis_work_apply_seconds',
    help: 'Time from the change of a ManifestWork until its status says whether it was applied.',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [registry],
  });
  const executor = startWorkExecutor({
    ...settings,
    leases,
    hubUrl: settings.hubUrl ?? hub.client.url,
    client: hub.client,
    store,
    connections,
    outgoing: outgoing.identity,
    log,
    onWrite: async (write) => beginWrite(audit, write),
    onApplied: (seconds) => latency.observe(seconds),
    mayExecuteAs: (user, namespace, name) => mayExecuteAs(hub.access.authorizer, user, namespace, name),
  });
  closers.push(() => void executor.close());
  registerWorkMetrics(registry, () => executor.numbers());
  return executor;
}

const nobody = makeUser({ name: 'portcullis:works' });
/** Begins the audit event of a write for a ManifestWork, as `beginOwnWrite` does. */
function beginWrite(audit: RunningAudit | undefined, write: WorkWrite): (code: number) => void {
  const { cluster, work, executor } = write;
  return beginOwnWrite(audit, {
    write,
    caller: nobody,
    executor: executor === undefined ? undefined : makeUser({ name: executor }),
    userAgent: 'portcullis-works',
    annotations: [
      ['gateway.portcullis.io/cluster', cluster],
      ['gateway.portcullis.io/manifest-work', `${work.namespace}/${work.name}`],
      ['gateway.portcullis.io/manifest-work-uid', work.uid],
    ],
  });
}

/**
 * Asks the hub's RBAC whether `user` may use the verb `execute-as` on ManifestWorks in a cluster's namespace. Whoever
 * may do so can have the objects of these works written to the cluster as the executor `name`: a user name, or
 * `gateway` for the gateway's own credential.
 */
async function mayExecuteAs(authorizer: Authorizer, user: User, namespace: string, name: string): Promise<boolean> {
  const { allowed } = await authorizer.authorize({
    user,
    verb: 'execute-as',
    cluster: undefined,
    resourceRequest: true,
    apiGroup: 'work.open-cluster-management.io',
    apiVersion: 'v1',
    resource: 'manifestworks',
    subresource: '',
    namespace,
    name,
    path: '',
  });
  return allowed;
}
