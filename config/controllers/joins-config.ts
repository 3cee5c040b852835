// The section of the configuration about clusters that join by a ClusterJoin object. ClusterJoins are off by default,
// since the gateway then writes to the hub and to the clusters that join.
import { z } from 'zod';
import { isLabel } from '../../lib/objects/api-names.ts';
import { listOf, readLease, refuseUnused } from '../values/values.ts';
import type { Fault, Given, LeaseName } from '../values/values.ts';
import type { SourceName } from '../values/source-names.ts';

/** Settings for ClusterJoin objects of the hub, when the operator has switched them on. */
export interface JoinsConfig {
  /** The Lease by which replicas elect the one that carries out ClusterJoins. */
  readonly lease: LeaseName;
  /** Namespaces of the hub in which a Cluster of Cluster API with the label gets a ClusterJoin; empty: in none. */
  readonly bootstrapNamespaces: readonly string[];
}

/** Schema of the settings for ClusterJoins in the configuration file. */
export const joinsFileFields = {
  clusterJoins: z.boolean().optional(),
  joinsLease: z.string().min(1).optional(),
  joinsBootstrapNamespaces: z.string().optional(),
};

/** The settings of ClusterJoins as the operator wrote them, before they are checked. */
export type JoinsInput = Given<typeof joinsFileFields>;

export const defaultJoinsLease = 'portcullis-system/portcullis-joins';

/**
 * Checks the settings for ClusterJoins; undefined when they are off. `fault` is called for each setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 * @param sources where clusters come from
 */
export function readJoinsConfig(
  given: JoinsInput,
  sources: readonly SourceName[],
  fault: Fault,
): JoinsConfig | undefined {
  const { clusterJoins, joinsLease, joinsBootstrapNamespaces } = given;
  if (clusterJoins !== true) {
    refuseUnused(given, joinsFileFields, 'clusterJoins', fault);
    return undefined;
  }
  if (!sources.includes('cluster-gateway'))
    fault('--cluster-joins', 'registers clusters by Secrets of the source cluster-gateway: add it to --sources');
  const bootstrapNamespaces = listOf(joinsBootstrapNamespaces);
  for (const name of bootstrapNamespaces)
    if (!isLabel(name)) fault('--joins-bootstrap-namespaces', `"${name}" is not a namespace name`);
  const lease = readLease('--joins-lease', joinsLease ?? defaultJoinsLease, fault);
  return Object.freeze({ lease, bootstrapNamespaces });
}
