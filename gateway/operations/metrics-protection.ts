// Decides who may scrape `/metrics` when its address can be reached from other machines: a caller with a token that the
// hub knows, and whom the hub's RBAC allows `get /metrics`. The metrics name all clusters, so scrapes are refused while
// the hub cannot be asked.
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';

/**
 * The two reviews by which the hub decides about scrapes. Answers may come from the caches that requests use as well.
 */
export interface MetricsReviews {
  /**
   * The user of a token, by a TokenReview; undefined when the hub does not know the token.
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when the hub cannot be asked
   */
  holderOf(token: string): Promise<User | undefined>;
  /**
   * Whether RBAC on the hub allows the user the verb `get` on this non-resource path, by a SubjectAccessReview.
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when the hub cannot be asked
   */
  mayGet(user: User, path: string): Promise<boolean>;
}

/**
 * Decides whether a scrape is allowed: resolves when it is allowed, otherwise rejects with a GatewayError. The argument
 * holds the values of all `Authorization` headers of the scrape.
 */
export type AdmitScrape = (authorization: readonly string[]) => Promise<void>;

const bearerForm = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Protects `/metrics` as Kubernetes components do: the caller needs a ClusterRole with `nonResourceURLs: [/metrics]`
 * and the verb get.
 */
export function protectMetrics(reviews: MetricsReviews): AdmitScrape {
  return async (authorization) => {
    const token = authorization.length === 1 ? bearerForm.exec(authorization[0]!)?.[1] : undefined;
    if (token === undefined)
      throw new GatewayError('UNAUTHENTICATED', 'send the bearer token of a ServiceAccount of the hub');
    const user = await reviews.holderOf(token);
    if (user === undefined) throw new GatewayError('UNAUTHENTICATED', 'the hub does not know this token');
    if (await reviews.mayGet(user, '/metrics')) return;
    throw new GatewayError(
      'FORBIDDEN',
      `user "${user.name}" may not get /metrics: bind it to a ClusterRole with nonResourceURLs ["/metrics"] and verb get`,
    );
  };
}
