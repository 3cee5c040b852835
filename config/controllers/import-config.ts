// The section of the configuration about import policies, by which the gateway creates PediaClusters. They are off by
// default, since the gateway then writes to the hub.
import { anyText, namespace, onOff } from '../settings/kinds.ts';
import { readSettings, refuseUnused } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';

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

/** The settings of import policies. */
export const importSettings = {
  importPolicies: {
    kind: onOff,
    default: false,
    text: "put Clusterpedia's [import policies](../how-to/import-policies.md) into effect and update the status of PediaClusters; writes to the hub",
  },
  clusterpediaNamespace: {
    kind: namespace,
    default: 'clusterpedia-system',
    text: 'namespace of the Leases of the replica that does so',
  },
  shardingName: {
    kind: anyText,
    placeholder: '<name>',
    default: '',
    otherwise: 'those without one',
    text: 'take only PediaClusters with this `spec.shardingName`',
  },
} satisfies Settings;

/**
 * Reads the settings of import policies; undefined when they are off. `written.fault` is called for each setting that
 * is wrong.
 */
export function readImportConfig(written: Written): ImportConfig | undefined {
  const { importPolicies, clusterpediaNamespace, shardingName } = readSettings(importSettings, written);
  if (importPolicies) return Object.freeze({ namespace: clusterpediaNamespace, shardingName });
  refuseUnused(importSettings, 'importPolicies', written);
  return undefined;
}
