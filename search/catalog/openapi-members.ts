// Caches the OpenAPI documents of member clusters, and revalidates them by ETag. A member chooses its ETags itself. If
// documents were stored under them, a member could use the ETag of another one to replace its document. So documents
// are stored under a digest that is computed here.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { headerValues } from '../../http/raw-headers.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import type { AskMember } from '../../sync/member/sync-types.ts';
import type { Incarnation } from '../../query/types.ts';

/** An OpenAPI document as a member cluster sent it. */
export interface MemberDocument {
  /** SHA-256 of the text. Documents of several member clusters with equal texts have equal digests. */
  readonly digest: string;
  readonly text: Buffer;
}

/**
 * Reads an OpenAPI document of a member cluster. `none` means that the member does not have that path. `unknown` means
 * that the member cannot be reached, and the document was never read before.
 */
export type ReadDocument = (incarnation: Incarnation, path: string) => Promise<MemberDocument | 'none' | 'unknown'>;

interface Known {
  /** The digest of the document. Undefined when the member cluster does not have that path. */
  readonly digest: string | undefined;
  readonly etag: string | undefined;
  readonly askedAtMs: number;
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
  const known = new LRUCache<string, Known>({ max: mostKnown });
  const texts = new LRUCache<string, Buffer>({ maxSize: keptBytes, sizeCalculation: ({ length }) => length + 1 });
  const asking = new Map<string, ReturnType<ReadDocument>>();

  async function ask(incarnation: Incarnation, path: string, key: string): ReturnType<ReadDocument> {
    const before = known.get(key);
    const kept = documentOf(before);
    if (kept !== 'unknown' && nowMs() - before!.askedAtMs < freshMs) return kept;
    try {
      const answer = await askerOf(incarnation)({
        path,
        ...(kept === 'unknown' || before?.etag === undefined ? {} : { ifNoneMatch: before.etag }),
        headTimeoutMs: askTimeoutMs,
        wholeTimeoutMs: askTimeoutMs * 2,
        signal: AbortSignal.timeout(askTimeoutMs * 2),
      });
      if (answer.status !== 200) answer.cancel();
      if (answer.status === 304 && kept !== 'unknown') {
        known.set(key, { ...before!, askedAtMs: nowMs() });
        return kept;
      }
      if (answer.status === 404) {
        known.set(key, { digest: undefined, etag: undefined, askedAtMs: nowMs() });
        return 'none';
      }
      if (answer.status !== 200) return kept;
      const text = await readWhole(answer, documentBytes);
      const digest = createHash('sha256').update(text).digest('base64');
      const etag = headerValues(answer.headers, 'etag').find((value) => etagForm.test(value));
      texts.set(digest, text);
      known.set(key, { digest, etag, askedAtMs: nowMs() });
      return { digest, text };
    } catch {
      // The member cluster cannot be reached, or was removed from the configuration. The last known document is used.
      return kept;
    }
  }

  function documentOf(entry: Known | undefined): MemberDocument | 'none' | 'unknown' {
    if (entry === undefined) return 'unknown';
    if (entry.digest === undefined) return 'none';
    const text = texts.get(entry.digest);
    return text === undefined ? 'unknown' : { digest: entry.digest, text };
  }

  return (incarnation, path) => {
    const key = `${incarnation.id} ${path}`;
    const under = asking.get(key);
    if (under !== undefined) return under;
    const reading = ask(incarnation, path, key).finally(() => asking.delete(key));
    asking.set(key, reading);
    return reading;
  };
}
