// What the audit log keeps about one request, from the request's first audit event to its last.
import type { User } from '../model/user.ts';
import type { RequestInfo } from './request-info.ts';

/** The stage of a request at which an audit event is written; the names are kube-apiserver's. */
export type AuditStage = 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';

/**
 * How a request is audited. A function that returns undefined in place of this has decided for level None: no event is
 * written.
 */
export interface AuditDecision {
  readonly level: 'Metadata';
  readonly omitStages: ReadonlySet<AuditStage>;
}

/** The properties of a request that rules of an audit policy are matched with. */
export interface AuditedRequest {
  /** The authenticated caller; undefined when authentication failed. */
  readonly caller: User | undefined;
  /** Verb as in kube-apiserver's RequestInfo: an exec or port-forward by GET has `get`. */
  readonly verb: string;
  readonly isResource: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Path without query. For a request to a cluster it is the part after `/clusters/<name>/proxy`. */
  readonly path: string;
}

/**
 * Metadata of the object in a request body: the fields that objectRef of an audit event shows. A field is absent when
 * the body does not have it.
 */
export interface BodyMetadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Gets the chunks of a request body one after the other and remembers the metadata of the object in it. */
export interface BodyMetadataReader {
  feed(chunk: Buffer): void;
  /** The metadata found in the chunks so far. */
  found(): BodyMetadata;
}

/** Data about one request that the audit log keeps from the first audit event of the request to the last. */
export interface AuditTrail {
  readonly decision: AuditDecision;
  readonly request: AuditedRequest;
  readonly info: RequestInfo;
  /**
   * True when the overflow policy (`block`) lets this request in only while its audit events can be stored. Its events
   * are then handed to the sinks even if a sink has become full since.
   */
  readonly mustStore: boolean;
  readonly receivedTimestamp: string;
  readonly body: BodyMetadataReader | undefined;
  started: boolean;
}
