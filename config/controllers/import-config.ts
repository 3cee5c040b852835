// The section of the configuration about import policies, by which the gateway creates PediaClusters. They are off by
// default, since the gateway then writes to the hub.
import { z } from 'zod';
import { refuseUnused } from '../values/values.ts';
import type { Fault, Given } from '../values/values.ts';

/** The settings of import policies when these are in effect. */
export interface ImportConfig {
  /** Namespace of the Leases by which replicas elect the one that writes to the hub. */
  readonly namespace: string;
  /**
   * The sharding name of this gateway (Clusterpedia's term); '' for none. The gateway handles only PediaClusters with
   * the same sharding name.
   */
  readonly shardingName: string;
}

/** Schema of the settings of import policies in the configuration file. */
export const importFileFields = {
  importPolicies: z.boolean().optional(),
  clusterpediaNamespace: z.string().min(1).optional(),
  shardingName: z.string().optional(),
};

/** The settings of import policies as the operator wrote them, before they are checked. */
export type ImportInput = Given<typeof importFileFields>;

export const defaultClusterpediaNamespace = 'clusterpedia-system';

const namespaceForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Checks the settings of import policies; undefined when they are off. `fault` is called for each setting that is
 * wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 */
export function readImportConfig(given: ImportInput, fault: Fault): ImportConfig | undefined {
  const { importPolicies = false, clusterpediaNamespace, shardingName } = given;
  if (!importPolicies) {
    refuseUnused(given, importFileFields, 'importPolicies', fault);
    return undefined;
  }
  const namespace = clusterpediaNamespace ?? defaultClusterpediaNamespace;
  if (!namespaceForm.test(namespace)) fault('--clusterpedia-namespace', `"${namespace}" is not a namespace name`);
  return Object.freeze({ namespace, shardingName: shardingName ?? '' });
}
