// Expressions that are written to be expensive end by their count of steps, whatever they use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeExpressions } from './expression.ts';
import { CelFault } from './steps.ts';

const object = {
  long: 'a,'.repeat(50_000),
  line: 'a'.repeat(20_000),
  list: Array.from({ length: 900 }, (_, i) => BigInt(i)),
  texts: Array.from({ length: 900 }, (_, i) => `text-${i}`),
  map: Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key-${i}`, { a: [i, `${i}`] }])),
};
const expressions = makeExpressions((environment) => {
  environment.registerVariable('object', 'dyn');
});

const doubled = (times: number): string =>
  times === 0 ? 'object.line' : `cel.bind(v${times}, ${doubled(times - 1)}, v${times} + v${times})`;
const inLoop = (body: string): string => `object.list.all(a, ${body})`;
const inLoops = (body: string): string => inLoop(`object.list.all(b, ${body})`);

const dear: Readonly<Record<string, string>> = {
  'findAll of a long text': inLoop("object.long.findAll('a').size() > 0"),
  'findAll with a large pattern': "object.long.findAll('(a|b|c|d|e|f){1,300}').size() > 0",
  'patterns that are all different': inLoops("!object.line.matches('b' + string(a) + '-' + string(b))"),
  'a pattern that JavaScript never ends': inLoop("!object.line.matches('^(a+)+$b')"),
  'split of a long text in loops': inLoops("object.long.split(',').size() > 0"),
  'split into characters': inLoop("object.long.split('').size() > 0"),
  'join of what was split': inLoop("object.long.split(',').join('-').size() > 0"),
  'replace that makes longer texts': inLoop("object.long.replace(',', object.line).size() > 0"),
  'texts that double': `${doubled(12)}.size() > 0`,
  'lists that grow': inLoops('(object.list + object.list + object.list + object.list).size() > 0'),
  'quantities in loops': inLoops("quantity('1e300').add(quantity('1e-9')).compareTo(quantity('1')) > 0"),
  'versions in loops': inLoops("semver('1.2.3-a.b.c').isLessThan(semver('1.2.3-a.b.d'))"),
  'sets of long lists': inLoop('sets.equivalent(object.list, object.list)'),
  'indexOf in long lists': inLoops('object.list.lastIndexOf(a) >= 0'),
  'indexOf in a long text': inLoop("object.long.indexOf('b') < 0"),
  'reverse of a long text': inLoop('object.long.reverse().size() > 0'),
  'equality of large maps': inLoop('object.map == object.map'),
  'in with long lists': inLoops('a in object.list'),
  'format of a large map': inLoop("'%s'.format([object.map]).size() > 0"),
  'format with many digits': inLoops("'%.100f'.format([1e300]).size() > 0"),
  'order of long texts': inLoops('object.line <= object.line'),
  'startsWith of long texts': inLoop('object.long.startsWith(object.long)'),
  'URLs in loops': inLoops("url('https://example.com/?' + object.line).getQuery().size() > 0"),
  'addresses in loops': inLoops("cidr('10.0.0.0/8').containsIP('10.0.0.1') || isIP('::1')"),
  'formats in loops': inLoop('format.qualifiedName().validate(object.long).hasValue()'),
  'sum in loops': inLoops('object.list.sum() > 0'),
  'faults that are swallowed': `${inLoops('object.list.exists(c, c.none == a)')} || true`,
  'faults that are swallowed by or': `(${inLoops('a >= 0')}) || true`,
};

for (const [name, expression] of Object.entries(dear)) {
  test(`${name} ends when the steps are used up (ATT-56)`, () => {
    const startMs = performance.now();
    const budget = { steps: 10_000_000 };
    assert.throws(
      () => expressions.run(expression, { object }, budget),
      (error) => error instanceof CelFault && error.message === 'operation cancelled: actual cost limit exceeded',
    );
    assert.equal(budget.steps, 9_000_000);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < longestMs, `${Math.round(tookMs)} ms`);
  });
}

/** For a machine that does other things, too; the thread of the rules ends after half a second. */
const longestMs = 10_000;

test('what ordinary rules do costs little', () => {
  const budget = { steps: 10_000_000 };
  const ordinary = [
    "object.texts.all(t, t.matches('^text-[0-9]+$') && t.split('-').size() == 2)",
    "object.list.all(i, quantity(string(i)).isLessThan(quantity('1Ki')))",
    "object.texts.exists(t, t == 'text-899') && object.list.sum() > 0 && object.map.size() == 500",
  ];
  for (const expression of ordinary) assert.equal(expressions.run(expression, { object }, budget), true, expression);
  assert.ok(budget.steps > 9_800_000, `${10_000_000 - budget.steps} steps`);
});

test('several expressions share a budget', () => {
  const budget = { steps: 100 };
  assert.equal(expressions.run('object.list.size() == 900', { object }, budget), true);
  assert.ok(budget.steps < 100 && budget.steps > 50);
  assert.throws(() => expressions.run(inLoop('a >= 0'), { object }, budget), /actual cost limit exceeded/);
  assert.equal(budget.steps, 0);
  assert.throws(() => expressions.run('true', { object }, budget), /^CelFault: CEL evaluation budget exceeded/);
});
