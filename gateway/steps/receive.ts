// Step 1 of the chain: gives the request an id and the time of its arrival. Nothing here may throw, because the step
// `recover`, which answers errors, has not run yet.
import { randomUUID } from 'node:crypto';
import { readOnce } from '../../http/repeated-headers.ts';
import { headerValues } from '../../http/raw-headers.ts';
import type { Progress } from '../../routing/forward/stream.ts';
import { RequestState, received } from '../../request/exchange.ts';
import type { Arrival } from '../../http/arrival.ts';
import type { Received } from '../../request/exchange.ts';

/**
 * The form of an `Audit-ID` that a client or an aggregating API server may choose, as in kube-apiserver. An id of any
 * other form is ignored, and the gateway makes a new one.
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

/**
 * Every id that the gateway makes has the form of a UUID (RFC 9562, version 8): a part that is random for this process,
 * then a counter. Ids are unique but can be guessed, so they must not be used as secrets.
 */
const processPart = randomUUID().slice(0, 14).concat('8').concat(randomUUID().slice(15, 24));
let issued = 0;

function nextAuditId(): string {
  issued += 1;
  return processPart + issued.toString(16).padStart(12, '0');
}
