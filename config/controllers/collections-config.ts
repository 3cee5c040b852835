// The section of the configuration about CollectionResource objects of the hub, which define collections of the index.
// They are ignored by default, since the gateway would have to write their status to the hub.
import { namespacedName, onOff } from '../settings/kinds.ts';
import type { NamespacedName } from '../settings/kinds.ts';
import { readSettings, refuseUnused } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';

/** Settings for CollectionResource objects of the hub, when the operator has switched them on. */
export interface CollectionsConfig {
  /** The Lease by which replicas elect the one that writes the status of CollectionResources. */
  readonly lease: NamespacedName;
}

/** The settings for CollectionResources. */
export const collectionsSettings = {
  hubCollections: {
    kind: onOff,
    default: false,
    text: 'CollectionResource objects (index.portcullis.io) of the hub define [collections](index.md#collections) of the index; their status is written to the hub',
  },
  collectionsLease: {
    kind: namespacedName,
    default: 'portcullis-system/portcullis-collections',
    text: 'Lease of the replica that writes their status',
  },
} satisfies Settings;

/**
 * Reads the settings for CollectionResources; undefined when the operator has not switched them on. `written.fault` is
 * called for each setting that is wrong.
 */
export function readCollectionsConfig(written: Written): CollectionsConfig | undefined {
  const { hubCollections, collectionsLease: lease } = readSettings(collectionsSettings, written);
  if (hubCollections) return Object.freeze({ lease });
  refuseUnused(collectionsSettings, 'hubCollections', written);
  return undefined;
}
