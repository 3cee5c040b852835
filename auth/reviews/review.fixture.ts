// A fake hub for tests of reviews. It records the reviews it gets and answers them with a function. That function may
// return a pending promise, so that a test controls when the answer arrives.
import type { ApiAnswer, ApiCall, ApiClient } from '../../kube/types.ts';
import { makeHubReview } from './hub-review.ts';
import type { HubReview } from './hub-review.ts';

/** An answer of the fake hub: a review `status`, another HTTP answer, or an error to throw. */
export type ReviewAnswer = { readonly status: object } | { readonly code: number; readonly body?: string } | Error;

export interface TestReviews {
  readonly client: Pick<ApiClient, 'request'>;
  /** Sends reviews to the fake hub, without waiting before a retry. */
  readonly review: HubReview;
  /** The `spec` of every review so far. */
  readonly specs: readonly Record<string, unknown>[];
  readonly calls: readonly ApiCall[];
}

/**
 * Makes a fake hub, and a function that sends reviews to it.
 * @param answer returns the hub's answer; called for every review, in order
 */
export function testReviews(
  answer: (spec: Record<string, unknown>, count: number) => ReviewAnswer | Promise<ReviewAnswer>,
): TestReviews {
  const calls: ApiCall[] = [];
  const specs: Record<string, unknown>[] = [];
  const client = {
    async request(call: ApiCall): Promise<ApiAnswer> {
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
