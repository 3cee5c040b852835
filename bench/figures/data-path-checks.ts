// The limits for requests, lists and watches, as data; checks.ts evaluates them together with all others. A lower limit
// is written as an upper limit for the inverse ratio.
import type { Check } from './check.ts';
import { identityContenders } from '../scenarios/identities.ts';
import { observabilityContenders } from '../scenarios/observability.ts';

/** Limits for the CPU time, latency and memory that requests, lists and watches cost. */
export const dataPathChecks: readonly Check[] = [
  ratioCheck('get-64', 'cpuUs', 'CPU per request, h1, against Go ReverseProxy', ['portcullis-h1', 'go-h1'], 0.85),
  ratioCheck('get-64', 'cpuUs', 'CPU per request, h2, against Go ReverseProxy', ['portcullis-h2', 'go-h2'], 0.6),
  ratioCheck('get-64', 'cpuUs', 'CPU per request, h1, against nginx', ['portcullis-h1', 'nginx-h1'], 1.8),
  ratioCheck('get-64', 'cpuUs', 'CPU per request, h2, against nginx', ['portcullis-h2', 'nginx-h2'], 1.3),
  ...(['h1', 'h2'] as const).flatMap((protocol): Check[] => {
    const contenders = [`portcullis-${protocol}`, `direct-${protocol}`] as const;
    return [ratioCheck('get-1', 'p99Ms', `p99 at 1 connection, ${protocol}, against direct`, contenders, 1.3)];
  }),
  ...(['h1', 'h2'] as const).map((protocol) =>
    ratioCheck(
      'get-16',
      'requestsPerSecond',
      `throughput of nginx over ours at 16 connections, ${protocol} (ours is 0.9 of it at least)`,
      [`nginx-${protocol}`, `portcullis-${protocol}`],
      1.11,
    ),
  ),
  ...(['h1', 'h2'] as const).map((protocol) =>
    ratioCheck(
      'list-1mb',
      'cpuMsPerMb',
      `CPU per MB of a list, ${protocol}, against Go ReverseProxy`,
      [`portcullis-${protocol}`, `go-${protocol}`],
      1,
    ),
  ),
  {
    says: 'memory per idle watch at 10,000, h2 both sides',
    scenario: 'watch-10k',
    kind: 'median',
    of: { contender: 'portcullis-h2', value: 'kbPerWatch' },
    bound: 20,
    unit: 'KB',
  },
  ratioCheck('events-1k', 'p99Ms', 'p99 of an event, h2, against Go ReverseProxy', ['portcullis-h2', 'go-h2'], 1.3),
  ratioCheck(
    'observability',
    'cpuUs',
    'CPU per request with scrapes and 1 % traces against none',
    [observabilityContenders.observed, observabilityContenders.plain],
    1.1,
  ),
  ratioCheck(
    'identities',
    'cpuUs',
    'CPU per request with 2,000 clusters and 500 users against one of each',
    [identityContenders.mixed, identityContenders.one],
    1.3,
  ),
];

/**
 * Makes an upper limit for a value of the first contender divided by the same value of the second contender. A
 * contender is a program together with the HTTP version of its clients, or a case that a scenario compares.
 */
export function ratioCheck(
  scenario: string,
  value: string,
  says: string,
  [of, against]: readonly [string, string],
  bound: number,
): Check {
  return {
    says,
    scenario,
    kind: 'ratio',
    of: { contender: of, value },
    against: { contender: against, value },
    bound,
    unit: '×',
  };
}
