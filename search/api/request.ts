// One request to the index as the gateway hands it over, with the functions it gives to answer it. `user` is the one
// whom authorize let through (with `--as` the one acted as). `headers` hold no credential. Nothing here reads anything
// else of the caller.
import type { ErrorCode, GatewayError } from '../../cache/model/errors.ts';
import type { User } from '../../cache/model/user.ts';
import type { Inbound } from '../../http/inbound.ts';
import type { Progress } from '../../routing/forward/stream.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';

/**
 * Which form of an answer was asked for: kind of the transformation and version of its group; '' and '' for the plain
 * object.
 */
export interface Form {
  readonly as: '' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';
  readonly version: string;
}

/** Which part of the index is asked. */
export type IndexPart =
  | { readonly part: 'resources' | 'proxy'; readonly segments: readonly string[] }
  | { readonly part: 'collections'; readonly name: string | undefined }
  | { readonly part: 'indexes'; readonly name: string | undefined }
  | { readonly part: 'facets' | 'values' | 'counts' | 'freshness' | 'query' };

/** See the file comment. */
export interface IndexRequest {
  readonly asked: IndexPart;
  readonly inbound: Inbound;
  readonly headers: RawHeaders;
  /** Raw, with the leading `?`, or ''. */
  readonly query: string;
  readonly user: User;
  readonly auditId: string;
  readonly progress: Progress;
  /** Where it is noted why a stream was ended. */
  readonly outcome: { error: unknown };
  /** It came through a hub's kube-apiserver, which cuts what it takes for a short request after 60 s. */
  readonly aggregated: boolean;
  /** @throws GatewayError NOT_ACCEPTABLE when none of these forms is accepted */
  form(forms: readonly Form['as'][]): Form;
  /**
   * Asks a cluster itself as the caller, answers with what it says, and ends the exchange.
   * @param path as the cluster knows it, without query; @param query with `?`, or ''
   * @throws GatewayError (rejects) while nothing was sent; FORBIDDEN when the caller may not ask it
   */
  live(cluster: string, path: string, query: string): Promise<void>;
  /** The JSON body. @throws GatewayError (rejects) UNSUPPORTED_MEDIA_TYPE, TOO_LARGE or BAD_REQUEST */
  body(): Promise<unknown>;
}

/** Turns an error into the JSON of a metav1.Status. */
export type StatusJson = (error: GatewayError) => string;

/** Whether an error is one of these. */
export function isError(error: unknown, ...codes: readonly ErrorCode[]): boolean {
  return codes.some((code) => (error as { code?: unknown } | undefined)?.code === code);
}
