// Step 1: the request gets its id and its clock. Nothing here throws, since nothing could answer the error yet.
import { randomUUID } from 'node:crypto';
import { readOnce } from '../../http/repeated-headers.ts';
import { headerValues } from '../../routing/forward/headers.ts';
import type { Progress } from '../../routing/forward/stream.ts';
import { RequestState, received } from '../exchange.ts';
import type { Arrival } from '../../http/arrival.ts';
import type { Received } from '../exchange.ts';

/**
 * An `Audit-ID` a client or an aggregator may choose (kube-apiserver takes it over as well, cut at 64 bytes; we refuse
 * odd ones).
 */
const auditIdForm = /^[A-Za-z0-9._-]{1,64}$/;

export function receive(arrival: Arrival): Received {
  const auditId = usable(arrival.askedAuditId) ?? auditIdInHeaders(arrival.inbound.headers) ?? nextAuditId();
  const progress: Progress = {
    sentAtMs: 0,
    firstByteAtMs: 0,
    bytesIn: 0,
    bytesOut: 0,
    status: 0,
    ending: 'open',
    onAnswering: undefined,
  };
  return received(new RequestState(arrival), auditId, performance.now(), progress);
}

const auditIdInHeaders = readOnce((headers) => {
  const asked = headerValues(headers, 'audit-id');
  return asked.length === 1 ? (usable(asked[0]) ?? null) : null;
});

function usable(asked: string | undefined): string | undefined {
  return asked !== undefined && auditIdForm.test(asked) ? asked : undefined;
}

/** Unique, not secret: a random start of the process and a count, in the form of a UUID (RFC 9562 version 8). */
const processPart = randomUUID().slice(0, 14).concat('8').concat(randomUUID().slice(15, 24));
let issued = 0;

function nextAuditId(): string {
  issued += 1;
  return processPart + issued.toString(16).padStart(12, '0');
}
