// Decides which endpoint of a cluster new requests use: the last one that worked, until it fails, or until it is time
// to try the preferred endpoint again. After one failed connection all new requests use another endpoint, so that they
// do not all wait for the same dead address.

/**
 * Which endpoint is used now, for all requests to one cluster. Endpoints are given by index; index 0 is the preferred
 * one.
 */
export interface EndpointOrder {
  /** Index of the endpoint that a new request tries first. */
  readonly present: number;
  /** The next endpoint to try, in order of preference; undefined when all were tried. */
  after(tried: ReadonlySet<number>): number | undefined;
  /** Records that no connection to this endpoint could be opened. */
  failed(index: number): void;
  /** Records that a connection to this endpoint was opened after others had failed. */
  connected(index: number): void;
  /**
   * Whether the caller should try the preferred endpoint now. True at most once per period, and only while another
   * endpoint is in use.
   */
  returnDue(): boolean;
}

/** For this many milliseconds another endpoint is used, before the preferred one is tried again. */
export const returnAfterMs = 30_000;

/**
 * Makes the order for a cluster with `count` endpoints, which begins with the preferred one.
 * @param periodMs milliseconds for which another endpoint is used before the preferred one is tried again
 * @param nowMs a monotonic clock in milliseconds
 */
export function makeEndpointOrder(
  count: number,
  periodMs: number = returnAfterMs,
  nowMs: () => number = () => performance.now(),
): EndpointOrder {
  let present = 0;
  let awaySinceMs = 0;
  const begin = (index: number): void => {
    if (present === 0) awaySinceMs = nowMs();
    present = index;
  };
  return {
    get present() {
      return present;
    },
    after(tried) {
      for (let index = 0; index < count; index++) if (!tried.has(index)) return index;
      return undefined;
    },
    failed(index) {
      if (index === present && count > 1) begin(index === 0 ? 1 : 0);
    },
    connected(index) {
      if (index !== present) begin(index);
    },
    returnDue() {
      if (present === 0 || nowMs() - awaySinceMs < periodMs) return false;
      awaySinceMs = nowMs();
      return true;
    },
  };
}
