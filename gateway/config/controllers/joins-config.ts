// The section of the configuration about clusters that join by a ClusterJoin object. It is off by default, since the
// gateway then writes to the hub and to these clusters.
import { z } from 'zod';
import { readLease } from '../values.ts';
import type { Fault, LeaseName } from '../values.ts';
import type { SourceName } from '../source-names.ts';

/** Settings of the hub's ClusterJoin objects. */
export interface JoinsConfig {
  /** The Lease by which replicas elect the one that looks after them. */
  readonly lease: LeaseName;
}

/** The settings of ClusterJoins as the operator wrote them, before they are checked. */
export interface JoinsInput {
  readonly clusterJoins?: boolean;
  readonly joinsLease?: string;
}

/** Schema of these settings in the configuration file. */
export const joinsFileFields = {
  clusterJoins: z.boolean().optional(),
  joinsLease: z.string().min(1).optional(),
};

export const defaultJoinsLease = 'portcullis-system/portcullis-joins';

/**
 * Checks these settings; undefined when clusters do not join by objects. `fault` is called for each one that is wrong.
 * @param given the flags, or where a flag is absent the configuration file
 * @param sources where clusters come from
 */
export function readJoinsConfig(
  { clusterJoins, joinsLease }: JoinsInput,
  sources: readonly SourceName[],
  fault: Fault,
): JoinsConfig | undefined {
  if (clusterJoins !== true) {
    if (joinsLease !== undefined)
      fault('--joins-lease', 'is only used with --cluster-joins: add that flag, or remove this one');
    return undefined;
  }
  if (!sources.includes('cluster-gateway'))
    fault('--cluster-joins', 'registers clusters by Secrets of the source cluster-gateway: add it to --sources');
  return Object.freeze({ lease: readLease('--joins-lease', joinsLease ?? defaultJoinsLease, fault) });
}
