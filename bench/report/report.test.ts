import assert from 'node:assert/strict';
import { test } from 'node:test';

import { machineLines, reportMarkdown, reportText, scenarioTable, type Report } from './report.ts';
import { contendersOf, type Sample } from '../scenarios/scenario.ts';
import type { Target } from '../targets/target.ts';

const target = (name: Target['name'], title: string): Target => ({
  name,
  title,
  protocols: ['h1', 'h2'],
  version: () => Promise.resolve('1'),
  start: () => Promise.reject(new Error('not started in a test')),
});
const contenders = contendersOf([target('direct', 'direct'), target('portcullis', 'Portcullis')]);

function report(samples: readonly Sample[]): Report {
  return {
    machine: {
      cpu: 'test',
      cores: 2,
      memoryGb: 4,
      system: 'Linux',
      node: 'v26',
      go: 'go1',
      member: 'stub',
      commit: 'abc',
      targets: { nginx: 'not installed' },
    },
    command: 'npm run bench',
    startedAt: '2026-11-21T00:00:00Z',
    seconds: 600,
    rounds: 20,
    seed: 1,
    quick: false,
    generatorCeiling: { h1: 30_000, h2: 20_000 },
    notInstalled: ['nginx'],
    checks: [],
    samples,
  };
}

const sample = (contender: string, round: number, values: Record<string, number>, errors = 0): Sample => ({
  scenario: 'get-16',
  round,
  contender,
  values,
  errors,
});

test('a table has a row per contender in the order of the targets, with medians and the sum of errors', () => {
  const table = scenarioTable(
    report([
      sample('portcullis-h1', 1, { p50Ms: 3, cpuUs: 100 }, 1),
      sample('portcullis-h1', 2, { p50Ms: 5, cpuUs: 110 }, 2),
      sample('direct-h1', 1, { p50Ms: 2 }),
    ]),
    'get-16',
    contenders,
  );
  assert.deepEqual(table[0], ['target', 'p50 ms', 'CPU µs/req', 'rounds', 'errors']);
  assert.equal(table[1]?.[0], 'direct · h1');
  assert.equal(table[1]?.[2], '–');
  assert.deepEqual([table[2]?.[0], table[2]?.at(-2), table[2]?.at(-1)], ['Portcullis · h1', '2', '3']);
  assert.match(table[2]?.[1] ?? '', /^4\.00 \(3\.00–5\.00\)$/);
});

test('the report names the machine, what is not installed and the share of the load generator', () => {
  const text = reportText(
    report([sample('direct-h1', 1, { p50Ms: 2, loadCpuShare: 0.25, loadCpuUs: 30 })]),
    contenders,
  );
  assert.match(text, /2 × test/);
  assert.match(text, /nginx: not installed/);
  assert.match(text, /median 25 %, at most 25 % of the machine's CPU, 30 µs per request/);
  assert.match(text, /30000 req\/s over h1/);
});

test('Markdown tables have a rule of as many columns as the heading', () => {
  const text = reportMarkdown(report([sample('direct-h1', 1, { p50Ms: 2 })]), contenders);
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  assert.equal(new Set(lines.map((line) => line.split('|').length)).size, 1);
});

test('a quick run says that its tables are no figures, and of how many clusters they are', () => {
  const whole = report([sample('portcullis-h1', 1, { p50Ms: 3 })]);
  assert.ok(machineLines({ ...whole, quick: true }).some((line) => /no figures.* 50 are registered/.test(line)));
  assert.ok(!machineLines(whole).some((line) => line.startsWith('quick')));
});
