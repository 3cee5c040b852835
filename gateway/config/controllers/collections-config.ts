// The section of the configuration about CollectionResource objects of the hub. They are off by default, since their
// status is written to the hub.
import { z } from 'zod';
import { readLease } from '../values.ts';
import type { Fault, LeaseName } from '../values.ts';

/** Settings of the hub's CollectionResource objects when these define collections. */
export interface CollectionsConfig {
  /** The Lease by which replicas elect the one that writes their status. */
  readonly lease: LeaseName;
}

/** The settings of CollectionResource objects as the operator wrote them, before they are checked. */
export interface CollectionsInput {
  readonly hubCollections?: boolean;
  readonly collectionsLease?: string;
}

/** Schema of these settings in the configuration file. */
export const collectionsFileFields = {
  hubCollections: z.boolean().optional(),
  collectionsLease: z.string().min(1).optional(),
};

export const defaultCollectionsLease = 'portcullis-system/portcullis-collections';

/**
 * Checks these settings; undefined when objects of the hub define no collections. `fault` is called for each one that
 * is wrong.
 * @param given the flags, or where a flag is absent the configuration file
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
