// All limits that the benchmarks check, as data, and their evaluation for the samples of a run. A limit whose value was
// not measured does not count as passed.
import { dataPathChecks, ratioCheck } from './data-path-checks.ts';
import { distributeChecks } from './distribute-checks.ts';
import type { Sample } from '../scenarios/scenario.ts';
import { fairnessLanes } from '../scenarios/fairness.ts';
import { firstRequestsLanes } from '../scenarios/first-requests.ts';
import { hubLanes } from '../scenarios/hub.ts';
import { registrationLanes } from '../scenarios/registrations.ts';
import { stallContenders } from '../scenarios/stall.ts';
import { workerContenders } from '../scenarios/workers.ts';
import {
  estimateDifference,
  estimateMedian,
  estimateRatio,
  verdict,
  type Estimate,
  type Verdict,
} from './statistics.ts';
import type { Side, Check } from './check.ts';

/** A limit, the value that was estimated for it, and whether the limit holds. */
export interface CheckResult {
  readonly check: Check;
  readonly estimate: Estimate | undefined;
  readonly outcome: Verdict | 'not measured';
}

function listGrowth(contender: string, protocol: string): Check {
  return {
    says: `peak of a 100 MB list over that of a 10 MB list, ${protocol}`,
    scenario: 'memory',
    kind: 'difference',
    of: { contender, value: 'peak100Mb' },
    against: { contender, value: 'peak10Mb' },
    bound: 16,
    unit: 'MB',
  };
}

const perWatch: Check = {
  says: 'memory per idle watch, h2 both sides',
  scenario: 'watch',
  kind: 'median',
  of: { contender: 'portcullis-h2', value: 'kbPerWatch' },
  bound: 20,
  unit: 'KB',
};

function registered(says: string, value: string, bound: number, unit: string): Check {
  const of = { contender: registrationLanes.many, value };
  return { says, scenario: 'registrations', kind: 'median', of, bound, unit };
}

/** All limits that the benchmarks check in a run of this checkout alone. */
export const checks: readonly Check[] = [
  ratioCheck('get-16', 'cpuUs', 'CPU per request, h1, against Go ReverseProxy', ['portcullis-h1', 'go-h1'], 0.85),
  ratioCheck('get-16', 'cpuUs', 'CPU per request, h2, against Go ReverseProxy', ['portcullis-h2', 'go-h2'], 0.6),
  ratioCheck('get-1', 'p50Ms', 'p50 at 1 connection, h1, against Go', ['portcullis-h1', 'go-h1'], 1.05),
  ratioCheck('get-1', 'p50Ms', 'p50 at 1 connection, h2, against Go', ['portcullis-h2', 'go-h2'], 1.05),
  perWatch,
  listGrowth('portcullis-h1', 'h1'),
  listGrowth('portcullis-h2', 'h2'),
  ratioCheck(
    'stall',
    'p99Ms',
    "the others' p99 with one stalled member of 20",
    [stallContenders.stalled, stallContenders.calm],
    1.5,
  ),
  ratioCheck(
    'fairness',
    'p99Ms',
    "a user's p99 beside another with 50 times its rate",
    [fairnessLanes.crowded, fairnessLanes.alone],
    2,
  ),
  ratioCheck(
    'registrations',
    'cpuUs',
    'CPU per request with 2,000 clusters against 2',
    [registrationLanes.many, registrationLanes.few],
    1.2,
  ),
  ratioCheck(
    'hub',
    'cpuUs',
    "CPU per request through a hub against the aggregator's own",
    [hubLanes.gateway, hubLanes.aggregator],
    0.35,
  ),
  ratioCheck(
    'workers',
    'cpuUs',
    'CPU per request of two workers against one',
    [workerContenders.two, workerContenders.one],
    1.15,
  ),
  registered('start to the last of 2,000 clusters answering', 'startSeconds', 15, 's'),
  registered('resident memory with 2,000 clusters', 'rssMb', 380, 'MB'),
  ratioCheck(
    'first-requests',
    'p50Ms',
    'p50 of the first 500 requests after the start against later ones',
    [firstRequestsLanes.first, firstRequestsLanes.warm],
    1.35,
  ),
  ...dataPathChecks,
  ...distributeChecks,
];

/**
 * Limits for the CPU time per request of this checkout, divided by that of another checkout. 5 % more is allowed, which
 * is as much as the figures vary on a machine with other work.
 */
const againstOther: readonly Check[] = ['get-1', 'get-16', 'get-64'].flatMap((scenario) =>
  (['h1', 'h2'] as const).map((protocol) =>
    ratioCheck(
      scenario,
      'cpuUs',
      `CPU per request, ${protocol}, against the other checkout`,
      [`portcullis-${protocol}`, `other-${protocol}`],
      1.05,
    ),
  ),
);

/**
 * Evaluates the limits of all scenarios that were run.
 * @param ran names of the scenarios that were run
 * @param hasOther whether the gateway of another checkout was measured as well
 */
export function evaluate(
  samples: readonly Sample[],
  ran: readonly string[],
  seed: number,
  hasOther = false,
): CheckResult[] {
  return [...checks, ...(hasOther ? againstOther : [])]
    .filter((check) => ran.includes(check.scenario))
    .map((check) => {
      const estimate = measure(check, samples, seed);
      return { check, estimate, outcome: estimate === undefined ? 'not measured' : verdict(estimate, check.bound) };
    });
}

function measure(check: Check, samples: readonly Sample[], seed: number): Estimate | undefined {
  const of = byRound(check.scenario, check.of, samples);
  if (of.size === 0) return undefined;
  if (check.against === undefined) return estimateMedian([...of.values()], { seed });
  const against = byRound(check.scenario, check.against, samples);
  const rounds = [...of.keys()].filter((round) => against.has(round));
  if (rounds.length === 0) return undefined;
  const pick = (side: ReadonlyMap<number, number>) => rounds.map((round) => side.get(round) as number);
  const estimate = check.kind === 'ratio' ? estimateRatio : estimateDifference;
  return estimate(pick(of), pick(against), { seed });
}

function byRound(scenario: string, side: Side, samples: readonly Sample[]): Map<number, number> {
  const values = new Map<number, number>();
  for (const sample of samples) {
    const value = sample.values[side.value];
    if (sample.scenario === scenario && sample.contender === side.contender && value !== undefined)
      values.set(sample.round, value);
  }
  return values;
}
