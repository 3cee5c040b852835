// Who may scrape `/metrics` where others can reach it: the holder of a token that the hub knows and whom the hub lets
// `get /metrics`. The page holds the names of all clusters, so while the hub cannot be asked the answer is no.
import { GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';

/** How the hub is asked; both answers may come from the caches of requests. */
export interface MetricsReviews {
  /** The user of a token, or undefined (TokenReview). @throws GatewayError HUB_UNAVAILABLE */
  holderOf(token: string): Promise<User | undefined>;
  /**
   * Whether RBAC allows the verb `get` on this nonResourceURL (SubjectAccessReview). @throws GatewayError
   * HUB_UNAVAILABLE
   */
  mayGet(user: User, path: string): Promise<boolean>;
}

/** Lets a scrape pass or throws. Takes the values of all `Authorization` headers. */
export type AdmitScrape = (authorization: readonly string[]) => Promise<void>;

const bearerForm = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** Protects `/metrics` as kube-apiserver's components do: ClusterRole with `nonResourceURLs: [/metrics]`, verb get. */
export function protectMetrics(reviews: MetricsReviews): AdmitScrape {
  return async (authorization) => {
    const token = authorization.length === 1 ? bearerForm.exec(authorization[0]!)?.[1] : undefined;
    if (token === undefined)
      throw new GatewayError('UNAUTHENTICATED', 'scrape with the bearer token of a ServiceAccount of the hub');
    const user = await reviews.holderOf(token);
    if (user === undefined) throw new GatewayError('UNAUTHENTICATED', 'the hub does not know this token');
    if (await reviews.mayGet(user, '/metrics')) return;
    throw new GatewayError(
      'FORBIDDEN',
      `user "${user.name}" may not get /metrics: bind it to a ClusterRole with nonResourceURLs ["/metrics"] and verb get`,
    );
  };
}
