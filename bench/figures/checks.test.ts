import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checks, evaluate } from './checks.ts';
import { columns } from '../report/report-tables.ts';
import type { Sample } from '../scenarios/scenario.ts';

function samples(lane: string, cpuUs: (round: number) => number, rounds = 20): Sample[] {
  return Array.from({ length: rounds }, (_, index) => ({
    scenario: 'get-16',
    round: index + 1,
    lane,
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

test('each CPU check reads its own two lanes', () => {
  const all = [
    ...samples('portcullis-h1', () => 100),
    ...samples('portcullis-h2', () => 100),
    ...samples('go-h1', () => 95),
    ...samples('go-h2', () => 99),
    ...samples('express-h1', () => 300),
  ];
  assert.deepEqual(outcomes(all), {
    'CPU per request, h1, against Go ReverseProxy': 'holds',
    'CPU per request, h2, against Go ReverseProxy': 'fails',
    'CPU per request, h1, against express + http-proxy': 'holds',
  });
});

test('rounds are paired by number, not by position', () => {
  const ours = samples('portcullis-h1', (round) => round).toReversed();
  const rival = samples('go-h1', (round) => round);
  const [result] = evaluate([...ours, ...rival], ['get-16'], 1);
  assert.deepEqual([result?.estimate?.low, result?.estimate?.high], [1, 1]);
});

test('a lane that is missing makes its checks not measured, which is not a pass', () => {
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

test('the bounds are those of the acceptance rows', () => {
  assert.deepEqual(
    checks.map(({ row, bound }) => `${row} ${bound}`),
    [
      'A13 1.1',
      'A13 1',
      'A13 0.45',
      'A13 1.25',
      'A13 1.25',
      'A13 40',
      'A6 16',
      'A6 16',
      'A9 1.5',
      'C63 2',
      'B12 1.15',
      'B11 0.35',
      'D5 1.15',
      'B12 15',
      'B12 400',
      ...['D1 0.75', 'D1 0.55', 'D1 1.8', 'D1 1.3', 'D1 0.3'],
      ...['D2 1.15', 'D2 1.3', 'D2 1.15', 'D2 1.3', 'D2 1.11', 'D2 1.11'],
      ...['D3 1', 'D3 1', 'D4 25', 'D4 1.5', 'D6 1.1', 'D7 1.15'],
    ],
  );
});
