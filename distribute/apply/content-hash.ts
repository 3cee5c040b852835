// Hashes that show whether an object has changed.
import { createHash } from 'node:crypto';
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import { objectAt } from '../work/manifest-work.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';

/**
 * Hashes what a manifest can set of an object: all fields but status, and of the metadata labels, annotations and
 * owners.
 */
export function contentHash(object: JsonObject): string {
  const { metadata, status: _, ...content } = object;
  const { labels, annotations } = objectAt({ metadata }, 'metadata');
  return hashOf({ ...content, labels, annotations, owners: fieldOf(metadata, 'ownerReferences') });
}

/** Returns the same hash for the same content, in whatever order the fields are. */
export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex')
    .slice(0, 32);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
