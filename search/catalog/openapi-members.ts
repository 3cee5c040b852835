// Caches the OpenAPI documents of member clusters, and revalidates them by ETag. A member chooses its ETags itself, so
// documents are stored by cluster and path: no member can replace the document of another one.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { headerValues } from '../../http/raw-headers.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import type { AskMember } from '../../sync/member/sync-types.ts';
import type { Incarnation } from '../../query/types.ts';

/** An OpenAPI document as a member cluster sent it. */
export interface MemberDocument {
  /** SHA-256 of the text. */
  readonly digest: string;
  /** Empty when the member cluster does not have that path. */
  readonly text: Buffer;
}

/**
 * Reads an OpenAPI document of a member cluster. Undefined means that the member cannot be reached, and the document
 * was never read before.
 */
export type ReadDocument = (incarnation: Incarnation, path: string) => Promise<MemberDocument | undefined>;

interface Known extends MemberDocument {
  readonly etag: string | undefined;
}

const askTimeoutMs = 5_000;
/**
 * Milliseconds for which a document is used without asking the member cluster. After that, the request contains the
 * ETag, so that the answer is 304 without a body when the document has not changed.
 */
const freshMs = 10_000;
const documentBytes = 8 * 1024 * 1024;
const keptBytes = 48 * 1024 * 1024;
const mostKnown = 20_000;
const etagForm = /^(?:W\/)?"[\x21\x23-\x7e]{1,256}"$/;

/**
 * Makes a function that reads documents through the cache.
 * @param askerOf returns the function that sends requests of the index to a member cluster
 * @param nowMs a clock in milliseconds that never goes back
 */
export function makeReadDocument(
  askerOf: (incarnation: Incarnation) => AskMember,
  nowMs: () => number = () => performance.now(),
): ReadDocument {
  const known = new LRUCache<string, Known, { readonly incarnation: Incarnation; readonly path: string }>({
    max: mostKnown,
    maxSize: keptBytes,
    sizeCalculation: ({ text }) => text.length + 1,
    ttl: freshMs,
    ttlResolution: 0,
    perf: { now: nowMs },
    fetchMethod: async (_, kept, { context: { incarnation, path } }) => await ask(askerOf(incarnation), path, kept),
    // The member cluster cannot be reached, or was removed from the configuration. The last known document is used.
    allowStaleOnFetchRejection: true,
  });
  return async (incarnation, path) =>
    await known.fetch(`${incarnation.id} ${path}`, { context: { incarnation, path } });
}

/** @throws Error (rejects) when the member cluster cannot answer now */
async function ask(askMember: AskMember, path: string, kept: Known | undefined): Promise<Known> {
  const answer = await askMember({
    path,
    ...(kept?.etag === undefined ? {} : { ifNoneMatch: kept.etag }),
    headTimeoutMs: askTimeoutMs,
    wholeTimeoutMs: askTimeoutMs * 2,
    signal: AbortSignal.timeout(askTimeoutMs * 2),
  });
  if (answer.status !== 200) answer.cancel();
  if (answer.status === 304 && kept !== undefined) return kept;
  if (answer.status === 404) return { digest: '', text: Buffer.alloc(0), etag: undefined };
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  const text = await readWhole(answer, documentBytes);
  const etag = headerValues(answer.headers, 'etag').find((value) => etagForm.test(value));
  return { digest: createHash('sha256').update(text).digest('base64'), text, etag };
}
