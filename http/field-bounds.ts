// Length limits for the header fields that are split, hashed or decoded before the caller is authenticated. A whole
// request head may have 1 MiB, for callers in thousands of groups, but none of these fields needs that much.
import { HttpFault } from './http-fault.ts';

/**
 * Longest value of each field in bytes; repeated lines of one field count together. Authorization has room for a scheme
 * and the longest accepted token (64 KiB); Sec-WebSocket-Protocol for the same token in base64url and other protocols
 * beside it.
 */
export const maxFieldBytes = {
  Host: 1024,
  Connection: 1024,
  Upgrade: 1024,
  Authorization: 65 * 1024,
  'Sec-WebSocket-Protocol': 96 * 1024,
} as const;

/**
 * Maximum number of items in Sec-WebSocket-Protocol; a request with more is refused. kubectl offers five, terminals in
 * web browsers fewer.
 */
export const maxSubprotocols = 100;

export type BoundedField = keyof typeof maxFieldBytes;

/** The fault to answer with when a field's value has this many bytes; undefined when the length is allowed. */
export function fieldFault(name: BoundedField, bytes: number): HttpFault | undefined {
  const most = maxFieldBytes[name];
  if (bytes <= most) return undefined;
  return new HttpFault('HEADERS_TOO_LARGE', `the ${name} header is longer than ${most} bytes`);
}

/**
 * Appends one header line to a list header, with a comma between them.
 * @throws HttpFault HEADERS_TOO_LARGE when the joined list is too long
 */
export function withLine(name: BoundedField, before: string | undefined, line: string): string {
  const list = before === undefined ? line : `${before},${line}`;
  const fault = fieldFault(name, list.length);
  if (fault !== undefined) throw fault;
  return list;
}

/**
 * Refuses a Sec-WebSocket-Protocol list with too many items.
 * @throws HttpFault BAD_HEADERS for more than {@link maxSubprotocols}
 */
export function requireFewSubprotocols(list: string): void {
  // The second argument makes split() stop early, so a very long list costs little.
  if (list.split(',', maxSubprotocols + 1).length > maxSubprotocols)
    throw new HttpFault('BAD_HEADERS', `the request offers more than ${maxSubprotocols} WebSocket subprotocols`);
}
