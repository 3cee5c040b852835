// The record that the audit log keeps of one request while it is under way.
import type { BodyMetadataReader } from './object.ts';
import type { AuditDecision } from './policy.ts';
import type { AuditedRequest } from './rule.ts';
import type { RequestInfo } from '../request/request-info.ts';

/** Kept from the first event of a request to its last. */
export interface AuditTrail {
  readonly decision: AuditDecision;
  readonly request: AuditedRequest;
  readonly info: RequestInfo;
  /** A full sink takes its events too, because its rule forbids it to go unrecorded. */
  readonly mustStore: boolean;
  readonly receivedTimestamp: string;
  readonly body: BodyMetadataReader | undefined;
  started: boolean;
}
