// Keeps the OpenAPI documents of members, asked for again by their ETag. A member chooses its own hash, and with
// another member's hash it would put its document in that one's place, so texts are kept by a digest made here.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { headerValues } from '../../../routing/forward/headers.ts';
import { readWhole } from '../../../routing/members/member-call.ts';
import type { AskMember } from '../../sync/sync-types.ts';
import type { Incarnation } from '../../types.ts';

/** A document as a member gave it. */
export interface MemberDocument {
  /** Equal for equal texts, whosever they are. */
  readonly digest: string;
  readonly text: Buffer;
}

/**
 * What a member says under a path: its document, `none` when it has no such path, `unknown` when it cannot be asked and
 * has not been.
 */
export type ReadDocument = (incarnation: Incarnation, path: string) => Promise<MemberDocument | 'none' | 'unknown'>;

interface Known {
  /** Undefined: the member has no such path. */
  readonly digest: string | undefined;
  readonly etag: string | undefined;
  readonly askedAtMs: number;
}

const askTimeoutMs = 5_000;
/** Not asked again so soon; later the ETag is sent, and the answer is short. */
const freshMs = 10_000;
const documentBytes = 8 * 1024 * 1024;
const keptBytes = 48 * 1024 * 1024;
const mostKnown = 20_000;
const etagForm = /^(?:W\/)?"[\x21\x23-\x7e]{1,256}"$/;

/** @param askerOf asks the member of an incarnation as the index @param nowMs of a clock that never goes back */
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
      // It is down, or gone from the configuration: what it said last is what it has.
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
