// Documents that change only with a new version of the program. Each is serialised once and sent with an ETag, so that
// a client needs to fetch it only once. Easy to get wrong: without `Vary: Accept`, a cache hands the aggregated form of
// `/apis` to a client that asked for the legacy form.
import { createHash } from 'node:crypto';
import { hasEtag } from '../../routing/forward/headers.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { CompleteResponse } from '../../request/answer/status.ts';

/** A serialised document, with its content type and hash. */
export interface CachedDocument {
  readonly body: Buffer;
  readonly contentType: string;
  /** Upper-case hexadecimal SHA-512 of the body, as in kube-apiserver. */
  readonly hash: string;
}

/** Serialises a value. A Buffer is used as it is, any other value is written as JSON. */
export function cachedDocument(value: unknown, contentType = 'application/json'): CachedDocument {
  const body = Buffer.isBuffer(value) ? value : Buffer.from(`${JSON.stringify(value)}\n`);
  return { body, contentType, hash: createHash('sha512').update(body).digest('hex').toUpperCase() };
}

/**
 * The answer for a document: 200 with the body, or 304 when the client's If-None-Match has the document's ETag (RFC
 * 9110 section 13.1.2).
 * @param forever true when the URL holds the hash of this content, so that a client may cache the answer for a year
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
