// The body of a call to an API server in bytes, for every client that takes an ApiCall.
import type { ApiCall } from './types.ts';

/** The body of a call: a Buffer as it is, anything else as JSON; undefined for a call without one. */
export function bodyOf({ body }: Pick<ApiCall, 'body'>): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body;
  return Buffer.from(JSON.stringify(body));
}
