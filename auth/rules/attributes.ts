// What an authorizer is asked about: who wants to do what, to which object, in which cluster.
import type { User } from '../../cache/model/user.ts';

/** The cluster a request is about: what rules can tell clusters apart by. */
export interface AttributesCluster {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** One question to an authorizer (apiserver:pkg/authorization/authorizer.Attributes, plus the cluster). */
export interface Attributes {
  readonly user: User;
  /** Verb of the inner request; '' for HTTP methods that have none, which nobody is ever allowed. */
  readonly verb: string;
  /** Undefined for requests that the gateway answers itself: its `clusters` API, discovery, health. */
  readonly cluster: AttributesCluster | undefined;
  /**
   * Set for a request to a cluster; absent where the other fields are the whole question, as with verb `impersonate`.
   */
  readonly outer?: AttributesOuter | undefined;
  readonly resourceRequest: boolean;
  /** '' is the core group. This field and the next five are '' for non-resource requests. */
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * Percent-decoded path below `/proxy`, with its leading slash, without query; only read for non-resource requests.
   */
  readonly path: string;
}

/** The API below which a cluster was asked for: what a hub's RBAC is asked about. */
export interface AttributesOuter {
  readonly group: string;
  readonly version: string;
  /** The resource whose `proxy` subresource was called. */
  readonly resource: string;
  /** Verb of the HTTP method alone, as an aggregating API server maps it; '' for methods that have none. */
  readonly httpVerb: string;
}
