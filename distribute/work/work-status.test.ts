import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import type { Readiness } from '../../lib/objects/readiness/readiness.ts';
import type { ManifestResult, Seen } from './work-status.ts';
import { statusOf, type WorkStatus } from './work-status.ts';
import { readWork, type Work } from './work.ts';

const old = '2020-01-01T00:00:00Z';
const work = (status: object, generation = 1): Work =>
  readWork({
    metadata: { name: 'w', namespace: 'm1', uid: 'u', resourceVersion: '1', generation } as ApiObject['metadata'],
    status,
  });
const present = (
  rules: readonly Finding[] = [],
  values: readonly object[] = [],
  readiness: Readiness = { state: 'ready' },
): Seen => ({
  state: 'present',
  uid: 'x',
  observation: { feedback: { values: values as never, outcome: undefined }, rules, readiness },
});
const result = (ordinal: number, seen: Seen, more: Partial<ManifestResult> = {}): ManifestResult => ({
  meta: {
    ordinal,
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    resource: 'configmaps',
    namespace: 'a',
    name: `c${ordinal}`,
  },
  applied: 'done',
  seen,
  ...more,
});
const conditionOf = (status: WorkStatus, type: string): string => {
  const found = status.conditions.find((each) => each.type === type);
  return found === undefined ? '' : `${found.status} ${found.reason} ${found.message}`;
};
const rule = (type: string, status: Finding['status'], message = ''): Finding => ({
  type,
  status,
  reason: 'ConditionRuleEvaluated',
  message,
});

test('what is not available weighs more than what is unknown, and without any object nothing is known', () => {
  const absent: Seen = { state: 'absent' };
  const unreadable: Seen = { state: 'unreadable', message: 'why' };
  const available = (...seen: readonly Seen[]): string =>
    conditionOf(
      statusOf(
        work({}),
        seen.map((each, index) => result(index, each)),
        [],
      ),
      'Available',
    );
  assert.equal(available(present(), present()), 'True ResourcesAvailable All resources are available');
  assert.equal(
    available(present(), absent, unreadable),
    'False ResourcesNotAvailable 1 of 3 resources are not available',
  );
  assert.equal(
    available(unreadable, { state: 'unserved' }),
    'Unknown ResourcesStatusUnknown 2 of 2 resources have unknown status',
  );
  assert.equal(available(), 'Unknown ResourcesStatusUnknown cannot get any available resource ');
});

test('conditions by rules: False wins, then Unknown, but one object that progresses is enough', () => {
  const aggregated = (type: string, ...states: readonly Finding['status'][]): string =>
    conditionOf(
      statusOf(
        work({}),
        states.map((state, index) => result(index, present([rule(type, state, 'm')]))),
        [],
      ),
      type,
    );
  const many = (count: number): string => `ConditionRulesAggregated Aggregated from ${count} manifest conditions`;
  assert.equal(aggregated('Complete', 'True', 'False', 'Unknown'), `False ${many(3)}`);
  assert.equal(aggregated('Complete', 'True', 'Unknown'), `Unknown ${many(2)}`);
  assert.equal(aggregated('Progressing', 'False', 'True'), `True ${many(2)}`);
  assert.equal(aggregated('Complete', 'True'), 'True ConditionRulesAggregated m');
});

test('thousands of conditions by rules are each read some times, not once for each other one (ATT-56)', () => {
  const [manifests, types] = [4, 1_000];
  let reads = 0;
  const rules = Array.from({ length: types }, (_, index) => ({
    ...{ status: 'True', reason: 'ConditionRuleEvaluated', message: 'm', lastTransitionTime: old },
    get type() {
      reads += 1;
      return `C${index}`;
    },
  })) as readonly Finding[];
  const all = Array.from({ length: manifests }, (_, ordinal) => result(ordinal, present(rules)));
  const counts = ({ conditions }: WorkStatus): number =>
    conditions.filter(({ message }) => message === `Aggregated from ${manifests} manifest conditions`).length;
  assert.equal(counts(statusOf(work({}), all, [])), types);
  // Conditions of objects that are gone stay as they were reported.
  const reported = all.map(({ meta }) => ({ resourceMeta: meta, conditions: rules }));
  const gone = all.map((each): ManifestResult => ({ ...each, seen: { state: 'absent' } }));
  assert.equal(counts(statusOf(work({ conditions: rules, resourceStatus: { manifests: reported } }), gone, [])), types);
  assert.ok(reads < 40 * manifests * types, `${reads} reads`);
});

