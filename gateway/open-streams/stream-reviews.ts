// Asks again, for every stream that is open, whether its caller is still who it was and may still do this, and ends
// those of whom that is no longer so. Easy to get wrong: a hub that cannot be asked says nothing about anybody, so its
// silence must not cut every watch of every user.
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import type { RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import { forbidden } from '../../auth/rules/authorize.ts';
import type { Attributes } from '../../auth/rules/attributes.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import { isSameIdentity } from '../../auth/callers/identity-key.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';

/** One exchange that may last, as it was let in. */
export interface ReviewedStream {
  /** What the caller showed. Holds the credential; kept only as long as the exchange. */
  readonly request: AuthenticationRequest;
  readonly caller: User;
  /** What was asked of the authorizer, asked anew of what is known of the cluster now. */
  questions(): readonly Attributes[];
  /** Ends it, visibly cut for the client. */
  end(reason: GatewayError): void;
}

/** The streams under review. */
export interface StreamReviews {
  follow(stream: ReviewedStream): void;
  forget(stream: ReviewedStream): void;
  readonly size: number;
  /** Reviews every stream once; resolves when all are done. */
  sweep(): Promise<void>;
  /** Ends every stream whose credential has ended. */
  expire(): void;
  close(): void;
}

/** What reviews depend on; both are the ones of new requests, with their caches. */
export interface StreamReviewOptions {
  readonly authenticate: RequestAuthenticator;
  readonly authorizer: Authorizer;
  readonly intervalMs?: number;
  /** Streams end with the credential that opened them; otherwise only rights are reviewed. Default true. */
  readonly endExpired?: boolean;
  /** Unix milliseconds: certificates and tokens end by the wall clock. */
  readonly now?: () => number;
}

/** With caches of 10 s a revoked right is seen by the second sweep at the latest: a stream ends within 60 s. */
export const defaultIntervalMs = 30_000;
/** How often it is looked for credentials that have ended, where that moment is known. */
const expiryIntervalMs = 1_000;
/** Reviews under way at the same time: many streams share few tokens, and the hub is asked once for each. */
const concurrency = 16;
/** Streams that are reviewed from caches before others get their turn. */
const batch = 200;

/** Starts the clock. Streams of one token share its review, since they are all asked for within one sweep. */
export function startStreamReviews(options: StreamReviewOptions): StreamReviews {
  const { authenticate, authorizer, intervalMs = defaultIntervalMs, endExpired = true, now = Date.now } = options;
  const streams = new Set<ReviewedStream>();
  /** Those of {@link streams} whose credential says when it ends. */
  const expiring = new Set<ReviewedStream>();
  let sweeping: Promise<void> | undefined;

  const reviewCaller = async ({ request, caller }: ReviewedStream): Promise<void> => {
    if (isSameIdentity(await authenticate(request), caller)) return;
    throw new GatewayError('UNAUTHENTICATED', 'the credential stands for another identity now; connect again');
  };
  const review = async (stream: ReviewedStream): Promise<void> => {
    try {
      if (endExpired) await reviewCaller(stream);
      for (const question of stream.questions()) {
        const decision = await authorizer.authorize(question);
        if (!decision.allowed) throw forbidden(question, decision.reason);
      }
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'HUB_UNAVAILABLE') return;
      if (!streams.has(stream)) return;
      const known = error instanceof GatewayError ? error : undefined;
      stream.end(known ?? new GatewayError('INTERNAL', 'the stream could not be reviewed', { cause: error }));
    }
  };
  const reviewAll = async (): Promise<void> => {
    const waiting = [...streams].values();
    const work = async (): Promise<void> => {
      let done = 0;
      for (const stream of waiting) {
        if (streams.has(stream)) await review(stream);
        done += 1;
        if (done % batch === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
  };
  const sweep = (): Promise<void> => {
    sweeping ??= reviewAll().finally(() => (sweeping = undefined));
    return sweeping;
  };
  const expire = (): void => {
    const nowMs = now();
    for (const stream of expiring) {
      if (stream.caller.expiresAtMs! > nowMs) continue;
      stream.end(
        new GatewayError(
          'UNAUTHENTICATED',
          'the credential that opened this stream has expired; log in and connect again',
        ),
      );
    }
  };
  const timer = setInterval(() => void sweep(), intervalMs).unref();
  const expiryTimer = setInterval(expire, expiryIntervalMs).unref();
  return {
    follow(stream) {
      streams.add(stream);
      if (endExpired && stream.caller.expiresAtMs !== undefined) expiring.add(stream);
    },
    forget(stream) {
      streams.delete(stream);
      expiring.delete(stream);
    },
    get size() {
      return streams.size;
    },
    sweep,
    expire,
    close() {
      clearInterval(timer);
      clearInterval(expiryTimer);
    },
  };
}
