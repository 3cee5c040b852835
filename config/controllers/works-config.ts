// The section of the configuration about ManifestWorks that the gateway executes. Execution is off by default, since
// the gateway then writes to the hub and to the clusters.
import { z } from 'zod';
import { splitAccountName, accountUserName } from '../../auth/callers/reserved.ts';
import type { AccountName } from '../../auth/callers/reserved.ts';
import { parseDuration } from '../../lib/duration.ts';
import { listOf, readLease, refuseUnused } from '../values/values.ts';
import type { Fault, Given, LeaseName } from '../values/values.ts';

/** Settings for executing ManifestWorks. */
export interface WorksConfig {
  /** The Lease by which replicas elect the one that executes works. */
  readonly lease: LeaseName;
  /**
   * Names of ManagedClusterSets; the gateway executes the ManifestWorks of the clusters in these sets. Where a
   * ManagedCluster has an annotation about execution, the annotation decides instead of this list.
   */
  readonly clusterSets: readonly string[];
  /**
   * The ServiceAccount as which ManifestWorks that name no executor are written to a cluster. `deny` refuses such
   * works; `gateway` writes them with the gateway's own rights.
   */
  readonly defaultExecutor: AccountName | 'deny' | 'gateway';
  /**
   * Address of the hub from which the hash is made that marks the hub's works in a cluster, as in OCM; undefined means
   * the address by which the gateway reaches the hub.
   */
  readonly hubUrl: string | undefined;
  /**
   * Whether works are executed although it is not proven who changed them last, so that nobody can be asked about.
   * Weak: for hubs that cannot write that down (Kubernetes before 1.36).
   */
  readonly acceptUnstamped: boolean;
  /**
   * Name of this gateway in the `agentID` of AppliedManifestWorks; undefined means a name made from the hub's address.
   */
  readonly agentId: string | undefined;
  /**
   * When a ManifestWork is missing on the hub, the objects that it applied in the cluster are kept for this many
   * milliseconds; Infinity means for ever.
   */
  readonly evictionGraceMs: number;
  readonly holdOnDenied: boolean;
  readonly rawJson: boolean;
  /** How many specs of a ManifestWork that were executed are kept in an annotation of the work; 0 means none. */
  readonly historyLimit: number;
}

/** Schema of the settings for ManifestWorks in the configuration file. */
export const worksFileFields = {
  executeWorks: z.boolean().optional(),
  worksLease: z.string().optional(),
  worksClusterSets: z.string().optional(),
  worksDefaultExecutor: z.string().optional(),
  worksAcceptUnstamped: z.boolean().optional(),
  worksHubUrl: z.string().optional(),
  worksAgentId: z.string().optional(),
  worksEvictionGrace: z.string().optional(),
  worksHoldOnDenied: z.boolean().optional(),
  worksRawFeedback: z.boolean().optional(),
  worksHistory: z.string().optional(),
};

/** The settings for ManifestWorks as the operator wrote them, before they are checked. */
export type WorksInput = Given<typeof worksFileFields>;

export const defaultWorksLease = 'portcullis-system/portcullis-works';
/** Nobody: who makes a work says as whom it is executed, and is asked for the right to. */
export const defaultWorksExecutor = 'deny';

/**
 * Checks the settings for executing ManifestWorks; undefined when works are not executed. `fault` is called for each
 * setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 * @param inPodHub true when the hub is the cluster of the gateway's own pod
 */
export function readWorksConfig(given: WorksInput, inPodHub: boolean, fault: Fault): WorksConfig | undefined {
  if (given.executeWorks !== true) {
    refuseUnused(given, worksFileFields, 'executeWorks', fault);
    return undefined;
  }
  const { worksHubUrl: hubUrl, worksAgentId: agentId } = given;
  // As seen from its own pods, every hub has the same address (the Service `kubernetes`). With that address, two
  // gateways of different hubs would take each other's works in a common cluster for their own.
  if (inPodHub && hubUrl === undefined)
    fault('--works-hub-url', 'must be given in a pod: the address of the hub as clusters see it');
  return Object.freeze({
    lease: readLease('--works-lease', given.worksLease ?? defaultWorksLease, fault),
    clusterSets: listOf(given.worksClusterSets),
    defaultExecutor: readExecutor(given.worksDefaultExecutor ?? defaultWorksExecutor, fault),
    acceptUnstamped: given.worksAcceptUnstamped ?? false,
    hubUrl,
    agentId,
    evictionGraceMs: readGrace(given.worksEvictionGrace ?? '60m', fault),
    holdOnDenied: given.worksHoldOnDenied ?? false,
    rawJson: given.worksRawFeedback ?? false,
    historyLimit: readHistoryLimit(given.worksHistory ?? '10', fault),
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

function readHistoryLimit(text: string, fault: Fault): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  fault('--works-history', `"${text}" is not a number from 0 to 99`);
  return 0;
}

const hundredYearsMs = 100 * 365 * 24 * 3_600_000;

function readGrace(text: string, fault: Fault): number {
  if (text === 'never') return Infinity;
  const parsed = parseDuration(text);
  if (parsed === undefined) fault('--works-eviction-grace', `"${text}" is not a duration, for example 60m, or never`);
  // A hundred years or more mean for ever, as for OCM's agent.
  return parsed === undefined || parsed >= hundredYearsMs ? Infinity : parsed;
}
