// The page about readiness has a row for every rule, with what the rule says, and names every kind that has a judge.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtInKinds } from '../../lib/objects/readiness/built-in.ts';
import { readinessRows } from './readiness-rows.ts';
import { textOf } from './sources.ts';

const page = 'docs/reference/readiness.md';

test('the page about readiness has the rows of all rules, and no others', () => {
  const section = textOf(page)
    .split(/^## /m)
    .find((part) => part.startsWith('Kinds of operators\n'))!;
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| Kinds'));
  assert.ok(readinessRows.length > 150);
  assert.deepEqual(rows, readinessRows);
});

test('the page about readiness names every kind that has a judge', () => {
  const text = textOf(page);
  const missing = [...builtInKinds.keys()].filter((kind) => !text.includes(`\`${kind}\``));
  assert.deepEqual(missing, []);
});
