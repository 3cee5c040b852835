import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { allSettings } from '../config/all-settings.ts';
import { flagOf } from '../config/settings/settings.ts';
import type { Terminal } from '../cli/terminal/terminal.ts';
import { makeProgram } from './program.ts';
import { generatedFiles, referencePage } from './reference.ts';
import type { LongRunningVerbs } from './verbs.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

test('pages, chart schema and definitions say what the program says', () => {
  const files = Object.entries(generatedFiles(read));
  assert.ok(files.length > 5);
  // Not assert.equal, which would print both files.
  for (const [path, text] of files) assert.ok(read(path) === text, `${path}: run node bin/write-reference.ts`);
});

test('every command has examples', () => {
  const sections = referencePage().split('\n## ').slice(1);
  assert.ok(sections.length >= 8);
  for (const section of sections) assert.ok(section.includes('\nExamples:\n'), section);
});

test('every setting is a flag of serve, a row of the page, and a value of the chart or set by it', () => {
  const serve = makeProgram({} as LongRunningVerbs, {} as Terminal).commands.find((one) => one.name() === 'serve')!;
  const flags = new Set(serve.options.map(({ long }) => long));
  const page = read('docs/reference/configuration.md');
  const { limits, settings } = (
    JSON.parse(read('charts/portcullis/values.schema.json')) as {
      properties: Record<string, { properties: Record<string, object> }>;
    }
  ).properties;
  const byTheChart = read('charts/portcullis/templates/_process.tpl');
  assert.ok(Object.keys(allSettings).length > 120);
  for (const [name, { hasNoFlag = false }] of Object.entries(allSettings)) {
    assert.equal(flags.has(flagOf(name)), !hasNoFlag, name);
    assert.equal(page.split(`\n| \`${name}\` | `).length, 2, name);
    const isValue = name in limits!.properties || name in settings!.properties;
    const isSet = byTheChart.includes(hasNoFlag ? `\n${name}:` : flagOf(name).slice(2));
    assert.ok(isValue || isSet, name);
  }
});
