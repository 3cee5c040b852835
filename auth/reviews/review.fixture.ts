// A hub that answers reviews in tests: it records what it was asked and answers by a function. An answer may be held
// back, so that a test decides what happens in between.
import type { HubAnswer, HubCall, HubClient } from '../../cache/hub/hub-types.ts';
import { makeHubReview } from './hub-review.ts';
import type { HubReview } from './hub-review.ts';

/** What the test hub says: a `status`, an HTTP answer of its own, or an error to throw. */
export type ReviewAnswer = { readonly status: object } | { readonly code: number; readonly body?: string } | Error;

export interface TestReviews {
  readonly client: Pick<HubClient, 'request'>;
  /** Asks it without waiting before it asks again. */
  readonly review: HubReview;
  /** The `spec` of every review so far. */
  readonly specs: readonly Record<string, unknown>[];
  readonly calls: readonly HubCall[];
}

/** @param answer for every review, in order of asking */
export function testReviews(
  answer: (spec: Record<string, unknown>, count: number) => ReviewAnswer | Promise<ReviewAnswer>,
): TestReviews {
  const calls: HubCall[] = [];
  const specs: Record<string, unknown>[] = [];
  const client = {
    async request(call: HubCall): Promise<HubAnswer> {
      const { spec } = call.body as { spec: Record<string, unknown> };
      calls.push(call);
      specs.push(spec);
      const given = await answer(spec, calls.length);
      if (given instanceof Error) throw given;
      if ('code' in given) return { status: given.code, body: Buffer.from(given.body ?? '') };
      return { status: 201, body: Buffer.from(JSON.stringify({ ...(call.body as object), status: given.status })) };
    },
  };
  return { client, review: makeHubReview({ client, retryDelayMs: 0 }), specs, calls };
}
