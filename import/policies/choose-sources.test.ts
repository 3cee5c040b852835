import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { compileTemplate } from '../template/template.ts';
import { chooseSources } from './choose-sources.ts';

function sources(count: number, data: object = {}): ReadonlyMap<string, HubObject> {
  return new Map(
    Array.from({ length: count }, (_, i) => [
      `ns/s${i}`,
      { metadata: { name: `s${i}`, namespace: 'ns', uid: `u${i}`, resourceVersion: '1' }, data } as HubObject,
    ]),
  );
}

test('templates that take too much for some objects are not tried on the others, and nobody waits for them (ATT-56)', async () => {
  const name = compileTemplate('{{ range until 90000 }}{{ range until 9 }}{{ end }}{{ end }}x');
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  const choice = await chooseSources({ selector: undefined, name }, sources(500), new WeakMap());
  clearInterval(counting);
  assert.equal(choice.unjudged.size, 500, 'nobody knows whether they are to be imported');
  assert.equal(choice.named.size, 0);
  assert.equal(choice.faults.filter((fault) => /nameTemplate: it takes/.test(fault)).length, 3);
  assert.equal(choice.faults.filter((fault) => /: not tried, because the templates/.test(fault)).length, 497);
  assert.ok(turns > 0, 'the event loop had its turn');
});

test('a template that fails for one object says nothing of the others', async () => {
  const name = compileTemplate(
    '{{ if eq .source.metadata.name "s1" }}{{ fail "no" }}{{ end }}{{ .source.metadata.name }}',
  );
  const choice = await chooseSources({ selector: undefined, name }, sources(9), new WeakMap());
  assert.deepEqual([choice.named.size, [...choice.unjudged]], [8, ['ns/s1']]);
});
