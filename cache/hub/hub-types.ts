// How to ask the hub, what its objects look like, and how a source builds clusters from watched objects. Nothing here
// is called for a proxied request: requests read records, and reviews are cached (rule "records swap whole").
import type { ClusterSpec } from '../model/records.ts';

/** One request to the hub's API server as the gateway itself. */
export interface HubCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, from the slash. */
  readonly path: string;
  /** Sent as JSON; of a PATCH with `contentType`. */
  readonly body?: unknown;
  /** `application/json` unless said otherwise. */
  readonly contentType?: string;
  /** `application/json` unless said otherwise. */
  readonly accept?: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A whole answer. */
export interface HubAnswer {
  readonly status: number;
  /** Of `Retry-After` in seconds, as kube-apiserver sends it; undefined without one, or as a date. */
  readonly retryAfterMs?: number | undefined;
  readonly body: Buffer;
}

/** An answer that goes on; iterating ends with the answer and throws when it was cut. */
export interface HubStream {
  readonly status: number;
  /** As of {@link HubAnswer}. */
  readonly retryAfterMs: number | undefined;
  readonly chunks: AsyncIterable<Buffer>;
  close(): void;
}

/** Asks the hub. Any status is an answer; it throws only when there is none. */
export interface HubClient {
  /** @throws GatewayError HUB_UNAVAILABLE when the hub cannot be reached, is too slow or cuts its answer */
  request(call: HubCall): Promise<HubAnswer>;
  /** Resolves with the head. @throws GatewayError HUB_UNAVAILABLE */
  open(call: HubCall): Promise<HubStream>;
  /** `https://host:port` for messages. */
  readonly url: string;
  close(): void;
}

/** An object of the hub as JSON has it; unchecked but for these fields. */
export interface HubObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** One list+watch: what a reflector follows. */
export interface WatchedResource {
  /** '' is the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, as in paths. */
  readonly resource: string;
  /** Undefined: all namespaces, or a cluster-scoped resource. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** The objects of one {@link WatchedResource} now, by `namespace/name`, or `name` of a cluster-scoped one. */
export type HubObjects = ReadonlyMap<string, HubObject>;

/** A kind of cluster object on the hub: what to watch and what clusters that makes. */
export interface HubSource {
  /** As in `--sources`. */
  readonly name: string;
  readonly watches: readonly WatchedResource[];
  /**
   * Clusters of these objects, in a stable order; pure but for remembering what unchanged objects gave before. Never
   * throws: an object that makes no cluster gives a spec with `problem`.
   * @param objects one map for each of `watches`, in that order; an empty one while its kind does not exist on the hub
   */
  compile(objects: readonly HubObjects[]): readonly ClusterSpec[];
}
