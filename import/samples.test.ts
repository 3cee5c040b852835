import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { compileTemplate } from './template/template.ts';

const folder = join(import.meta.dirname, '../packaging/samples/import-policies');
const guide = readFileSync(join(import.meta.dirname, '../docs/how-to/import-policies.md'), 'utf8');
const samples = readdirSync(folder).map((file) => {
  const { metadata, spec } = parse(readFileSync(join(folder, file), 'utf8'));
  return {
    name: metadata.name as string,
    nameTemplate: spec.nameTemplate as string,
    template: spec.template as string,
  };
});

/** Types whose objects have no namespace, or are taken from one namespace only. */
const ofOneNamespace = ['karmada', 'kubevela', 'ocm'];

test('two sources of a sample never get the same name', () => {
  const places = ['a', 'b', 'a-b', 'b-c', 'a-vc-b'].flatMap((namespace) =>
    ['a', 'c', 'b-c', 'vc-c', 'b.c', 'c.d', 'vc-b-c'].map((name) => ({ namespace, name })),
  );
  for (const { name: sample, nameTemplate } of samples) {
    const template = compileTemplate(nameTemplate);
    const taken = new Map<string, string>();
    for (const metadata of places) {
      if (ofOneNamespace.includes(sample) && metadata.namespace !== 'a') continue;
      if (sample === 'vcluster' && !metadata.name.startsWith('vc-')) continue;
      const name = template.render({ source: { metadata } });
      assert.equal(taken.get(name), undefined, `${sample}: ${JSON.stringify(metadata)} and another get ${name}`);
      taken.set(name, JSON.stringify(metadata));
    }
  }
});

test('samples and the guide print each value with toJson, which no value can leave', () => {
  assert.match(guide, /toJson/);
  for (const { name, template } of samples) {
    const printing = [...template.matchAll(/\{\{-?\s*(.*?)\s*-?\}\}/g)]
      .map(([, action]) => action!)
      .filter((action) => !/^(?:if|else|end|with|range)\b|^\$\w+ :?=/.test(action));
    assert.ok(printing.length > 0, name);
    for (const action of printing) assert.match(action, /\| toJson$/, name);
    assert.doesNotMatch(template, /authenticationFrom/, name);
  }
});
