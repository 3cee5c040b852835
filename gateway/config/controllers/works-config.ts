// The section of the configuration about ManifestWorks that the gateway executes. It is off by default, since it writes
// to the hub and to the clusters.
import { z } from 'zod';
import { splitAccountName, accountUserName } from '../../../auth/callers/reserved.ts';
import type { AccountName } from '../../../auth/callers/reserved.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { listOf } from '../values.ts';
import type { Fault } from '../values.ts';

/** How works are executed. */
export interface WorksConfig {
  /** Of the Lease that tells which replica executes. */
  readonly lease: { readonly namespace: string; readonly name: string };
  /** ManagedClusterSets whose clusters' works are executed, beside clusters with the annotation. */
  readonly clusterSets: readonly string[];
  /** As whom works without an executor are written. */
  readonly defaultExecutor: AccountName | 'deny' | 'gateway';
  /** Address of the hub from which OCM's hash of it is made; undefined: the one by which the gateway reaches it. */
  readonly hubUrl: string | undefined;
  /** Name of this executor in AppliedManifestWorks; undefined: made of the hub's address. */
  readonly agentId: string | undefined;
  /** How long what was applied for a work is kept that is missing on the hub; Infinity: for ever. */
  readonly evictionGraceMs: number;
  readonly holdOnDenied: boolean;
  readonly rawJson: boolean;
}

/** What a person may write. */
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

/** The same in the configuration file. */
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
/** The account of OCM's own agent, so that works find the rights that they have there. */
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
 * Undefined while works are not executed.
 * @param given flags over file
 * @param inPodHub true when the hub is the cluster of the gateway's own pod
 */
export function readWorksConfig(given: WorksInput, inPodHub: boolean, fault: Fault): WorksConfig | undefined {
  if (given.executeWorks !== true) {
    for (const [flag, key] of flags) if (given[key] !== undefined) fault(flag, 'goes with --execute-works');
    return undefined;
  }
  const { worksHubUrl: hubUrl, worksAgentId: agentId } = given;
  // Every hub has the same address for its own pods, and two hubs of one member must not take each other's works.
  if (inPodHub && hubUrl === undefined)
    fault('--works-hub-url', 'must be given in a pod: the address of the hub as clusters see it');
  return Object.freeze({
    lease: readLease(given.worksLease ?? defaultWorksLease, fault),
    clusterSets: listOf(given.worksClusterSets),
    defaultExecutor: readExecutor(given.worksDefaultExecutor ?? defaultWorksExecutor, fault),
    hubUrl,
    agentId,
    evictionGraceMs: readGrace(given.worksEvictionGrace ?? '60m', fault),
    holdOnDenied: given.worksHoldOnDenied ?? false,
    rawJson: given.worksRawFeedback ?? false,
  });
}

function readLease(text: string, fault: Fault): WorksConfig['lease'] {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace === '' || name === '' || rest.length > 0) fault('--works-lease', `"${text}" is not NAMESPACE/NAME`);
  return { namespace, name };
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
