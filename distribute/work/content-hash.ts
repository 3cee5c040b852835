// Hashes by which the gateway sees that an object or a manifest has changed.
import { canonicalText } from '../../lib/objects/canonical-text.ts';
import { fieldOf, objectAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { createHash } from 'node:crypto';

/**
 * Hashes the fields of an object that a manifest can set: everything except status and metadata, and of the metadata
 * the labels, annotations and owner references.
 */
export function contentHash(object: JsonObject): string {
  const { metadata, status: _, ...content } = object;
  const { labels, annotations } = objectAt({ metadata }, 'metadata');
  return hashOf({ ...content, labels, annotations, owners: fieldOf(metadata, 'ownerReferences') });
}

/** Hashes a JSON value. The order of fields makes no difference. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex').slice(0, 32);
}
