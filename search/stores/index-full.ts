// The error of a store that is as large as it may be. Easy to get wrong: nothing was taken, not even the deletions of
// the same batch, so whoever follows a member sends those again alone, and does not move the position.
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

/** Whether a batch was refused for want of room, so that its type is to stop rather than to be tried again at once. */
export function isIndexFull(error: unknown): error is IndexFullError {
  return error instanceof IndexFullError;
}
