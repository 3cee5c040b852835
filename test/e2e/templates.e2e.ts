// Random templates over the functions that policies may call, rendered here and by Go's own engine with sprig.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../bench/figures/statistics.ts';
import { difference, renderHere } from '../fuzz/templates/compare.ts';
import { TemplateGrammar } from '../fuzz/templates/grammar.ts';
import { startTemplateOracle } from '../fuzz/templates/oracle.ts';
import { seedOfRun } from './seed.ts';

const count = Number(process.env['PORTCULLIS_TEMPLATES'] ?? 3_000);

test('random templates give what Go gives, or fail where Go fails', async (t) => {
  const seed = seedOfRun();
  t.diagnostic(`${count} templates, seed ${seed}`);
  const oracle = await startTemplateOracle();
  t.after(() => oracle.close());
  const grammar = new TemplateGrammar(createRandom(seed));
  const cases = Array.from({ length: count }, () => grammar.next());
  const answers = await oracle.ask(cases);
  const found = cases.flatMap((each, i) => {
    const what = difference(renderHere(each), answers[i]!);
    return what === undefined ? [] : [`${JSON.stringify(each.template)}: ${what}`];
  });
  assert.deepEqual(found, []);
  // Templates that all fail would be no comparison.
  assert.ok(answers.filter(({ failed }) => failed === '').length > count / 8);
});

test('a wrong rendering would be found', async (t) => {
  const oracle = await startTemplateOracle();
  t.after(() => oracle.close());
  const each = { template: '{{ .a }} {{ range .b }}{{ . }}{{ end }}', data: { a: 1, b: ['x', 'y'] } };
  const [go] = await oracle.ask([each]);
  assert.equal(difference(renderHere(each), go!), undefined);
  assert.match(difference(renderHere({ ...each, data: { a: 1, b: ['x'] } }), go!) ?? '', /we print/);
  assert.match(difference(renderHere({ ...each, template: '{{' }), go!) ?? '', /we fail to parse/);
});
