// Documents that change only with the program: serialised once and sent with an ETag, so clients need no second copy.
// Without `Vary: Accept` a cache would give the aggregated form of `/apis` to a client that asked for the legacy one.
import { createHash } from 'node:crypto';
import { hasEtag } from '../../../routing/forward/headers.ts';
import type { RawHeaders } from '../../../http/raw-headers.ts';
import type { CompleteResponse } from '../../status.ts';

/** A document ready to be sent. */
export interface CachedDocument {
  readonly body: Buffer;
  readonly contentType: string;
  /** Upper-case hexadecimal SHA-512 of the body, as in kube-apiserver. */
  readonly hash: string;
}

/** Serialises a document. */
export function cachedDocument(value: unknown, contentType = 'application/json'): CachedDocument {
  const body = Buffer.isBuffer(value) ? value : Buffer.from(`${JSON.stringify(value)}\n`);
  return { body, contentType, hash: createHash('sha512').update(body).digest('hex').toUpperCase() };
}

/**
 * The answer for a document: 304 when the client has it already (RFC 9110 section 13.1.2).
 * @param forever true when the URL holds the hash of this content, so that a client may keep it for good
 */
export function documentResponse(
  { body, contentType, hash }: CachedDocument,
  headers: RawHeaders,
  auditId: string,
  forever = false,
): CompleteResponse {
  const etag = `"${hash}"`;
  const answer = [
    'ETag',
    etag,
    'Vary',
    'Accept',
    'Cache-Control',
    forever ? `public, immutable, max-age=${yearSeconds}` : 'no-cache, private',
    'Audit-Id',
    auditId,
  ];
  if (hasEtag(headers, etag)) return { status: 304, headers: answer, body: Buffer.alloc(0) };
  return {
    status: 200,
    headers: [
      'Content-Type',
      contentType,
      'Content-Length',
      String(body.length),
      'X-Content-Type-Options',
      'nosniff',
      ...answer,
    ],
    body,
  };
}

const yearSeconds = 365 * 24 * 60 * 60;
