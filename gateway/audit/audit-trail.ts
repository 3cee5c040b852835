// The type of what the audit log remembers of one request from its first audit event to its last.
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
   * True when this request was let in only because its audit events could be stored (`block` in the overflow policy).
   * Its events are then written even if a sink has become full since.
   */
  readonly mustStore: boolean;
  readonly receivedTimestamp: string;
  readonly body: BodyMetadataReader | undefined;
  started: boolean;
}
