// The error of a store that has reached its size limit. Nothing of the batch was taken, not even its deletions: the
// caller sends those again alone and does not move its position.
import { GatewayError } from '../../cache/model/errors.ts';
import type { TypeKey } from '../types.ts';

/** Upserts of this type are refused until the index is smaller; deletions are taken. */
export class IndexFullError extends GatewayError {
  readonly type: TypeKey;

  constructor(type: TypeKey, options: { readonly cause?: unknown } = {}) {
    super(
      'INDEX_UNAVAILABLE',
      `the index has reached its size limit: no more ${type.replace(/\.$/, '')} are taken; raise --index-max-bytes or index fewer resources`,
      options,
    );
    this.name = 'IndexFullError';
    this.type = type;
  }
}

/** Whether a batch was refused because the index is full: its type stops and is not tried again at once. */
export function isIndexFull(error: unknown): error is IndexFullError {
  return error instanceof IndexFullError;
}
