// What a policy may ask for beyond Clusterpedia's fields. It stands in annotations, so that the type stays
// Clusterpedia's and Clusterpedia ignores it.
import type { HubObject, WatchedResource } from '../../cache/hub/hub-types.ts';

const prefix = 'import.portcullis.io';

/** Whether PediaClusters follow everything that the template prints, and not only their address and credentials. */
export function followsTemplate({ metadata: { annotations = {} } }: HubObject): boolean {
  return annotations[`${prefix}/follow-template`] === 'true';
}

/**
 * Selectors that the hub applies, so that no other objects are held in memory.
 * @param of `source`, or `references.KEY`
 */
export function selectorsOf(
  { metadata: { annotations = {} } }: HubObject,
  of: string,
): Pick<WatchedResource, 'labelSelector' | 'fieldSelector'> {
  const labelSelector = annotations[`${prefix}/label-selector.${of}`] ?? '';
  const fieldSelector = annotations[`${prefix}/field-selector.${of}`] ?? '';
  return {
    ...(labelSelector === '' ? {} : { labelSelector }),
    ...(fieldSelector === '' ? {} : { fieldSelector }),
  };
}
