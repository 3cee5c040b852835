// How many processes serve, what cannot be combined with more than one, and the bounds of each. A bound is that of the
// gateway, so each worker gets its part; a rate of single users cannot be divided and is refused.
import type { Config } from './configuration.ts';
import type { LimitsConfig } from './limits-config.ts';
import type { Fault } from './values.ts';

/** What a person may write. */
export interface WorkersInput {
  readonly workers?: string | number;
}

export const mostWorkers = 64;
/** With less, garbage collection would take most of the time; the minimum of `--max-memory` is the same. */
const leastBytes = 128 * 1024 ** 2;

/** The number of processes that serve. */
export function readWorkers({ workers = 1 }: WorkersInput, fault: Fault): number {
  const count = /^[1-9]\d?$/.test(String(workers)) ? Number(workers) : Number.NaN;
  if (count <= mostWorkers) return count;
  fault('--workers', `"${workers}" is no number from 1 to ${mostWorkers}`);
  return 1;
}

/** Reports settings that cannot be combined with more than one worker. */
export function refuseWithWorkers(config: Pick<Config, 'limits'>, workers: number, fault: Fault): void {
  if (workers === 1) return;
  if (config.limits.userQps !== Infinity)
    fault('--user-qps', 'not with --workers above 1: the requests of one user over time are counted by one process');
  if (config.limits.memoryBytes / (workers + 1) < leastBytes) {
    const leastMi = (leastBytes / 1024 ** 2) * (workers + 1);
    fault('--workers', `${workers} workers and the first process need at least ${leastMi}Mi of memory (--max-memory)`);
  }
}

/** The bounds of one worker: its part of each, rounded up; memory is shared with the first process. */
export function limitsOfWorker(limits: LimitsConfig, workers: number): LimitsConfig {
  const part = (bound: number): number => (bound === Infinity ? bound : Math.ceil(bound / workers));
  const counts = [
    'requests',
    'mutatingRequests',
    'userRequests',
    'userClusterRequests',
    'clusterRequests',
    'anonymousRequests',
    'queued',
    'userQueued',
    'streams',
    'userStreams',
    'clusterStreams',
    'connections',
    'addressConnections',
  ] as const;
  const parts = Object.fromEntries(counts.map((name) => [name, part(limits[name])]));
  return Object.freeze({ ...limits, ...parts, memoryBytes: Math.floor(limits.memoryBytes / (workers + 1)) });
}
