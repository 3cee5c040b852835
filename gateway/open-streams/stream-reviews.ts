// Checks every open stream regularly: whether its credential is still valid for the same user, and whether the user may
// still make the request. Streams that fail a check are ended. While the hub cannot be asked, no stream is ended;
// otherwise an outage of the hub would end every watch of every user at once.
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import type { RequestAuthenticator } from '../../auth/callers/authenticate.ts';
import { forbidden } from '../../auth/rules/authorize.ts';
import type { Attributes } from '../../auth/rules/attributes.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import { isSameIdentity } from '../../auth/callers/identity-key.ts';
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';

/** A request that may stay open for long, with everything that is needed to check its credential and rights again. */
export interface ReviewedStream {
  /**
   * The request's headers and certificate. They contain the credential, so this must not be kept longer than the
   * stream.
   */
  readonly request: AuthenticationRequest;
  readonly caller: User;
  /** The permission checks to repeat, with the present labels of the cluster. */
  questions(): readonly Attributes[];
  /** Ends the stream without a clean end, so that the client sees that the stream was cut. */
  end(reason: GatewayError): void;
}

/**
 * Options of {@link startStreamReviews}. Authenticator and authorizer are the same objects as for new requests, so that
 * both use the same caches.
 */
export interface StreamReviewOptions {
  readonly authenticate: RequestAuthenticator;
  readonly authorizer: Authorizer;
  readonly intervalMs?: number;
  /**
   * True (the default): a stream ends when the credential that opened it expires or is revoked. False: only rights are
   * checked.
   */
  readonly endExpired?: boolean;
  /**
   * Returns the present time in milliseconds since 1970, with which the expiry of certificates and tokens is compared.
   */
  readonly now?: () => number;
}

/**
 * Milliseconds between two checks of all streams. Answers of the hub are cached for 10 seconds, so a revoked right is
 * found by the second check at the latest: the stream ends within 60 seconds.
 */
export const defaultIntervalMs = 30_000;
/** Milliseconds between two checks of credentials with a known expiry. */
const expiryIntervalMs = 1_000;
/**
 * How many streams are checked at the same time. A small number is enough: many streams share a token, and the hub is
 * asked only once for each token.
 */
const concurrency = 16;
/**
 * After this many checks, the event loop handles other work: checks that need no request to the hub would otherwise run
 * without a pause.
 */
const batch = 200;

/**
 * Starts to check open streams regularly. All streams are checked together, so that streams with the same token cause
 * only one TokenReview.
 */
export function startStreamReviews(options: StreamReviewOptions): StreamReviews {
  return new RunningReviews(options);
}

/** The open streams whose credentials and rights are checked regularly. */
export type StreamReviews = Pick<RunningReviews, keyof RunningReviews>;

class RunningReviews {
  readonly #options: StreamReviewOptions;
  readonly #endExpired: boolean;
  readonly #streams = new Set<ReviewedStream>();
  /** The streams among `#streams` whose credential has a known expiry. */
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

  /** Checks every open stream once; resolves when all have been checked. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#reviewAll().finally(() => (this.#sweeping = undefined));
    return this.#sweeping;
  }

  /** Ends every stream whose credential has expired. */
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
      stream.end(
        known ??
          new GatewayError(
            'INTERNAL',
            'the gateway failed to check whether you may still use this stream; connect again',
            { cause: error },
          ),
      );
    }
  }

  async #reviewCaller({ request, caller }: ReviewedStream): Promise<void> {
    if (isSameIdentity(await this.#options.authenticate(request), caller)) return;
    throw new GatewayError('UNAUTHENTICATED', 'the credential belongs to another user now; connect again');
  }
}
