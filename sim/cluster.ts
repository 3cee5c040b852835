// What every handler of one simulated API server shares, and one request as handlers see it. Handlers take time and
// timers from here only, so that closing the simulator leaves nothing running.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authorize } from './access/authorize.ts';
import type { Negotiated } from './wire/negotiate.ts';
import type { RequestInfo } from './api/request-info.ts';
import type { Registry } from './store/resources.ts';
import type { KubernetesSpec } from './schema/spec.ts';
import type { Store } from './store/store.ts';
import type { Timers } from './controllers/timers.ts';
import type { SimUser } from './types.ts';

/** The parts of one simulated API server. */
export interface Cluster {
  readonly name: string;
  /** `v1.36.3`. */
  readonly version: string;
  readonly store: Store;
  readonly registry: Registry;
  readonly authorize: Authorize;
  readonly timers: Timers;
  /** Protobuf messages, for decoding bodies. */
  readonly messages: KubernetesSpec['messages'];
  now(): Date;
  /** The CA clients of this server trust. */
  caPem(): string;
  /** Looks a bearer token up, for TokenReview. */
  lookupToken(token: string): SimUser | undefined;
  /** Makes a bearer token for a user, for TokenRequest. */
  issueToken(user: SimUser): string;
  /** Streams that end when the simulator closes; returns the way to forget one. */
  trackStream(end: () => void): () => void;
}

/** One authenticated, authorized request. */
export interface Call {
  readonly cluster: Cluster;
  readonly request: IncomingMessage;
  readonly reply: ServerResponse;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly rawHeaders: readonly string[];
  /** Whom the request runs as. */
  readonly user: SimUser;
  readonly accept: Negotiated;
  readonly auditId: string;
  /** Texts of `Warning: 299` headers of the answer. */
  readonly warnings: string[];
}
