// The type of the data that the audit log keeps about one request, from the request's first audit event to its last.
import type { BodyMetadataReader } from './object.ts';
import type { AuditDecision } from './policy.ts';
import type { AuditedRequest } from './rule.ts';
import type { RequestInfo } from '../request/request-info.ts';

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
