// Asks again, for every open stream, whether its caller is still the same and may still do this, and ends the streams
// of callers who may not. While the hub cannot be asked no stream is ended: it would be every watch of every user.
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
  /** The questions that the authorizer answered, with what is known of the cluster now. */
  questions(): readonly Attributes[];
  /** Ends it, visibly cut for the client. */
  end(reason: GatewayError): void;
}

/** The streams under review. */
export interface StreamReviews {
  follow(stream: ReviewedStream): void;
  forget(stream: ReviewedStream): void;
  /** Reviews every stream once; resolves when all are done. */
  sweep(): Promise<void>;
  /** Ends every stream whose credential has ended. */
  expire(): void;
  close(): void;
}

/** What reviews depend on. Authenticator and authorizer are those of new requests, with their caches. */
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
/** How often credentials are checked whose end is known. */
const expiryIntervalMs = 1_000;
/** Reviews under way at the same time: many streams share few tokens, and the hub is asked once for each. */
const concurrency = 16;
/** After so many reviews from caches, other work of the process gets its turn. */
const batch = 200;

/** Starts the clock. Streams of one token share its review, since all of them are reviewed within one sweep. */
export function startStreamReviews(options: StreamReviewOptions): StreamReviews {
  return new RunningReviews(options);
}

class RunningReviews implements StreamReviews {
  readonly #options: StreamReviewOptions;
  readonly #endExpired: boolean;
  readonly #streams = new Set<ReviewedStream>();
  /** Those of `#streams` whose credential says when it ends. */
  readonly #expiring = new Set<ReviewedStream>();
  readonly #timers: readonly NodeJS.Timeout[];
  #sweeping: Promise<void> | undefined;

  constructor(options: StreamReviewOptions) {
    this.#options = options;
    const { intervalMs = defaultIntervalMs, endExpired = true } = options;
    this.#endExpired = endExpired;
    this.#timers = [
      setInterval(() => void this.sweep(), intervalMs).unref(),
      setInterval(() => this.expire(), expiryIntervalMs).unref(),
    ];
  }

  follow(stream: ReviewedStream): void {
    this.#streams.add(stream);
    if (this.#endExpired && stream.caller.expiresAtMs !== undefined) this.#expiring.add(stream);
  }

  forget(stream: ReviewedStream): void {
    this.#streams.delete(stream);
    this.#expiring.delete(stream);
  }

  sweep(): Promise<void> {
    this.#sweeping ??= this.#reviewAll().finally(() => (this.#sweeping = undefined));
    return this.#sweeping;
  }

  expire(): void {
    const nowMs = (this.#options.now ?? Date.now)();
    for (const stream of this.#expiring) {
      if (stream.caller.expiresAtMs! > nowMs) continue;
      const message = 'the credential that opened this stream has expired; log in and connect again';
      stream.end(new GatewayError('UNAUTHENTICATED', message));
    }
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #reviewAll(): Promise<void> {
    const waiting = [...this.#streams].values();
    const work = async (): Promise<void> => {
      let done = 0;
      for (const stream of waiting) {
        if (this.#streams.has(stream)) await this.#review(stream);
        done += 1;
        if (done % batch === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
  }

  async #review(stream: ReviewedStream): Promise<void> {
    const { authorizer } = this.#options;
    try {
      if (this.#endExpired) await this.#reviewCaller(stream);
      for (const question of stream.questions()) {
        const decision = await authorizer.authorize(question);
        if (!decision.allowed) throw forbidden(question, decision.reason);
      }
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'HUB_UNAVAILABLE') return;
      if (!this.#streams.has(stream)) return;
      const known = error instanceof GatewayError ? error : undefined;
      stream.end(known ?? new GatewayError('INTERNAL', 'the stream could not be reviewed', { cause: error }));
    }
  }

  async #reviewCaller({ request, caller }: ReviewedStream): Promise<void> {
    if (isSameIdentity(await this.#options.authenticate(request), caller)) return;
    throw new GatewayError('UNAUTHENTICATED', 'the credential stands for another identity now; connect again');
  }
}
