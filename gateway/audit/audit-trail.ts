// What the audit log keeps of one request while it is under way.
import type { BodyMetadataReader } from './object.ts';
import type { AuditDecision } from './policy.ts';
import type { AuditedRequest } from './rule.ts';
import type { RequestInfo } from '../request/request-info.ts';

/** What auditing knows of a request from its beginning to its end. */
export interface AuditTrail {
  readonly decision: AuditDecision;
  readonly request: AuditedRequest;
  readonly info: RequestInfo;
  /** Its events are taken by a full sink as well: it was let in when there was room, or must not be missing. */
  readonly mustStore: boolean;
  readonly receivedTimestamp: string;
  readonly body: BodyMetadataReader | undefined;
  started: boolean;
}
