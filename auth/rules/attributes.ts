// What an authorizer decides about: which user wants to do what to which object in which cluster.
import type { User } from '../../model/user.ts';

/** The cluster that a request is for: its UID, and the name and labels by which rules can select clusters. */
export interface AttributesCluster {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * One action that an authorizer allows or refuses: the fields of apiserver:pkg/authorization/authorizer.Attributes, and
 * the cluster.
 */
export interface Attributes {
  readonly user: User;
  /** Kubernetes verb of the request to the cluster; '' for HTTP methods without one, which no authorizer allows. */
  readonly verb: string;
  /**
   * The cluster that the request is for; undefined for requests that the gateway answers itself: its `clusters` API,
   * discovery, health.
   */
  readonly cluster: AttributesCluster | undefined;
  /**
   * How the client addressed the cluster, for a request to a cluster. Undefined for everything else, such as a check
   * with verb `impersonate`.
   */
  readonly outer?: AttributesOuter | undefined;
  readonly resourceRequest: boolean;
  /** '' is the core group. This field and the next five are '' if `resourceRequest` is false. */
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * Path below `/proxy`, percent-decoded, with a leading slash, without the query. Used only if `resourceRequest` is
   * false.
   */
  readonly path: string;
}

/**
 * The API through which the client addressed the cluster, which may be the gateway's own or one of a hub. The hub's
 * RBAC decides about the `proxy` subresource of this API.
 */
export interface AttributesOuter {
  readonly group: string;
  readonly version: string;
  /** The resource whose `proxy` subresource was requested. */
  readonly resource: string;
  /** The verb that an aggregating API server derives from the HTTP method; '' when there is none. */
  readonly httpVerb: string;
}
