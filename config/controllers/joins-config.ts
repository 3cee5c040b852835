// The section of the configuration about clusters that join by a ClusterJoin object. ClusterJoins are off by default,
// since the gateway then writes to the hub and to the clusters that join.
import { z } from 'zod';
import { isLabel } from '../../lib/objects/api-names.ts';
import { listOf, readLease } from '../values/values.ts';
import type { Fault, LeaseName } from '../values/values.ts';
import type { SourceName } from '../values/source-names.ts';

/** Settings for ClusterJoin objects of the hub, when the operator has switched them on. */
export interface JoinsConfig {
  /** The Lease by which replicas elect the one that carries out ClusterJoins. */
  readonly lease: LeaseName;
  /** Namespaces of the hub in which a Cluster of Cluster API with the label gets a ClusterJoin; empty: in none. */
  readonly bootstrapNamespaces: readonly string[];
}

/** The settings of ClusterJoins as the operator wrote them, before they are checked. */
export interface JoinsInput {
  readonly clusterJoins?: boolean;
  readonly joinsLease?: string;
  readonly joinsBootstrapNamespaces?: string;
}

/** Schema of the settings for ClusterJoins in the configuration file. */
export const joinsFileFields = {
  clusterJoins: z.boolean().optional(),
  joinsLease: z.string().min(1).optional(),
  joinsBootstrapNamespaces: z.string().optional(),
};

export const defaultJoinsLease = 'portcullis-system/portcullis-joins';
const bootstrapFlag = '--joins-bootstrap-namespaces';

/**
 * Checks the settings for ClusterJoins; undefined when they are off. `fault` is called for each setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 * @param sources where clusters come from
 */
export function readJoinsConfig(
  { clusterJoins, joinsLease, joinsBootstrapNamespaces }: JoinsInput,
  sources: readonly SourceName[],
  fault: Fault,
): JoinsConfig | undefined {
  if (clusterJoins !== true) {
    for (const [flag, value] of [
      ['--joins-lease', joinsLease],
      [bootstrapFlag, joinsBootstrapNamespaces],
    ] as const)
      if (value !== undefined) fault(flag, 'is only used with --cluster-joins: add that flag, or remove this one');
    return undefined;
  }
  if (!sources.includes('cluster-gateway'))
    fault('--cluster-joins', 'registers clusters by Secrets of the source cluster-gateway: add it to --sources');
  const bootstrapNamespaces = listOf(joinsBootstrapNamespaces);
  for (const name of bootstrapNamespaces) if (!isLabel(name)) fault(bootstrapFlag, `"${name}" is not a namespace name`);
  const lease = readLease('--joins-lease', joinsLease ?? defaultJoinsLease, fault);
  return Object.freeze({ lease, bootstrapNamespaces });
}
