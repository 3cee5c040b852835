// Parses the metav1.Status in error answers of API servers. The body cannot be trusted: a proxy in front of the API
// server may have written it, and a member may send anything.
import { fieldOf, objectAt, textAt, type JsonObject } from '../lib/objects/json-object.ts';
import { jsonIn } from '../lib/json/exact-json.ts';

/** The fields of a `metav1.Status`. */
export interface StatusAnswer {
  /**
   * Whether the body is a metav1.Status. If not, something other than an API server answered, such as a load balancer.
   */
  readonly isStatus: boolean;
  /** The HTTP status code in the Status; 0 when it has none. */
  readonly code: number;
  readonly reason: string;
  /**
   * The field `message`. It is also read from a JSON object that is no Status, since proxies write there why they
   * refuse.
   */
  readonly message: string;
  readonly details: JsonObject;
}

/**
 * The Status in the body of an error answer. Fields that are missing or have an unexpected type become 0, '' or empty.
 * Never throws.
 */
export function readStatus(body: Buffer): StatusAnswer {
  return statusOf(jsonIn(body));
}

/** Does the same as {@link readStatus} for a JSON value that is parsed already. */
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
