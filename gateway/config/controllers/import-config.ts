// The section of the configuration about import policies. They are off by default, since they write to the hub.
import { z } from 'zod';
import type { Fault } from '../values.ts';

/** Import policies that are in effect. */
export interface ImportConfig {
  /** Of the Leases that tell who writes. */
  readonly namespace: string;
  /** Which PediaClusters are this gateway's. */
  readonly shardingName: string;
}

/** What a person may write. */
export interface ImportInput {
  readonly importPolicies?: boolean;
  readonly clusterpediaNamespace?: string;
  readonly shardingName?: string;
}

/** The same in the configuration file. */
export const importFileFields = {
  importPolicies: z.boolean().optional(),
  clusterpediaNamespace: z.string().min(1).optional(),
  shardingName: z.string().optional(),
};

export const defaultClusterpediaNamespace = 'clusterpedia-system';

const namespaceForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Undefined while they are off. @param given flags over file */
export function readImportConfig(given: ImportInput, fault: Fault): ImportConfig | undefined {
  const { importPolicies = false, clusterpediaNamespace, shardingName } = given;
  if (!importPolicies) {
    for (const [flag, value] of [
      ['--clusterpedia-namespace', clusterpediaNamespace],
      ['--sharding-name', shardingName],
    ] as const)
      if (value !== undefined) fault(flag, 'goes with --import-policies');
    return undefined;
  }
  const namespace = clusterpediaNamespace ?? defaultClusterpediaNamespace;
  if (!namespaceForm.test(namespace)) fault('--clusterpedia-namespace', `"${namespace}" is not a namespace name`);
  return Object.freeze({ namespace, shardingName: shardingName ?? '' });
}
