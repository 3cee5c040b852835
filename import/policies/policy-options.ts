// Reads what a policy may ask for beyond Clusterpedia's fields. It is in annotations, so that Clusterpedia's type needs
// no change and Clusterpedia ignores it.
import type { HubObject, WatchedResource } from '../../cache/hub/hub-types.ts';

const prefix = 'import.portcullis.io';

/** Whether PediaClusters follow everything that the template prints, and not only address and credentials. */
export function followsTemplate({ metadata: { annotations = {} } }: HubObject): boolean {
  return annotations[`${prefix}/follow-template`] === 'true';
}

/**
 * Returns the selectors by which the hub filters the objects of a type, so that the gateway holds no others in memory.
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
