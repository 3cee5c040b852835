// Prepares an object for its cluster when a client updates a copy that it read from the index: removes the annotations
// that the index added, and restores the cluster's own resourceVersion. A copy from which the index has left out fields
// is refused, because the update would delete these fields in the cluster.
import { GatewayError } from '../../model/errors.ts';
import { textAt, withoutAnnotations, withResourceVersion } from '../../lib/json/raw-json.ts';
import { ownAnnotations } from '../../sync/document/document-shape.ts';
import { cachedAnnotation, clusterAnnotation } from '../../query/types.ts';

/**
 * The object as the cluster expects it. A body that is not a JSON object is returned unchanged, so that the cluster
 * says what is wrong with it.
 * @throws GatewayError BAD_REQUEST for a copy without the data of a Secret or without pruned fields; CONFLICT when the
 * resourceVersion is in the form of Karmada's search and has no entry for this cluster
 */
export function asInCluster(body: Buffer, cluster: string): Buffer {
  if (!isObject(body)) return body;
  for (const annotation of [ownAnnotations.redacted, ownAnnotations.pruned]) {
    if (textAt(body, ['metadata', 'annotations', annotation]) === undefined) continue;
    throw new GatewayError(
      'BAD_REQUEST',
      `this copy of the index lacks fields (annotation ${annotation}), and an update would remove them: get the object below /clusters/${cluster}/proxy and update that`,
    );
  }
  const plain = withoutAnnotations(body, [cachedAnnotation, clusterAnnotation]);
  const versions = karmadaVersions(textAt(plain, ['metadata', 'resourceVersion']) ?? '');
  if (versions === undefined) return plain;
  const version = versions[cluster];
  if (typeof version === 'string') return withResourceVersion(plain, version);
  throw new GatewayError(
    'CONFLICT',
    `the resourceVersion is not one of the cluster "${cluster}"; get the object again`,
  );
}

function isObject(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/**
 * The resourceVersion of each cluster by cluster name, decoded from a resourceVersion of Karmada's search (base64url of
 * a JSON object). Undefined for a resourceVersion in any other form.
 */
function karmadaVersions(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!/^ey[\w-]+$/.test(text)) return undefined;
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
