// The section of the configuration about ManifestWorks that the gateway executes. Execution is off by default, since it
// writes to the hub and to the clusters.
import { z } from 'zod';
import { splitAccountName, accountUserName } from '../../../auth/callers/reserved.ts';
import type { AccountName } from '../../../auth/callers/reserved.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { listOf, readLease } from '../values.ts';
import type { Fault, LeaseName } from '../values.ts';

/** Settings for executing ManifestWorks. */
export interface WorksConfig {
  /** The Lease by which replicas elect the one that executes works. */
  readonly lease: LeaseName;
  /**
   * Names of ManagedClusterSets; works of their clusters are executed. An annotation of a ManagedCluster, where it
   * exists, decides instead.
   */
  readonly clusterSets: readonly string[];
  /**
   * The ServiceAccount that clusters see for works without an executor. `deny` refuses such works, `gateway` writes
   * them with the gateway's own rights.
   */
  readonly defaultExecutor: AccountName | 'deny' | 'gateway';
  /**
   * Address of the hub for the hash by which OCM marks the hub's works in a cluster; undefined means the address by
   * which the gateway reaches the hub.
   */
  readonly hubUrl: string | undefined;
  /** Name of this executor in AppliedManifestWorks; undefined means a name made from the hub's address. */
  readonly agentId: string | undefined;
  /**
   * When a work is missing on the hub, its objects in the cluster are kept for so many milliseconds; Infinity: for
   * ever.
   */
  readonly evictionGraceMs: number;
  readonly holdOnDenied: boolean;
  readonly rawJson: boolean;
}

/** The settings for ManifestWorks as the operator wrote them, before they are checked. */
export interface WorksInput {
  readonly executeWorks?: boolean;
  readonly worksLease?: string;
  readonly worksClusterSets?: string;
  readonly worksDefaultExecutor?: string;
  readonly worksHubUrl?: string;
  readonly worksAgentId?: string;
  readonly worksEvictionGrace?: string;
  readonly worksHoldOnDenied?: boolean;
  readonly worksRawFeedback?: boolean;
}

/** Schema of the settings for ManifestWorks in the configuration file. */
export const worksFileFields = {
  executeWorks: z.boolean().optional(),
  worksLease: z.string().optional(),
  worksClusterSets: z.string().optional(),
  worksDefaultExecutor: z.string().optional(),
  worksHubUrl: z.string().optional(),
  worksAgentId: z.string().optional(),
  worksEvictionGrace: z.string().optional(),
  worksHoldOnDenied: z.boolean().optional(),
  worksRawFeedback: z.boolean().optional(),
};

export const defaultWorksLease = 'portcullis-system/portcullis-works';
/**
 * The ServiceAccount of OCM's own work agent. By default works are executed as this account, so that they have the same
 * rights as with OCM.
 */
export const defaultWorksExecutor = 'open-cluster-management-agent/klusterlet-work-sa';

const flags = [
  ['--works-lease', 'worksLease'],
  ['--works-cluster-sets', 'worksClusterSets'],
  ['--works-default-executor', 'worksDefaultExecutor'],
  ['--works-hub-url', 'worksHubUrl'],
  ['--works-agent-id', 'worksAgentId'],
  ['--works-eviction-grace', 'worksEvictionGrace'],
  ['--works-hold-on-denied', 'worksHoldOnDenied'],
  ['--works-raw-feedback', 'worksRawFeedback'],
] as const;

/**
 * Checks the settings for executing ManifestWorks; undefined when works are not executed. `fault` is called for each
 * setting that is wrong.  @param given the flags, or where a flag is absent the configuration file  @param inPodHub
 * true when the hub is the cluster of the gateway's own pod
 */
export function readWorksConfig(given: WorksInput, inPodHub: boolean, fault: Fault): WorksConfig | undefined {
  if (given.executeWorks !== true) {
    for (const [flag, key] of flags)
      if (given[key] !== undefined) fault(flag, 'is only used with --execute-works: add that flag, or remove this one');
    return undefined;
  }
  const { worksHubUrl: hubUrl, worksAgentId: agentId } = given;
  // Inside pods, all hubs have the same address (the Service `kubernetes`). With that address, the gateways of two hubs
  // would take each other's works in a common cluster for their own.
  if (inPodHub && hubUrl === undefined)
    fault('--works-hub-url', 'must be given in a pod: the address of the hub as clusters see it');
  return Object.freeze({
    lease: readLease('--works-lease', given.worksLease ?? defaultWorksLease, fault),
    clusterSets: listOf(given.worksClusterSets),
    defaultExecutor: readExecutor(given.worksDefaultExecutor ?? defaultWorksExecutor, fault),
    hubUrl,
    agentId,
    evictionGraceMs: readGrace(given.worksEvictionGrace ?? '60m', fault),
    holdOnDenied: given.worksHoldOnDenied ?? false,
    rawJson: given.worksRawFeedback ?? false,
  });
}

function readExecutor(text: string, fault: Fault): WorksConfig['defaultExecutor'] {
  if (text === 'deny' || text === 'gateway') return text;
  const [namespace = '', name = '', ...rest] = text.split('/');
  const account = rest.length > 0 ? undefined : splitAccountName(accountUserName({ namespace, name }));
  if (account === undefined)
    fault('--works-default-executor', `"${text}" is not deny, gateway or NAMESPACE/NAME of a ServiceAccount`);
  return account ?? 'deny';
}

function readGrace(text: string, fault: Fault): number {
  if (text === 'never') return Infinity;
  const parsed = parseDuration(text);
  if (parsed === undefined) fault('--works-eviction-grace', `"${text}" is not a duration, for example 60m, or never`);
  return parsed ?? Infinity;
}
