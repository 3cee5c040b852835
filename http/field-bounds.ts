// Bounds of the header fields that are read before the caller is known, because they are split, hashed or decoded for
// strangers. A head may hold 1 MiB for callers in thousands of groups; none of these fields needs that.
import { HttpFault } from './http-fault.ts';

/**
 * Longest value in bytes, of all lines of that name together where lines may repeat. Authorization holds the longest
 * token that is looked at (64 KiB) and its scheme; Sec-WebSocket-Protocol the same token as base64url beside the
 * protocols.
 */
export const maxFieldBytes = {
  Host: 1024,
  Connection: 1024,
  Upgrade: 1024,
  Authorization: 65 * 1024,
  'Sec-WebSocket-Protocol': 96 * 1024,
} as const;

/** Items of Sec-WebSocket-Protocol; kubectl offers five, browsers' terminals fewer. */
export const maxSubprotocols = 100;

export type BoundedField = keyof typeof maxFieldBytes;

/** The fault of a field of that length, or undefined when it is within its bound. */
export function fieldFault(name: BoundedField, bytes: number): HttpFault | undefined {
  const most = maxFieldBytes[name];
  if (bytes <= most) return undefined;
  return new HttpFault('HEADERS_TOO_LARGE', `the ${name} header is longer than ${most} bytes`);
}

/**
 * A list header with one more line.
 * @throws HttpFault HEADERS_TOO_LARGE
 */
export function withLine(name: BoundedField, before: string | undefined, line: string): string {
  const list = before === undefined ? line : `${before},${line}`;
  const fault = fieldFault(name, list.length);
  if (fault !== undefined) throw fault;
  return list;
}

/** @throws HttpFault BAD_HEADERS for more than {@link maxSubprotocols} */
export function requireFewSubprotocols(list: string): void {
  // A limit makes split() stop there, however long the list is.
  if (list.split(',', maxSubprotocols + 1).length > maxSubprotocols)
    throw new HttpFault('BAD_HEADERS', `the request offers more than ${maxSubprotocols} WebSocket subprotocols`);
}
