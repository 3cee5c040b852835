// The limits for executing ManifestWorks in clusters, as data; checks.ts evaluates them together with all others. A
// lower limit, such as three times as fast, is written as an upper limit for the inverse ratio.
import { distributeContenders } from '../scenarios/distribute.ts';
import { restContenders, slowLanes } from '../scenarios/distribute-fleet.ts';
import type { Check } from './check.ts';
import { ratioCheck } from './data-path-checks.ts';

const { portcullis, agent, kubectl } = distributeContenders;

function atRest(says: string, value: string, bound: number, unit: string): Check {
  return {
    says,
    scenario: 'distribute-rest',
    kind: 'median',
    of: { contender: restContenders.executing, value },
    bound,
    unit,
  };
}

export const distributeChecks: readonly Check[] = [
  ratioCheck(
    'distribute',
    'objectsPerSecond',
    'objects a second of kubectl in a loop over ours (ours is 3 times as fast at least)',
    [kubectl, portcullis],
    0.333,
  ),
  ratioCheck(
    'distribute',
    'objectsPerSecond',
    "objects a second of OCM's work agent over ours (ours is 1.5 times as fast at least)",
    [agent, portcullis],
    0.666,
  ),
  ratioCheck('distribute', 'cpuUs', "CPU per object against OCM's work agent", [portcullis, agent], 1),
  ratioCheck(
    'distribute-slow',
    'seconds',
    'time of the other 19 of 20 clusters while one answers 5 s late, against all at once',
    [slowLanes.slow, slowLanes.calm],
    1.2,
  ),
  atRest('CPU with 20,000 works of 1,000 clusters applied', 'idleCores', 0.1, 'cores'),
  {
    says: 'memory more than without executing works',
    scenario: 'distribute-rest',
    kind: 'difference',
    of: { contender: restContenders.executing, value: 'rssMb' },
    against: { contender: restContenders.idle, value: 'rssMb' },
    bound: 150,
    unit: 'MB',
  },
  atRest('requests of the executor that are no watches', 'requests', 0, 'requests'),
];
