// How a hub decides who a caller is and what the caller may do: by its trusted CAs, TokenReviews and
// SubjectAccessReviews. Each review costs a call to the hub, so new requests, open streams and metrics scrapes share
// the same caches of answers.
import { makeHubReview } from '../../auth/reviews/hub-review.ts';
import { makeHubAuthorizer } from '../../auth/reviews/subject-access-review.ts';
import { makeTokenReviewAuthenticator } from '../../auth/reviews/token-review.ts';
import type { TokenReviewAuthenticator } from '../../auth/reviews/token-review.ts';
import type { Authorizer } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ApiClient } from '../../kube/types.ts';
import type { HubConfig } from '../../config/sections/hub-config.ts';
import { startHubTrust } from './hub-trust.ts';
import type { HubTrust } from './hub-trust.ts';
import type { Log } from '../../lib/log.ts';
import type { MetricsReviews } from '../operations/metrics-protection.ts';

/** How a hub decides who its callers are and what they may do. */
export interface HubAccess {
  readonly trust: HubTrust;
  readonly tokens: TokenReviewAuthenticator;
  readonly authorizer: Authorizer;
  /** Asks the hub who may read metrics from the operations listener. */
  readonly metrics: MetricsReviews;
  /**
   * Resolves when the list of CAs that the hub trusts has been read. Until then, callers from the hub's front proxy or
   * with a client certificate of the hub are not accepted.
   */
  readonly synced: Promise<void>;
  /** Problems with the hub's trusted CAs at present, as texts for people; empty when there are none. */
  faults(): readonly string[];
  close(): void;
}

/** The settings that hub access needs, such as how long answers are cached. */
export type HubAccessConfig = Pick<
  HubConfig,
  'audiences' | 'tokenReviewTtlMs' | 'authorizeVerb' | 'subpathAuthorization' | 'authorizedTtlMs' | 'unauthorizedTtlMs'
>;

/** Begins to watch which CAs the hub trusts. Reviews are sent only when requests need them. */
export function startHubAccess(
  client: Pick<ApiClient, 'request' | 'open' | 'url'>,
  config: HubAccessConfig,
  log: Log,
): HubAccess {
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'the ConfigMap extension-apiserver-authentication of the hub could not be watched');
  const { synced, close, ...trust } = startHubTrust(client, {
    onFault: (message) =>
      log.error({ fault: message }, 'the ConfigMap extension-apiserver-authentication of the hub cannot be used'),
    onRecovered: (message) =>
      log.info({ fault: message }, 'the ConfigMap extension-apiserver-authentication of the hub can be used again'),
    onError,
  });
  const review = makeHubReview({ client });
  const tokens = makeTokenReviewAuthenticator({
    review,
    audiences: config.audiences,
    ttlMs: config.tokenReviewTtlMs,
  });
  const authorizer = makeHubAuthorizer({ ...config, review });
  return {
    trust,
    tokens,
    authorizer,
    metrics: {
      holderOf: async (token) => {
        try {
          return await tokens.holderOf(token);
        } catch (error) {
          if (error instanceof GatewayError && error.code === 'UNAUTHENTICATED') return undefined;
          throw error;
        }
      },
      mayGet: async (user, path) => {
        const question = { user, verb: 'get', path, cluster: undefined, resourceRequest: false, ...noResource };
        return (await authorizer.authorize(question)).allowed;
      },
    },
    synced,
    faults: () => trust.faults(),
    close,
  };
}

const noResource = { apiGroup: '', apiVersion: '', resource: '', subresource: '', namespace: '', name: '' } as const;
