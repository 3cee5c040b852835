// Which of a cluster's endpoints to begin with: the one that worked last, until it fails or until it is time to see
// whether the first one is back. One failed call moves all calls on at once, so that they do not all wait for the same
// dead address.

/** The memory shared by all calls to one cluster. */
export interface EndpointOrder {
  /** Index of the endpoint to begin with. */
  readonly present: number;
  /** Where to go on after those that failed, the first one first; undefined when none is left. */
  after(tried: ReadonlySet<number>): number | undefined;
  /** No connection to this endpoint was to be had. */
  failed(index: number): void;
  /** A connection to this endpoint stands, asked for because others had failed. */
  connected(index: number): void;
  /** True at most once a period, while another than the first is in use: the caller should try the first one. */
  returnDue(): boolean;
}

/** How long another endpoint than the first is used before the first is tried again. */
export const returnAfterMs = 30_000;

/** Makes it for `count` endpoints; `nowMs` is injectable for tests. */
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
