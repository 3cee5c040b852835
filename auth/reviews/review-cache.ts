// Remembers answers of reviews (TokenReview, SubjectAccessReview) for seconds. Requests that need the same answer at
// the same time share one call. Errors are never remembered. An answer's time counts from the question, since the
// answer may be that old; where the hub itself remembers answers, it counts from the answer.
import { GatewayError } from '../../cache/model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';

/** An answer and how long it may be used. */
export interface Reviewed<Answer> {
  readonly answer: Answer;
  /** 0: only for the requests that wait for it now. */
  readonly ttlMs: number;
}

/** Answers by key. Keys must tell everything apart that the answer depends on (rule "keys hold the whole identity"). */
export interface ReviewCache<Answer extends object> {
  /** The answer, while it may be used. */
  known(key: string): Answer | undefined;
  /**
   * Asks, or waits for a question under way with the same key.
   * @param review gets the last answer for this key, however old, when it is still there
   * @throws GatewayError HUB_UNAVAILABLE when too many wait already; whatever `review` throws
   */
  ask(key: string, review: (last: Answer | undefined) => Promise<Reviewed<Answer>>): Promise<Answer>;
}

/** Limits of one cache. */
export interface ReviewCacheOptions<Answer> {
  readonly maxEntries: number;
  /** Characters of all keys together. */
  readonly maxKeyLength: number;
  /**
   * Answers that anybody can have made, and how many of those are kept: they have room of their own and push no other
   * out. Without it all answers share the room.
   */
  readonly refusals?: { readonly is: (answer: Answer) => boolean; readonly maxEntries: number };
  /** Questions under way at the same time; those beyond are refused, so that a slow hub does not fill the memory. */
  readonly maxPending: number;
  /**
   * From when an answer's time counts; `question` unless said otherwise. `answer` where the hub itself remembers for
   * the same time: the next question then comes after the hub has forgotten. If it came just before, the old answer
   * would count for twice the time.
   */
  readonly countFrom?: 'question' | 'answer';
  /** Milliseconds of any clock that never goes back. */
  readonly now?: () => number;
}

interface Entry<Answer> {
  readonly answer: Answer;
  readonly untilMs: number;
}

/** Makes an empty one. */
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
        const busy = 'too many requests are waiting for reviews of the hub; ask again';
        return Promise.reject(new GatewayError('HUB_UNAVAILABLE', busy));
      }
      const asking = askNow(key, review);
      pending.set(key, asking);
      return asking;
    },
  };
}
