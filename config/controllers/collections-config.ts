// The section of the configuration about CollectionResource objects of the hub, which define collections of the index.
// They are ignored by default, since the gateway would have to write their status to the hub.
import { z } from 'zod';
import { readLease } from '../values/values.ts';
import type { Fault, Given, LeaseName } from '../values/values.ts';

/** Settings for CollectionResource objects of the hub, when the operator has switched them on. */
export interface CollectionsConfig {
  /** The Lease by which replicas elect the one that writes the status of CollectionResources. */
  readonly lease: LeaseName;
}

/** Schema of the settings for CollectionResources in the configuration file. */
export const collectionsFileFields = {
  hubCollections: z.boolean().optional(),
  collectionsLease: z.string().min(1).optional(),
};

/** The settings of CollectionResource objects as the operator wrote them, before they are checked. */
export type CollectionsInput = Given<typeof collectionsFileFields>;

export const defaultCollectionsLease = 'portcullis-system/portcullis-collections';

/**
 * Checks the settings for CollectionResources; undefined when the operator has not switched them on. `fault` is called
 * for each setting that is wrong.
 * @param given value of the flag, or of the configuration file when the flag is absent
 */
export function readCollectionsConfig(
  { hubCollections, collectionsLease }: CollectionsInput,
  fault: Fault,
): CollectionsConfig | undefined {
  if (hubCollections === true)
    return Object.freeze({
      lease: readLease('--collections-lease', collectionsLease ?? defaultCollectionsLease, fault),
    });
  if (collectionsLease !== undefined) fault('--collections-lease', 'goes with --hub-collections');
  return undefined;
}
