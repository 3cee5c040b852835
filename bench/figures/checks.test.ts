import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checks, evaluate } from './checks.ts';
import { columns } from '../report/report-tables.ts';
import type { Sample } from '../scenarios/scenario.ts';

function samples(contender: string, cpuUs: (round: number) => number, rounds = 20): Sample[] {
  return Array.from({ length: rounds }, (_, index) => ({
    scenario: 'get-16',
    round: index + 1,
    contender,
    values: { cpuUs: cpuUs(index + 1) },
    errors: 0,
  }));
}

const outcomes = (all: readonly Sample[]) =>
  Object.fromEntries(
    evaluate(all, ['get-16'], 1)
      .filter(({ check }) => check.of.value === 'cpuUs')
      .map(({ check, outcome }) => [check.says, outcome]),
  );

test('each CPU check reads its own two contenders', () => {
  const all = [
    ...samples('portcullis-h1', () => 80),
    ...samples('portcullis-h2', () => 100),
    ...samples('go-h1', () => 95),
    ...samples('go-h2', () => 99),
  ];
  assert.deepEqual(outcomes(all), {
    'CPU per request, h1, against Go ReverseProxy': 'holds',
    'CPU per request, h2, against Go ReverseProxy': 'fails',
  });
});

test('rounds are paired by number, not by position', () => {
  const ours = samples('portcullis-h1', (round) => round).toReversed();
  const rival = samples('go-h1', (round) => round);
  const [result] = evaluate([...ours, ...rival], ['get-16'], 1);
  assert.deepEqual([result?.estimate?.low, result?.estimate?.high], [1, 1]);
});

test('a contender that is missing makes its checks not measured, which is not a pass', () => {
  assert.ok(Object.values(outcomes(samples('portcullis-h1', () => 1))).every((outcome) => outcome === 'not measured'));
});

test('checks of scenarios that were not run are not reported', () => {
  assert.deepEqual(evaluate([], [], 1), []);
});

test('every scenario with a bound is one that can be run and is told in the report', () => {
  const unknown = checks.map(({ scenario }) => scenario).filter((scenario) => columns[scenario] === undefined);
  assert.deepEqual(unknown, []);
  const shown = checks.filter(({ scenario, of }) => !columns[scenario]!.some(({ value }) => value === of.value));
  assert.deepEqual(
    shown.map(({ says }) => says),
    [],
  );
});

test('the bounds are those that are published', () => {
  assert.deepEqual(
    checks.map(({ scenario, bound }) => `${scenario} ${bound}`),
    [
      'get-16 0.85',
      'get-16 0.6',
      'get-1 1.05',
      'get-1 1.05',
      'watch 20',
      'memory 16',
      'memory 16',
      'stall 1.5',
      'fairness 2',
      'registrations 1.2',
      'hub 0.35',
      'workers 1.15',
      'registrations 15',
      'registrations 380',
      'first-requests 1.35',
      ...['get-64 0.85', 'get-64 0.6', 'get-64 1.8', 'get-64 1.3'],
      ...['get-1 1.3', 'get-1 1.3', 'get-16 1.11', 'get-16 1.11'],
      ...['list-1mb 1', 'list-1mb 1', 'watch-10k 20', 'events-1k 1.3', 'observability 1.1', 'identities 1.3'],
      ...['distribute 0.333', 'distribute 0.666', 'distribute 1', 'distribute-slow 1.2'],
      ...['distribute-rest 0.1', 'distribute-rest 150', 'distribute-rest 0'],
    ],
  );
});
