// The section of the configuration about clusters that join by a ClusterJoin object. ClusterJoins are off by default,
// since the gateway then writes to the hub and to the clusters that join.
import { z } from 'zod';
import { readLease } from '../values.ts';
import type { Fault, LeaseName } from '../values.ts';
import type { SourceName } from '../source-names.ts';

/** Settings for ClusterJoin objects of the hub, when the operator has switched them on. */
export interface JoinsConfig {
  /** The Lease by which replicas elect the one that carries out ClusterJoins. */
  readonly lease: LeaseName;
}

/** The settings of ClusterJoins as the operator wrote them, before they are checked. */
export interface JoinsInput {
  readonly clusterJoins?: boolean;
  readonly joinsLease?: string;
}

/** Schema of the settings for ClusterJoins in the configuration file. */
export const joinsFileFields = {
  clusterJoins: z.boolean().optional(),
  joinsLease: z.string().min(1).optional(),
};

export const defaultJoinsLease = 'portcullis-system/portcullis-joins';

/**
 * Checks the settings for ClusterJoins; undefined when they are off. `fault` is called for each setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
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
