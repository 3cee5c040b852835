// Measures how often something happens per second, as an average over the last ten seconds. The rate is computed when
// it is read, so it falls to zero when nothing happens.

export interface Rate {
  add(count: number): void;
  /** The average number of events per second, with one decimal. */
  perSecond(): number;
}

const buckets = 10;

/**
 * Makes a rate that is zero at first.
 * @param nowMs a clock in milliseconds that never jumps, such as `performance.now`
 */
export function makeRate(nowMs: () => number = () => performance.now()): Rate {
  const counts = Array.from({ length: buckets }, () => 0);
  let second = Math.floor(nowMs() / 1000);
  const roll = (): void => {
    const now = Math.floor(nowMs() / 1000);
    for (let passed = Math.min(now - second, buckets); passed > 0; passed -= 1) {
      counts[(now - passed + 1) % buckets] = 0;
    }
    second = now;
  };
  return {
    add(count) {
      roll();
      counts[second % buckets]! += count;
    },
    perSecond() {
      roll();
      return Math.round((counts.reduce((sum, count) => sum + count, 0) / buckets) * 10) / 10;
    },
  };
}
