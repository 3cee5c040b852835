import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { makeTemplateRenderer } from '../render/renderer.ts';
import { chooseSources, type Choice } from './choose-sources.ts';

const renderer = makeTemplateRenderer();
after(() => renderer.close());

function choose(
  name: string,
  objects: ReadonlyMap<string, ApiObject>,
  holderOf?: (name: string) => string | undefined,
): Promise<Choice> {
  const render = (template: string, data: unknown) => renderer.render('p', template, data);
  return chooseSources({ selector: undefined, name }, render, objects, new WeakMap(), holderOf);
}

function sources(count: number, data: object = {}): ReadonlyMap<string, ApiObject> {
  return new Map(
    Array.from({ length: count }, (_, i) => [
      `ns/s${i}`,
      { metadata: { name: `s${i}`, namespace: 'ns', uid: `u${i}`, resourceVersion: '1' }, data } as ApiObject,
    ]),
  );
}

test('templates that take too much for some objects are not tried on the others, and nobody waits for them (ATT-56)', async () => {
  const name = '{{ range until 90000 }}{{ range until 9 }}{{ end }}{{ end }}x';
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  const choice = await choose(name, sources(500));
  clearInterval(counting);
  assert.equal(choice.undecided.size, 500, 'nobody knows whether they are to be imported');
  assert.equal(choice.named.size, 0);
  assert.equal(choice.faults.filter((fault) => /nameTemplate: it takes/.test(fault)).length, 3);
  assert.equal(choice.faults.filter((fault) => /: not tried, because the templates/.test(fault)).length, 497);
  assert.ok(turns > 0, 'the event loop had its turn');
});

test('a template that fails for one object says nothing of the others', async () => {
  const name = '{{ if eq .source.metadata.name "s1" }}{{ fail "no" }}{{ end }}{{ .source.metadata.name }}';
  const choice = await choose(name, sources(9));
  assert.deepEqual([choice.named.size, [...choice.undecided]], [8, ['ns/s1']]);
});

test('of several objects with one name the one that has it keeps it, also while its templates fail', async () => {
  const name = '{{ if .source.data.fails }}{{ fail "no" }}{{ end }}same';
  const objects = new Map(sources(3));
  const chooseWith = (holder?: string) => choose(name, objects, () => holder);
  const nameOf = ({ named }: Choice): unknown => named.get('same')?.metadata.name;
  assert.equal(nameOf(await chooseWith()), 's0');
  const held = await chooseWith('ns/s1');
  assert.equal(nameOf(held), 's1');
  assert.deepEqual(held.faults, [
    'ns/s0: the name "same" belongs to ns/s1, which had it first',
    'ns/s2: the name "same" belongs to the older ns/s1',
  ]);
  objects.set('ns/s1', { ...objects.get('ns/s1')!, data: { fails: true } } as ApiObject);
  const failing = await chooseWith('ns/s1');
  assert.equal(nameOf(failing), undefined);
  assert.ok(failing.faults.includes('ns/s0: the name "same" belongs to ns/s1, whose templates fail'));
  objects.delete('ns/s1');
  assert.equal(nameOf(await chooseWith('ns/s1')), 's0');
});

test('a text that is no name of an object is not quoted', async () => {
  for (const [written, words] of [
    ['', /gives an empty name/],
    ...[' ', 'A', 'a b', 'a/b', '..', 'a_b', '-a', 'a-', 'a\n', 'ä', 'a'.repeat(254)].map(
      (text) => [text, /: nameTemplate gives no name of an object: .*\(the text is not shown\)$/] as const,
    ),
  ] as const) {
    const choice = await choose('{{ .source.data.name }}', sources(1, { name: written }));
    assert.deepEqual([choice.named.size, [...choice.undecided]], [0, ['ns/s0']], written);
    assert.match(choice.faults[0]!, words);
    assert.ok(written.length < 3 || !choice.faults[0]!.includes(written), written);
  }
});
