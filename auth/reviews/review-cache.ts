// Caches answers of reviews (TokenReview, SubjectAccessReview) for a few seconds. Simultaneous requests with the same
// key share one review. Errors are never cached. How long an answer may be used is counted from the start of the
// review, since the answer may be that old; for a hub that caches answers itself, from the arrival of the answer.
import { GatewayError } from '../../model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';

/** The hub's answer to a review, and how long it may be used. */
export interface Reviewed<Answer> {
  readonly answer: Answer;
  /** How long the answer may be used, in milliseconds; 0 means only by requests that wait for it already. */
  readonly ttlMs: number;
}

/**
 * A cache of answers. A key must contain everything that the answer depends on (rule "keys hold the whole identity" in
 * docs/rules.md).
 */
export interface ReviewCache<Answer extends object> {
  /** The cached answer; undefined when there is none or it may no longer be used. */
  known(key: string): Answer | undefined;
  /**
   * Starts a review, or waits for one with the same key that is in progress.
   * @param review sends the review; it is passed the last cached answer for this key, even one that may no longer be
   *   used
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when too many reviews are in progress; errors of `review`
   */
  ask(key: string, review: (last: Answer | undefined) => Promise<Reviewed<Answer>>): Promise<Answer>;
}

/** Settings of one {@link ReviewCache}. */
export interface ReviewCacheOptions<Answer> {
  readonly maxEntries: number;
  /** Maximum number of characters that all keys in the cache may have together. */
  readonly maxKeyLength: number;
  /**
   * Separate limit for negative answers, those for which `is` returns true. Anybody can cause them; stored apart, they
   * cannot push positive ones out of the cache. Undefined stores all answers together.
   */
  readonly refusals?: { readonly is: (answer: Answer) => boolean; readonly maxEntries: number };
  /**
   * Maximum number of reviews in progress; further ones are refused with 503, so that a slow hub does not use up the
   * memory.
   */
  readonly maxPending: number;
  /**
   * From when the time that an answer may be used is counted: `question` is the start of the review, the default;
   * `answer` is the arrival of its answer. Use `answer` if the hub caches answers for the same time: the next review
   * then comes after the hub's cached answer has expired. If the review came just before that, the hub would send the
   * same old answer again, which would be used for twice the time.
   */
  readonly countFrom?: 'question' | 'answer';
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

interface Entry<Answer> {
  readonly answer: Answer;
  readonly untilMs: number;
}

/** Makes an empty cache. */
export function makeReviewCache<Answer extends object>(options: ReviewCacheOptions<Answer>): ReviewCache<Answer> {
  const now = options.now ?? (() => performance.now());
  const { refusals } = options;
  const accepted = makeRecent<Entry<Answer>>(options);
  const refused = refusals === undefined ? accepted : makeRecent<Entry<Answer>>(refusals);
  const pending = new Map<string, Promise<Answer>>();

  const askNow = async (key: string, review: Parameters<ReviewCache<Answer>['ask']>[1]): Promise<Answer> => {
    const askedAtMs = now();
    try {
      const { answer, ttlMs } = await review((accepted.peek(key) ?? refused.peek(key))?.answer);
      const fromMs = options.countFrom === 'answer' ? now() : askedAtMs;
      accepted.delete(key);
      refused.delete(key);
      if (ttlMs > 0) (refusals?.is(answer) === true ? refused : accepted).set(key, { answer, untilMs: fromMs + ttlMs });
      return answer;
    } finally {
      pending.delete(key);
    }
  };

  return {
    known: (key) => {
      const entry = accepted.get(key) ?? refused.get(key);
      return entry !== undefined && now() < entry.untilMs ? entry.answer : undefined;
    },
    ask: (key, review) => {
      const waiting = pending.get(key);
      if (waiting !== undefined) return waiting;
      if (pending.size >= options.maxPending) {
        const busy = 'too many requests are waiting for reviews by the hub; try again';
        return Promise.reject(new GatewayError('HUB_UNAVAILABLE', busy));
      }
      const asking = askNow(key, review);
      pending.set(key, asking);
      return asking;
    },
  };
}
