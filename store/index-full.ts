// The error of a store that has reached its size limit. The whole batch was refused, including its deletions. The
// caller sends the deletions again in a batch of their own, and does not advance its sync position.
import { GatewayError } from '../model/errors.ts';
import type { TypeKey } from '../query/types.ts';

/** Thrown when new and changed rows of a type are refused because the index is full. Deletions are still accepted. */
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

/** Whether the error means that the index is full. The caller should stop writing this type for a while. */
export function isIndexFull(error: unknown): error is IndexFullError {
  return error instanceof IndexFullError;
}