test('a condition keeps its time while it says the same, and an applied one has a new time with each generation', () => {
  const before = statusOf(work({}), [result(0, present())], []);
  const aged = JSON.parse(
    JSON.stringify(before).replaceAll(/"lastTransitionTime":"[^"]*"/g, `"lastTransitionTime":"${old}"`),
  );
  const times = (status: WorkStatus): Record<string, boolean> =>
    Object.fromEntries(
      status.resourceStatus.manifests[0]!.conditions.map(({ type, lastTransitionTime }) => [
        type,
        lastTransitionTime === old,
      ]),
    );
  assert.deepEqual(times(statusOf(work(aged), [result(0, present())], [])), {
    Applied: true,
    Available: true,
    StatusFeedbackSynced: true,
  });
  const changed = statusOf(work(aged, 2), [result(0, present([], [{ name: 'a' }]))], []);
  assert.deepEqual(times(changed), { Available: true, Applied: false, StatusFeedbackSynced: false });
});

test('manifests in another order keep their conditions, unless two are of the same object', () => {
  const aged = JSON.parse(
    JSON.stringify(statusOf(work({}), [result(0, present()), result(1, present())], [])).replaceAll(
      /"lastTransitionTime":"[^"]*"/g,
      `"lastTransitionTime":"${old}"`,
    ),
  );
  const moved = [result(0, present(), { meta: { ...result(1, present()).meta, ordinal: 0 } })];
  const [entry] = statusOf(work(aged), moved, []).resourceStatus.manifests;
  assert.equal(entry!.conditions.find(({ type }) => type === 'Available')!.lastTransitionTime, old);
});

test('a condition of the gateway and one by a rule are taken away with their cause', () => {
  const own: Finding = {
    type: 'gateway.portcullis.io/PruneHeld',
    status: 'True',
    reason: 'TooMuchAtOnce',
    message: '',
  };
  const before = statusOf(work({}), [result(0, present([rule('Complete', 'False')]))], [own]);
  assert.notEqual(conditionOf(before, own.type), '');
  const after = statusOf(work(before), [result(0, present())], []);
  assert.equal(conditionOf(after, own.type), '');
  assert.equal(conditionOf(after, 'Complete'), '');
  assert.deepEqual(
    after.resourceStatus.manifests[0]!.conditions.map(({ type }) => type),
    ['Applied', 'Available', 'StatusFeedbackSynced'],
  );
});

test('a work progresses until all objects are ready, and is degraded by one that has failed, unless rules say otherwise', () => {
  const waits: Readiness = { state: 'waiting', reason: '1 of 2 available' };
  const fails: Readiness = { state: 'failed', reason: 'Deadline' };
  const reported = (status: WorkStatus): readonly string[] =>
    ['Progressing', 'Degraded'].map((type) => conditionOf(status, type));
  const ready = statusOf(work({}), [result(0, present())], []);
  assert.deepEqual(reported(ready), ['False Completed All objects are ready', '']);
  const failed = statusOf(work({}), [result(0, present([], [], waits)), result(1, present([], [], fails))], []);
  assert.deepEqual(reported(failed), [
    'True Applying not ready are 2 of 2 objects: ConfigMap c0: 1 of 2 available',
    'True Failed 1 of 2 objects: ConfigMap c1: Deadline',
  ]);
  assert.deepEqual(reported(statusOf(work(failed), [result(0, present())], [])), reported(ready));
  const byRule = statusOf(work(failed), [result(0, present([rule('Progressing', 'False', 'm')], [], waits))], []);
  assert.deepEqual(reported(byRule), ['False ConditionRulesAggregated m', '']);
});
