// Types: what all request handlers of one simulated API server share, and the request that a handler answers. Handlers
// use the timers of their `Cluster` and no others, so that no timer runs after the simulator was closed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authorize } from '../access/authorize.ts';
import type { Negotiated } from '../wire/negotiate.ts';
import type { RequestInfo } from '../model/request-info.ts';
import type { Registry } from '../store/resources.ts';
import type { KubernetesSpec } from '../schema/spec.ts';
import type { Store } from '../store/store.ts';
import type { Timers } from '../model/timers.ts';
import type { SimUser } from '../model/types.ts';

/**
 * One simulated API server: its objects, resources, clock and tokens. All its request handlers and controllers share
 * it.
 */
export interface Cluster {
  readonly name: string;
  /** The Kubernetes version, such as `v1.36.3`. */
  readonly version: string;
  readonly store: Store;
  readonly registry: Registry;
  readonly authorize: Authorize;
  readonly timers: Timers;
  /** Protobuf message types, to decode request bodies. */
  readonly messages: KubernetesSpec['messages'];
  now(): Date;
  /** The CA certificate for clients of this server, as PEM text. */
  caPem(): string;
  /** Returns the user of a bearer token, for TokenReview. */
  lookupToken(token: string): SimUser | undefined;
  /** Makes a bearer token for a user, for TokenRequest. */
  issueToken(user: SimUser): string;
  /**
   * Registers an open stream; `end` is called when the simulator closes. Returns a function that removes the
   * registration.
   */
  trackStream(end: () => void): () => void;
}

/** One authenticated and authorized request, with everything a handler needs to answer it. */
export interface Call {
  readonly cluster: Cluster;
  readonly request: IncomingMessage;
  readonly reply: ServerResponse;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly rawHeaders: readonly string[];
  /** The user that the request runs as, after impersonation. */
  readonly user: SimUser;
  readonly accept: Negotiated;
  readonly auditId: string;
  /** Texts for `Warning: 299` headers of the answer. */
  readonly warnings: string[];
}
