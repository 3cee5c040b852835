// The page of the chart names every value that the chart has.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { root } from './pages.ts';

const chart = join(root, 'charts/portcullis');
const readme = readFileSync(join(chart, 'README.md'), 'utf8');

/** Paths of the values that a page does not name in backticks. */
function unnamed(page: string, values: unknown, prefix = ''): readonly string[] {
  if (typeof values === 'object' && values !== null && !Array.isArray(values) && Object.keys(values).length > 0)
    return Object.entries(values).flatMap(([key, inner]) =>
      unnamed(page, inner, prefix === '' ? key : `${prefix}.${key}`),
    );
  return page.includes(`\`${prefix}\``) ? [] : [prefix];
}

test("the chart's page names every value", () => {
  assert.deepEqual(unnamed(readme, parse(readFileSync(join(chart, 'values.yaml'), 'utf8'))), []);
});

test("a value that the chart's page does not name is noticed", () => {
  assert.deepEqual(unnamed('`a.b` `c`', { a: { b: 1, gone: [] }, c: {}, d: 'x' }), ['a.gone', 'd']);
});
