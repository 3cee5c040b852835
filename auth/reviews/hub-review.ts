// Sends a review to the hub and returns its status. If that fails, the caller gets 503. A 401 would make kubectl ask
// for a new login, and a 403 would look like a decision about the user.
import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../../model/errors.ts';
import type { ApiAnswer, ApiClient } from '../../kube/types.ts';
import { parseJson } from '../../lib/json/parse-json.ts';

/** The kinds of reviews that the gateway sends to a hub. */
export type ReviewKind = 'TokenReview' | 'SubjectAccessReview';

/** The hub client that sends the reviews, and the time limits for them. */
export interface HubReviewOptions {
  readonly client: Pick<ApiClient, 'request'>;
  /** Maximum time in milliseconds for one review, including a retry. */
  readonly deadlineMs?: number;
  /** Milliseconds before the retry. client-go's webhook backoff begins with 500 ms and retries four times. */
  readonly retryDelayMs?: number;
}

/**
 * Creates a review with this `spec` and returns its `status`, whose content is not checked.
 * @throws GatewayError HUB_UNAVAILABLE (rejects)
 */
export type HubReview = (kind: ReviewKind, spec: object) => Promise<Readonly<Record<string, unknown>>>;

const groups: Readonly<Record<ReviewKind, string>> = {
  TokenReview: 'authentication.k8s.io',
  SubjectAccessReview: 'authorization.k8s.io',
};
const defaultDeadlineMs = 5_000;
const defaultRetryDelayMs = 500;
/**
 * HTTP statuses after which a review is retried: those of client-go's webhook backoff (apiserver:pkg/util/webhook
 * DefaultShouldRetry), and those of load balancers in front of a hub.
 */
const passing: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);

/** Makes the function that sends reviews. It retries once when the failure may be temporary and there is time left. */
export function makeHubReview(options: HubReviewOptions): HubReview {
  const { client, deadlineMs = defaultDeadlineMs, retryDelayMs = defaultRetryDelayMs } = options;
  return async (kind, spec) => {
    const group = groups[kind];
    const body = { apiVersion: `${group}/v1`, kind, spec };
    const endMs = performance.now() + deadlineMs;
    const ask = (): Promise<ApiAnswer> => {
      const timeoutMs = Math.max(1, Math.ceil(endMs - performance.now()));
      return client.request({ method: 'POST', path: `/apis/${group}/v1/${kind.toLowerCase()}s`, body, timeoutMs });
    };
    const again = async (): Promise<boolean> => {
      if (performance.now() + retryDelayMs >= endMs) return false;
      await pause(retryDelayMs);
      return true;
    };
    let answer: ApiAnswer;
    try {
      answer = await ask();
      if (passing.has(answer.status) && (await again())) answer = await ask();
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'HUB_UNAVAILABLE' || !(await again())) throw error;
      answer = await ask();
    }
    return statusOf(kind, answer);
  };
}

function statusOf(kind: ReviewKind, { status: code, body }: ApiAnswer): Readonly<Record<string, unknown>> {
  if (code === 401 || code === 403) {
    throw unavailable(
      `the hub does not let the gateway create a ${kind} (${code}): bind its account to the ClusterRole system:auth-delegator`,
    );
  }
  if (code !== 200 && code !== 201) throw unavailable(`the hub answered a ${kind} with ${code}; try again`);
  let review: unknown;
  try {
    review = parseJson(body.toString('utf8'));
  } catch (error) {
    throw unavailable(`the hub's answer to a ${kind} is not JSON`, error);
  }
  const status: unknown = (review as { status?: unknown } | null)?.status;
  if (typeof status !== 'object' || status === null) throw unavailable(`the hub's answer to a ${kind} has no status`);
  return status as Record<string, unknown>;
}

function unavailable(message: string, cause?: unknown): GatewayError {
  return new GatewayError('HUB_UNAVAILABLE', message, { cause });
}
