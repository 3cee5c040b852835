import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { difference, renderHere } from '../../test/fuzz/templates/compare.ts';
import type { GoRendering } from '../../test/fuzz/templates/oracle.ts';
import { Budget, templateLimits } from './values/limits.ts';
import { compileTemplate, TemplateError } from './template.ts';

const render = (template: string, data: unknown = {}): string => compileTemplate(template).render(data);
const fault =
  (pattern: RegExp) =>
  (error: unknown): boolean =>
    error instanceof TemplateError && pattern.test(error.message);

test('templates give what Go and sprig gave when they were asked, and fail where they failed', () => {
  const text = readFileSync(join(import.meta.dirname, 'go-cases.fixture.json'), 'utf8');
  const { data, cases } = JSON.parse(text) as {
    readonly data: unknown;
    readonly cases: readonly (Record<'template' | 'message' | 'output', string> & Pick<GoRendering, 'failed'>)[];
  };
  assert.ok(cases.length > 300);
  for (const { template, failed, message, output } of cases) {
    const go = { failed, message, output: Buffer.from(output, 'base64') };
    assert.equal(difference(renderHere({ template, data }), go), undefined, template);
  }
});

test('a value with quotes, ampersands and angle brackets arrives as it is', () => {
  const value = `+ & < > " ' https://a/?b=1&c=2`;
  assert.equal(render('{{ .v }}', { v: value }), value);
});

test('bytes that are no text arrive as they are', () => {
  const bytes = Buffer.from([0, 255, 254, 13, 10, 195]);
  const data = { v: bytes.toString('base64') };
  assert.deepEqual(compileTemplate('{{ b64dec .v }}').renderBytes(data), bytes);
  assert.equal(render('{{ b64dec .v | b64enc }}', data), data.v);
});

test('functions that read the environment, ask the network, make keys or differ each time are refused by name', () => {
  for (const name of ['env', 'expandenv', 'getHostByName', 'genCA', 'now', 'randAlphaNum', 'uuidv4', 'htpasswd'])
    assert.throws(
      () => compileTemplate(`a\n{{ if false }}{{ ${name} "x" }}{{ end }}`),
      fault(new RegExp(`line 2: function "${name}" is refused`)),
    );
});

test('a fault of the text names its line', () => {
  assert.throws(() => compileTemplate('a\n\n{{ nosuch }}'), fault(/^line 3: function "nosuch" not defined$/));
  assert.throws(() => compileTemplate('a\n{{ "x }}'), fault(/^line 2: unterminated/));
});

test('a template that does not end, prints without end or nests without end fails', () => {
  const hostile: Readonly<Record<string, RegExp>> = {
    '{{ range 1000000000 }}{{ end }}': /steps/,
    '{{ range 999 }}{{ range 999 }}{{ range 999 }}{{ end }}{{ end }}{{ end }}': /steps/,
    '{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}': /deeper/,
    '{{ repeat 1000000000 "xxxxxxxxxx" }}': /bytes/,
    '{{ range 90000 }}0123456789abcdef{{ end }}': /prints|steps/,
    '{{ until 1000000000 }}': /steps/,
    '{{ indent 1000000000 "x" }}': /bytes/,
    '{{ printf "%1000000000d" 1 | len }}{{ $a := "x" }}{{ range 50 }}{{ $a = print $a $a }}{{ end }}': /bytes/,
    '{{ regexMatch "(a*)*(a*)*(a*)*b" (repeat 100000 "a") }}': /steps/,
    '{{ $d := dict "a" 1 }}{{ range 50 }}{{ $_ := set $d "a" $d }}{{ end }}{{ $d }}': /nested too deep|bytes|steps/,
    '{{ $d := dict }}{{ range 60 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ $d }}': /steps|bytes/,
    '{{ $d := dict }}{{ range 60 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ toJson $d }}': /steps|bytes/,
    '{{ $d := dict }}{{ range 60 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ printf "%d" $d }}': /steps|bytes/,
    '{{ $d := dict }}{{ range 60 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ has $d (list $d) }}': /steps|bytes/,
    '{{ $a := repeat 1000000 "a" }}{{ range 9000 }}{{ $x := contains "aab" $a }}{{ end }}': /steps/,
    '{{ $l := list 1 }}{{ range 40 }}{{ $l = concat $l $l }}{{ end }}': /steps/,
  };
  for (const [template, pattern] of Object.entries(hostile))
    assert.throws(() => render(template), fault(new RegExp(`${pattern.source}|longer than`)), template);
  assert.throws(() => compileTemplate('{{ if true }}'.repeat(100) + '{{ end }}'.repeat(100)), fault(/nested deeper/));
  assert.throws(() => compileTemplate('x'.repeat(templateLimits.source + 1)), fault(/longer than/));
});

test('what a function walks over counts, however little comes out, and the clock ends the rest (ATT-56)', () => {
  const data = { data: Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 'x'])) };
  for (const walking of [
    'len (pick $.data)',
    'len (omit $.data "a")',
    'len (keys $.data)',
    'len (values $.data)',
    'len (merge (dict) $.data)',
    'len (merge $.data (dict "a" "b"))',
  ])
    assert.throws(
      () => render(`{{ range until 30000 }}{{ $x := ${walking} }}{{ end }}`, data),
      fault(/steps/),
      walking,
    );
  assert.throws(
    () => render('{{ range until 30000 }}{{ range $.data }}{{ break }}{{ end }}{{ end }}', data),
    fault(/steps/),
  );
  for (const searching of ['regexFindAll "(?:a.*b|a)" $t -1', 'regexReplaceAll "(?:a.*b|a)" $t "x"'])
    assert.throws(
      () => render(`{{ $t := repeat 40000 "a" }}{{ len (${searching}) }}`),
      fault(/steps|longer than 200 ms/),
      searching,
    );
  const pattern = '(x{40}){20}'.repeat(20);
  assert.throws(
    () => render(`{{ range until 30000 }}{{ $x := regexMatch "${pattern}" "" }}{{ end }}`),
    fault(/steps|longer than 200 ms/),
  );
});

test('a rendering ends by the clock where its steps are cheap and its work is not', () => {
  let nowMs = 0;
  const clock = (): number => nowMs;
  const budget = new Budget({ now: clock, ran: clock });
  budget.step();
  nowMs = templateLimits.milliseconds;
  budget.step();
  nowMs += 1;
  assert.throws(() => budget.step(), fault(/longer than 200 ms/));
});

test('a rendering that waits for a core has as much time as one that does not', () => {
  let [nowMs, ranMs] = [0, 0];
  const budget = new Budget({ now: () => nowMs, ran: () => ranMs });
  for (; ranMs <= templateLimits.milliseconds; ranMs += 40) {
    budget.step();
    nowMs += 1000;
  }
  assert.throws(() => budget.step(), fault(/longer than 200 ms/));
});

test('names of JavaScript objects mean nothing to a template', () => {
  assert.equal(render('{{ .constructor }}{{ .__proto__ }}{{ get . "toString" }}', { a: 1 }), '');
  assert.throws(() => compileTemplate('{{ constructor }}'), fault(/not defined/));
  assert.equal(render('{{ .__proto__ }}', JSON.parse('{"__proto__": "x"}')), 'x');
});

test('data is not changed by a template that sets keys of it', () => {
  const data = { m: { a: 1 } };
  assert.equal(render('{{ $_ := set .m "a" 2 }}{{ .m.a }}', data), '2');
  assert.deepEqual(data, { m: { a: 1 } });
});
