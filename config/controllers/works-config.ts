// The section of the configuration about ManifestWorks that the gateway executes. Execution is off by default, since
// the gateway then writes to the hub and to the clusters.
import { z } from 'zod';
import { splitAccountName, accountUserName } from '../../auth/callers/reserved.ts';
import type { AccountName } from '../../auth/callers/reserved.ts';
import { duration, list, namespacedName, onOff, text, whole } from '../settings/kinds.ts';
import type { NamespacedName } from '../settings/kinds.ts';
import { readSettings, refuseUnused } from '../settings/settings.ts';
import type { Kind, Settings, Written } from '../settings/settings.ts';

/** Settings for executing ManifestWorks. */
export interface WorksConfig {
  /** The Lease by which replicas elect the one that executes works. */
  readonly lease: NamespacedName;
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
   * Whether ManifestWorks are executed even if it is not proven which user changed them last; the check of that user's
   * rights can then be evaded. Insecure: only for hubs before Kubernetes 1.36, which cannot record the user
   * (MutatingAdmissionPolicy).
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

type Executor = WorksConfig['defaultExecutor'];

const executor: Kind<Executor> = {
  placeholder: '<account>',
  file: z.string(),
  read: (written, place) => {
    if (written === 'deny' || written === 'gateway') return written;
    const [ofNamespace = '', name = '', ...rest] = String(written).split('/');
    const account = rest.length > 0 ? undefined : splitAccountName(accountUserName({ namespace: ofNamespace, name }));
    return account ?? place.fault(`"${String(written)}" is not deny, gateway or NAMESPACE/NAME of a ServiceAccount`);
  },
};

const hundredYearsMs = 100 * 365 * 24 * 3_600_000;
const anyGrace = duration({ example: '60m, or never' });
/** A duration, or `never` for Infinity. A hundred years or more mean for ever, as for OCM's agent. */
const grace: Kind<number> = {
  ...anyGrace,
  read: (written, place) => {
    const value = written === 'never' ? Infinity : anyGrace.read(written, place);
    return value !== undefined && value >= hundredYearsMs ? Infinity : value;
  },
};

/** The settings for ManifestWorks. */
export const worksSettings = {
  executeWorks: {
    kind: onOff,
    default: false,
    text: "execute OCM's [ManifestWorks](../how-to/distribute.md) in clusters that are chosen for it; writes to the hub and to these clusters",
  },
  worksClusterSets: {
    kind: list(),
    default: [],
    otherwise: 'by annotation alone',
    text: 'ManagedClusterSets whose clusters are chosen, beside ManagedClusters with the annotation',
  },
  worksDefaultExecutor: {
    kind: executor,
    default: 'deny',
    text: 'as whom works without an executor are written: `NAMESPACE/NAME` of a ServiceAccount, `deny`, or `gateway` for its own credential',
  },
  worksAcceptUnstamped: {
    kind: onOff,
    default: false,
    text: 'weak: execute works although [it is not proven who changed them last](../how-to/distribute.md#as-whom)',
  },
  worksHubUrl: {
    kind: text,
    placeholder: '<url>',
    otherwise: 'the address of `hubKubeconfig`; in a pod it must be given',
    text: 'address of the hub as clusters see it, by whose hash records are named',
  },
  worksAgentId: {
    kind: text,
    placeholder: '<id>',
    otherwise: "made of the hub's address",
    text: 'name of this executor in records',
  },
  worksLease: {
    kind: namespacedName,
    default: 'portcullis-system/portcullis-works',
    text: 'Lease of the replica that executes',
  },
  worksEvictionGrace: {
    kind: grace,
    default: '60m',
    text: 'how long what was applied is kept whose work is gone; `never` for ever',
  },
  worksHoldOnDenied: {
    kind: onOff,
    default: false,
    text: 'keep objects whose executor may not delete them any more',
  },
  worksRawFeedback: { kind: onOff, default: false, text: 'feed objects and lists back as JSON text' },
  worksHistory: {
    kind: whole({ most: 99 }),
    default: 10,
    text: 'how many executed specs a work keeps to go back to; `0`: none',
  },
} satisfies Settings;

/**
 * Reads the settings for executing ManifestWorks; undefined when works are not executed. `written.fault` is called for
 * each setting that is wrong.
 * @param inPodHub true when the hub is the cluster of the gateway's own pod
 */
export function readWorksConfig(written: Written, inPodHub: boolean): WorksConfig | undefined {
  const given = readSettings(worksSettings, written);
  if (!given.executeWorks) {
    refuseUnused(worksSettings, 'executeWorks', written);
    return undefined;
  }
  // As seen from its own pods, every hub has the same address (the Service `kubernetes`). The marks in clusters are
  // made from this address, so two gateways of different hubs would treat each other's works in a common cluster as
  // their own.
  if (inPodHub && given.worksHubUrl === undefined)
    written.fault('--works-hub-url', 'must be given in a pod: the address of the hub as clusters see it');
  return Object.freeze({
    lease: given.worksLease,
    clusterSets: given.worksClusterSets,
    defaultExecutor: given.worksDefaultExecutor,
    acceptUnstamped: given.worksAcceptUnstamped,
    hubUrl: given.worksHubUrl,
    agentId: given.worksAgentId,
    evictionGraceMs: given.worksEvictionGrace,
    holdOnDenied: given.worksHoldOnDenied,
    rawJson: given.worksRawFeedback,
    historyLimit: given.worksHistory,
  });
}
