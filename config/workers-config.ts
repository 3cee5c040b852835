// How many worker processes serve requests, which settings are refused with several workers, and the limits of each
// worker. The configured limits are those of the whole gateway, so each worker gets its share of them. The rate limit
// per user (`userQps`) cannot be divided, so it is refused with several workers.
import type { Config } from './configuration.ts';
import { countSettings } from './sections/limits-config.ts';
import type { LimitsConfig } from './sections/limits-config.ts';
import { whole } from './settings/kinds.ts';
import type { Fault, Settings } from './settings/settings.ts';

export const mostWorkers = 64;

/** The setting of the worker processes. */
export const workerSettings = {
  workers: {
    kind: whole({ least: 1, most: mostWorkers }),
    default: 1,
    text: 'processes that serve, beside one that accepts connections for them ([several cores](../how-to/several-cores.md)); not with `userQps`',
  },
} satisfies Settings;

/**
 * The least memory of one process, in bytes; a smaller share is refused. With less memory, garbage collection would
 * take most of the time. `--max-memory` has the same minimum.
 */
const leastBytes = 128 * 1024 ** 2;

/** Reports settings that cannot be combined with more than one worker. */
export function refuseWithWorkers(config: Pick<Config, 'limits'>, workers: number, fault: Fault): void {
  if (workers === 1) return;
  if (config.limits.userQps !== Infinity)
    fault(
      '--user-qps',
      'cannot be used with --workers above 1, because each process would count the requests of a user by itself',
    );
  if (config.limits.memoryBytes / (workers + 1) < leastBytes) {
    const leastMi = (leastBytes / 1024 ** 2) * (workers + 1);
    fault('--workers', `${workers} workers and the first process need at least ${leastMi}Mi of memory (--max-memory)`);
  }
}

/**
 * The limits of one worker: its share of each limit, rounded up. Memory is divided among the workers and the
 * supervising process.
 */
export function limitsOfWorker(limits: LimitsConfig, workers: number): LimitsConfig {
  const part = (bound: number): number => (bound === Infinity ? bound : Math.ceil(bound / workers));
  const counted = Object.keys(countSettings) as (keyof typeof countSettings)[];
  const shared = [...counted, 'userClusterStreams'] as const;
  const parts = Object.fromEntries(shared.map((name) => [name, part(limits[name])]));
  return Object.freeze({ ...limits, ...parts, memoryBytes: Math.floor(limits.memoryBytes / (workers + 1)) });
}
