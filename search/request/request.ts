// A request to the index as the gateway passes it on, with the functions to answer it. `user` is the user that was
// authorized; with `--as` it is the impersonated user. `headers` contain no credentials. The index uses nothing else of
// the caller.
import type { ErrorCode, GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import type { Inbound } from '../../http/inbound.ts';
import type { Progress } from '../../routing/forward/stream.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/**
 * The form of the answer that the client accepts: `as` and `v` of the Accept header. Both are '' for the plain object.
 */
export interface Form {
  readonly as: '' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  readonly version: string;
}

/** The paths of Karmada's search: `proxying` for `proxying/<name>/proxy/…`, `cache` for `search/cache/…`. */
export type KarmadaPart = 'proxying' | 'cache';

/** Which part of the index the path names. */
export type IndexPart =
  | { readonly part: 'resources' | 'proxy' | KarmadaPart; readonly segments: readonly string[] }
  | { readonly part: 'collections'; readonly name: string | undefined }
  | { readonly part: 'indexes'; readonly name: string | undefined }
  | { readonly part: 'fleet' }
  | { readonly part: 'facets' | 'values' | 'counts' | 'freshness' | 'query' | 'status' | 'move' | 'rebuild' }
  | { readonly part: 'whocan' | 'whatcan' };

/** A read request that is sent to many clusters. */
export interface EveryCluster {
  /** The path on each cluster, without query string. */
  readonly path: string;
  /** The query string with its leading `?`, or ''. */
  readonly query: string;
  /** Whether the cluster of this name is asked, if the caller may ask it at all. */
  readonly isAsked: (cluster: string) => boolean;
  /** A text for a `Warning` header of the answer; undefined for none. */
  readonly notice: string | undefined;
}

/** A request to the index, with the functions to answer it. */
export interface IndexRequest {
  readonly asked: IndexPart;
  readonly inbound: Inbound;
  readonly headers: RawHeaders;
  /** The query string, not decoded, with its leading `?`; '' when there is none. */
  readonly query: string;
  readonly user: User;
  readonly auditId: string;
  readonly progress: Progress;
  /** When a stream ends with an error, the error is stored in `outcome.error`, for audit and metrics. */
  readonly outcome: { error: unknown };
  /**
   * True when a hub's kube-apiserver forwarded the request. That server ends requests that it does not recognise as a
   * watch after 60 s.
   */
  readonly aggregated: boolean;
  /**
   * Chooses among the given forms by the Accept header.
   * @throws GatewayError NOT_ACCEPTABLE when the client accepts none
   */
  form(forms: readonly Form['as'][]): Form;
  /**
   * Sends the request to a member cluster as the caller, passes the answer on, and ends the request.
   * @param path the path on the member cluster, without query string
   * @param query with its leading `?`, or ''
   * @throws GatewayError (rejects) only while nothing has been sent; FORBIDDEN when the caller may not use the cluster
   */
  live(cluster: string, path: string, query: string): Promise<void>;
  /**
   * Sends the request to every cluster as the caller, passes on their answers as one list, object or watch, and ends
   * the request. Resolves to false, with nothing sent, when the caller may ask none of these clusters.
   * @throws GatewayError (rejects) before the answer began, or to cut an answer that has begun
   */
  everyCluster(asked: EveryCluster): Promise<boolean>;
  /** Reads and parses the JSON body. @throws GatewayError (rejects) UNSUPPORTED_MEDIA_TYPE, TOO_LARGE or BAD_REQUEST */
  body(): Promise<unknown>;
}

/** Whether the request came by a path of Karmada's search, whose clients expect Karmada's annotation on each object. */
export function isKarmadas({ asked: { part } }: Pick<IndexRequest, 'asked'>): boolean {
  return part === 'proxying' || part === 'cache';
}

/** Returns the JSON of a metav1.Status for an error. */
export type StatusJson = (error: GatewayError) => string;

/** Whether `error` has one of the given codes of a GatewayError. */
export function isError(error: unknown, ...codes: readonly ErrorCode[]): boolean {
  return codes.some((code) => (error as { code?: unknown } | undefined)?.code === code);
}
