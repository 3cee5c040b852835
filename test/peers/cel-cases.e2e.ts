// The answers in go-cases.fixture.json, by which the functions of CEL are tested without Go, are those of the libraries
// that OCM's agent has. With PORTCULLIS_WRITE_CASES=1 the file is written anew with the answers of now.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ensureBinaries } from '../controlplane/build.ts';

type Case = readonly [expression: string, kind: string, answer: string];

const file = path.join(import.meta.dirname, '../../distribute/feedback/cel/go-cases.fixture.json');

test('every kept answer of CEL is what the libraries of the agent answer', async () => {
  const kept = JSON.parse(readFileSync(file, 'utf8')) as { object: object; cases: Record<string, readonly Case[]> };
  const cases = Object.values(kept.cases).flat();
  const program = (await ensureBinaries(['cel-oracle']))['cel-oracle']!;
  const input = JSON.stringify({ object: kept.object, expressions: cases.map(([expression]) => expression) });
  const ran = spawnSync(program, { input, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  assert.equal(ran.status, 0, ran.stderr);
  const answers = JSON.parse(ran.stdout) as readonly (readonly [kind: string, answer: string])[];
  const now = cases.map(([expression], i): Case => [expression, ...answers[i]!]);
  if (process.env['PORTCULLIS_WRITE_CASES'] === '1') {
    const byExpression = new Map(now.map((each) => [each[0], each]));
    const written = Object.entries(kept.cases).map(([library, each]) => [
      library,
      each.map(([expression]) => byExpression.get(expression)),
    ]);
    writeFileSync(file, `${JSON.stringify({ ...kept, cases: Object.fromEntries(written) }, null, 2)}\n`);
    return;
  }
  assert.deepEqual(now, cases);
});
