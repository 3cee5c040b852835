import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { chartDefinitions } from './generate-crds.ts';
import { referencePage, referencePath } from './reference.ts';

test('the reference page says what the program says', () => {
  const written = readFileSync(new URL(`../${referencePath}`, import.meta.url), 'utf8');
  assert.equal(written, referencePage(), 'run: node bin/write-reference.ts');
});

test('the chart installs the definitions that the program prints', () => {
  for (const [path, text] of Object.entries(chartDefinitions)) {
    const written = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
    assert.equal(written, text, 'run: node bin/write-reference.ts');
  }
});

test('every command has examples', () => {
  const sections = referencePage().split('\n## ').slice(1);
  assert.ok(sections.length >= 8);
  for (const section of sections) assert.ok(section.includes('\nExamples:\n'), section);
});
