// The section of the configuration about clusters that join by a ClusterJoin object. ClusterJoins are off by default,
// since the gateway then writes to the hub and to the clusters that join.
import { namespacedName, namespaces, onOff } from '../settings/kinds.ts';
import type { NamespacedName } from '../settings/kinds.ts';
import { readSettings, refuseUnused } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';
import type { SourceName } from '../settings/source-names.ts';

/** Settings for ClusterJoin objects of the hub, when the operator has switched them on. */
export interface JoinsConfig {
  /** The Lease by which replicas elect the one that carries out ClusterJoins. */
  readonly lease: NamespacedName;
  /** Namespaces of the hub in which a Cluster of Cluster API with the label gets a ClusterJoin; empty: in none. */
  readonly bootstrapNamespaces: readonly string[];
}

/** The settings for ClusterJoins. */
export const joinsSettings = {
  clusterJoins: {
    kind: onOff,
    default: false,
    text: 'let clusters [join and leave](../how-to/join-a-cluster.md) by ClusterJoin objects; writes to the hub and to these clusters',
  },
  joinsLease: {
    kind: namespacedName,
    default: 'portcullis-system/portcullis-joins',
    text: 'Lease of the replica that does so',
  },
  joinsBootstrapNamespaces: {
    kind: namespaces,
    default: [],
    otherwise: 'none',
    text: 'namespaces whose Clusters of Cluster API [join by a label](../how-to/join-a-cluster.md#clusters-of-cluster-api); elsewhere the label does nothing',
  },
} satisfies Settings;

/**
 * Reads the settings for ClusterJoins; undefined when they are off. `written.fault` is called for each setting that is
 * wrong.
 * @param sources where clusters come from
 */
export function readJoinsConfig(written: Written, sources: readonly SourceName[]): JoinsConfig | undefined {
  const { clusterJoins, joinsLease: lease, joinsBootstrapNamespaces } = readSettings(joinsSettings, written);
  if (!clusterJoins) {
    refuseUnused(joinsSettings, 'clusterJoins', written);
    return undefined;
  }
  if (!sources.includes('cluster-gateway'))
    written.fault(
      '--cluster-joins',
      'registers clusters by Secrets of the source cluster-gateway: add it to --sources',
    );
  return Object.freeze({ lease, bootstrapNamespaces: joinsBootstrapNamespaces });
}
