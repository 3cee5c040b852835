// Starts the execution of ManifestWorks if the configuration enables it. Works are written over the gateway's
// connections, with the same identity rules as requests, after the hub's authorization, and with audit events.
import type { Registry } from 'prom-client';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { makeUser } from '../../cache/model/user.ts';
import { textAt } from '../../controllers/objects.ts';
import type { WorkWrite } from '../../distribute/member/member-session.ts';
import { startWorkExecutor } from '../../distribute/start.ts';
import type { WorkExecutor } from '../../distribute/start.ts';
import type { WorkNumbers } from '../../distribute/works.ts';
import { lastModifierOf } from '../../distribute/work/last-modifier.ts';
import { accountUserName } from '../../auth/callers/reserved.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import type { RunningAudit } from '../audit/audit.ts';
import { beginOwnWrite } from './own-writes.ts';
import { by, registerRead, single } from '../operations/read-metric.ts';
import type { MetricValues } from '../operations/read-metric.ts';
import type { SharedParts } from './shared-parts.ts';

/** Starts the execution of ManifestWorks; returns undefined when it is off. */
export function startWorksOf(
  { options, hub, store, connections, outgoing, audit }: SharedParts,
  registry: Registry,
): WorkExecutor | undefined {
  const { config, log, closers } = options;
  const settings = config.hub?.works;
  if (settings === undefined || hub === undefined) return undefined;
  const executor = startWorkExecutor({
    ...settings,
    hubUrl: settings.hubUrl ?? hub.client.url,
    client: hub.client,
    store,
    connections,
    outgoing: outgoing.identity,
    log,
    onWrite: async (write) => beginWrite(audit, write),
    executorFault: (work) => executorFault(hub.access.authorizer, work),
  });
  closers.push(() => void executor.close());
  registerWorkMetrics(registry, executor);
  return executor;
}

/**
 * Registers the metrics of ManifestWorks. Every replica has these metrics, but only the one that executes works has
 * values for them.
 */
function registerWorkMetrics(registry: Registry, executor: WorkExecutor): void {
  const read = (
    name: string,
    help: string,
    type: 'gauge' | 'counter',
    values: (numbers: WorkNumbers) => MetricValues,
  ): void =>
    registerRead(registry, name, help, type, () => {
      const numbers = executor.numbers();
      return numbers === undefined ? [] : values(numbers);
    });
  read('portcullis_works', 'ManifestWorks of chosen clusters, by what is known of them.', 'gauge', ({ works }) =>
    by('state', Object.entries(works)),
  );
  read(
    'portcullis_work_queue_seconds',
    'Longest wait of a ManifestWork for its turn, by cluster.',
    'gauge',
    (numbers) => by('cluster', numbers.queueSeconds),
  );
  read('portcullis_work_looks_total', 'How often a ManifestWork was looked at and applied.', 'counter', ({ looks }) =>
    single(looks),
  );
  read('portcullis_work_look_seconds_total', 'How long that took together.', 'counter', ({ lookSeconds }) =>
    single(lookSeconds),
  );
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
 * Asks the hub whether the user who last changed a work may have it executed as the work's ServiceAccount. Resolves
 * with the reason when not, otherwise with undefined.
 */
async function executorFault(authorizer: Authorizer, work: HubObject): Promise<string | undefined> {
  const modifier = lastModifierOf(work);
  if (modifier === undefined) return undefined;
  if ('fault' in modifier) return modifier.fault;
  const account = {
    namespace: textAt(work, 'spec', 'executor', 'subject', 'serviceAccount', 'namespace'),
    name: textAt(work, 'spec', 'executor', 'subject', 'serviceAccount', 'name'),
  };
  const { allowed } = await authorizer.authorize({
    user: makeUser({ ...modifier, origin: 'hub' }),
    verb: 'execute-as',
    cluster: undefined,
    resourceRequest: true,
    apiGroup: 'work.open-cluster-management.io',
    apiVersion: 'v1',
    resource: 'manifestworks',
    subresource: '',
    namespace: work.metadata.namespace ?? '',
    name: accountUserName(account),
    path: '',
  });
  if (allowed) return undefined;
  return `user ${modifier.name} cannot manipulate the Manifestwork with executor ${account.namespace}/${account.name} in namespace ${work.metadata.namespace}`;
}
