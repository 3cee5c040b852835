// Limits what a cluster that answers access reviews slowly costs a question over many clusters. The question waits for
// it for two seconds; then the cluster is hidden, and its reviews go on without the question. The next questions do not
// wait for it at all, until it is quick again, and use what the reviews that went on have found.
import { makeIdentityNumbers } from '../auth/callers/identity-key.ts';
import { makeGate } from '../lib/concurrency/gates.ts';
import type { Gate } from '../lib/concurrency/gates.ts';
import { makeRecent } from '../lib/recent.ts';
import { within } from '../lib/within.ts';
import { GatewayError } from '../model/errors.ts';
import { grantSize } from '../query/scope/grants.ts';
import { answerCountsMs, unansweredYet } from './review.ts';
import type { Reviewer, TimedGrant } from './review.ts';

export interface PromptReviewerOptions {
  /** The most milliseconds that a question waits for one cluster; two seconds by default. */
  readonly waitMs?: number;
  /** Returns milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** What is known of one incarnation of a cluster. */
interface Pace {
  /** The grants that are being decided, by identity, verb and type. */
  readonly deciding: Map<string, Promise<TimedGrant>>;
  readonly gate: Gate;
  /** True after a question has waited in vain, until a grant is decided in time by reviews sent since then. */
  isSlow: boolean;
  /** Why the last grant was not decided, when that took long too. It holds for all who ask before `retryAtMs`. */
  failure: unknown;
  retryAtMs: number;
}

const defaultWaitMs = 2_000;
/** The most milliseconds from a question to the end of its reviews. With it the age of an answer is bounded. */
const longestMs = 30_000;
/** Milliseconds after which a cluster is asked again that failed after a long time. */
const retryMs = 5_000;
/** The most grants of one cluster that are decided at the same time. */
const decidedAtOnce = 32;
const nothingAborts = new AbortController().signal;
const remembered = {
  maxEntries: 10_000,
  maxKeyLength: 16 * 1024 * 1024,
  sizeOf: ({ grant }: TimedGrant): number => 32 * grantSize(grant),
};

/**
 * Makes a reviewer that answers within about `waitMs`, or rejects with MEMBER_TIMEOUT. A grant whose reviews took
 * longer counts for ten seconds from their end. So an answer in it may be used until 40 seconds after it was asked for.
 */
export function makePromptReviewer(reviewer: Reviewer, options: PromptReviewerOptions = {}): Reviewer {
  return new PromptReviewer(reviewer, options);
}

type Question = Parameters<Reviewer['grant']>;

class PromptReviewer implements Reviewer {
  readonly #reviewer: Reviewer;
  readonly #waitMs: number;
  readonly #now: () => number;
  readonly #numberOf = makeIdentityNumbers();
  /** By incarnation. */
  readonly #paces = makeRecent<Pace>({ maxEntries: remembered.maxEntries });
  readonly #decidedLate = makeRecent<TimedGrant>(remembered);

  constructor(reviewer: Reviewer, options: PromptReviewerOptions) {
    this.#reviewer = reviewer;
    this.#waitMs = options.waitMs ?? defaultWaitMs;
    this.#now = options.now ?? (() => performance.now());
  }

  async grant(...question: Question): Promise<TimedGrant> {
    const [asked, identity, verb, type] = question;
    const { group, resource, namespaced = null } = type;
    const key = JSON.stringify([this.#numberOf(identity), asked.incarnation, verb, group, resource, namespaced]);
    const pace = this.#paceOf(asked.incarnation);
    const late = this.#decidedLate.get(key);
    const leftMs = late === undefined ? 0 : late.untilMs - this.#now();
    // It is decided anew after half of its time, so that the rows of a slow cluster do not come and go.
    const renewMs = answerCountsMs / 2;
    if (late !== undefined && leftMs > renewMs) return { grant: late.grant, untilMs: late.untilMs - renewMs };
    try {
      const deciding = this.#begin(pace, key, question);
      // A slow cluster gets no time, but a grant that follows from remembered answers needs none.
      if (await within(pace.isSlow || leftMs > 0 ? 0 : this.#waitMs, deciding)) return await deciding;
    } catch (error) {
      if (leftMs <= 0) throw error;
    }
    if (late !== undefined && leftMs > 0) return late;
    pace.isSlow = true;
    throw unansweredYet(asked.record);
  }

  /** Begins to decide a grant, unless it is being decided. @throws the last failure, or MEMBER_TIMEOUT when too busy */
  #begin(pace: Pace, key: string, question: Question): Promise<TimedGrant> {
    if (this.#now() < pace.retryAtMs) throw pace.failure;
    let deciding = pace.deciding.get(key);
    if (deciding === undefined) {
      if (pace.isSlow && pace.deciding.size >= decidedAtOnce) throw unansweredYet(question[0].record);
      deciding = this.#decide(pace, key, question);
      deciding.catch(() => undefined);
      pace.deciding.set(key, deciding);
    }
    return deciding;
  }

  async #decide(pace: Pace, key: string, [asked, ...about]: Question): Promise<TimedGrant> {
    const startedAtMs = this.#now();
    const byMs = startedAtMs + longestMs;
    const isLate = (): boolean => this.#now() - startedAtMs > this.#waitMs;
    try {
      const found = await pace.gate.run(nothingAborts, () => this.#reviewer.grant({ ...asked, byMs }, ...about));
      if (isLate()) {
        const kept = { grant: found.grant, untilMs: this.#now() + answerCountsMs };
        this.#decidedLate.set(key, kept);
        return kept;
      }
      // Answers that were remembered say nothing about how quick the cluster is now.
      if (found.untilMs >= startedAtMs + answerCountsMs) pace.isSlow = false;
      return found;
    } catch (error) {
      // A grant that would take too many questions says nothing about how quick the cluster is.
      const isOfCluster = !(error instanceof GatewayError && error.code === 'CLUSTER_UNUSABLE');
      if (isOfCluster && isLate()) {
        pace.failure = error;
        pace.retryAtMs = this.#now() + retryMs;
      }
      throw error;
    } finally {
      pace.deciding.delete(key);
    }
  }

  #paceOf(incarnation: string): Pace {
    let pace = this.#paces.get(incarnation);
    if (pace === undefined) {
      pace = { deciding: new Map(), gate: makeGate(decidedAtOnce), isSlow: false, failure: undefined, retryAtMs: 0 };
      this.#paces.set(incarnation, pace);
    }
    return pace;
  }
}
