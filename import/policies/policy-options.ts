// Reads the options that a ClusterImportPolicy may have beyond Clusterpedia's fields. They are in annotations, so that
// Clusterpedia's type needs no change and Clusterpedia itself ignores them.
import type { ApiObject, WatchedResource } from '../../kube/types.ts';

const prefix = 'import.portcullis.io';

/**
 * Whether PediaClusters of this ClusterImportPolicy are updated with everything that the template prints, and not only
 * with address and credentials.
 */
export function followsTemplate({ metadata: { annotations = {} } }: ApiObject): boolean {
  return annotations[`${prefix}/follow-template`] === 'true';
}

/**
 * Returns the selectors with which the hub lists and watches the objects of a type, so that the gateway holds only
 * these objects in memory.
 * @param of which type: `source`, or `references.KEY`
 */
export function selectorsOf(
  { metadata: { annotations = {} } }: ApiObject,
  of: string,
): Pick<WatchedResource, 'labelSelector' | 'fieldSelector'> {
  const labelSelector = annotations[`${prefix}/label-selector.${of}`] ?? '';
  const fieldSelector = annotations[`${prefix}/field-selector.${of}`] ?? '';
  return {
    ...(labelSelector === '' ? {} : { labelSelector }),
    ...(fieldSelector === '' ? {} : { fieldSelector }),
  };
}
