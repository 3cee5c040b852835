// Reads the metav1.Status with which API servers say why there is no object. What answers may be no API server but a
// proxy in front of it, and a member may answer anything.
import { fieldOf, objectAt, textAt, type JsonObject } from '../lib/objects/json-object.ts';
import { jsonIn } from '../lib/json/exact-json.ts';

/** The fields of a `metav1.Status`. */
export interface StatusAnswer {
  /** Whether it is a Status: otherwise another program than an API server answered. */
  readonly isStatus: boolean;
  /** The HTTP status code in the Status; 0 when it has none. */
  readonly code: number;
  readonly reason: string;
  /** Also given when a JSON object is no Status: proxies write there why they refuse a request. */
  readonly message: string;
  readonly details: JsonObject;
}

/**
 * The Status in the body of an error answer. What the body does not have as Kubernetes writes it is 0, '' or empty;
 * never throws, whatever the body is.
 */
export function readStatus(body: Buffer): StatusAnswer {
  return statusOf(jsonIn(body));
}

/** As {@link readStatus}, of parsed JSON. */
export function statusOf(value: unknown): StatusAnswer {
  const isStatus = fieldOf(value, 'kind') === 'Status';
  const status = isStatus ? value : undefined;
  const code = fieldOf(status, 'code');
  return {
    isStatus,
    code: typeof code === 'number' ? code : 0,
    reason: textAt(status, 'reason'),
    message: textAt(value, 'message'),
    details: objectAt(status, 'details'),
  };
}
