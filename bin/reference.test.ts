import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { chartDefinitionsPath, definitionsText } from './generate-crds.ts';
import { referencePage, referencePath } from './reference.ts';

test('the reference page says what the program says', () => {
  const written = readFileSync(new URL(`../${referencePath}`, import.meta.url), 'utf8');
  assert.equal(written, referencePage(), 'run: node bin/write-reference.ts');
});

test('the chart installs the definitions that the program prints', () => {
  const written = readFileSync(new URL(`../${chartDefinitionsPath}`, import.meta.url), 'utf8');
  assert.equal(written, definitionsText(), 'run: node bin/write-reference.ts');
});

test('every command has examples', () => {
  const sections = referencePage().split('\n## ').slice(1);
  assert.ok(sections.length >= 8);
  for (const section of sections) assert.ok(section.includes('\nExamples:\n'), section);
});
