// Every function that Kubernetes adds to CEL, against what Kubernetes itself answers. go-cases.fixture.json holds what
// the libraries of k8s.io/apiserver 0.34.3 made of each expression, with cel-go 0.26.1 and the text library as OCM's
// agent 1.2.0 has it; test/peers/cel-cases.e2e.ts asks them again.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Optional } from '@marcbachmann/cel-js';
import { makeExpressions } from './expression.ts';
import { CelFault } from './steps.ts';
import { typeNameOf } from './text-format.ts';

type Case = readonly [expression: string, kind: 'value' | 'type' | 'fault', answer: string];

const text = readFileSync(join(import.meta.dirname, 'go-cases.fixture.json'), 'utf8');
const { object, cases } = JSON.parse(text, (_key, value: unknown) =>
  Number.isInteger(value) ? BigInt(value as number) : value,
) as { readonly object: object; readonly cases: Readonly<Record<string, readonly Case[]>> };

const expressions = makeExpressions((environment) => {
  environment.registerVariable('object', 'dyn');
});
const budget = { steps: Infinity };

/** Where this gateway answers otherwise, and why. */
const otherwise: Readonly<Record<string, string>> = {
  'sets.contains([1], [1.0])': 'bool true', // cel-go refuses lists of two types before it evaluates them
};

/** A value as the Go program that made the answers prints it. */
function printed(value: unknown): string {
  if (typeof value === 'string') return `string ${JSON.stringify(value)}`;
  return `${typeNameOf(value)} ${inner(value)}`;
}

function inner(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inner).join(' ')}]`;
  if (value instanceof Optional) return value.hasValue() ? inner(value.value()) : '<nil>';
  return String(value);
}

/** Large numbers are printed otherwise by Go. */
function comparable(answer: string): string {
  const [, double] = /^double (.*)$/.exec(answer) ?? [];
  if (double !== undefined) return `double ${Number(double)}`;
  return answer.startsWith('string ') ? `string ${JSON.stringify(JSON.parse(answer.slice('string '.length)))}` : answer;
}

/**
 * The place of a fault and its first three words. What follows differs where a type is written, and in what a parser
 * tells. A fault that one of the two finds only when it evaluates has no place there.
 */
function beginning(message: string): readonly [place: string, words: string] {
  const [, place = '', words = ''] = /^(ERROR: <input>:\d+:\d+: )?(\S+(?: \S+){0,2})/.exec(message) ?? [];
  return [place, words];
}

function answerOf(expression: string): unknown {
  return expressions.run(expression, { object }, budget);
}

for (const [library, each] of Object.entries(cases)) {
  test(`${library}: ${each.length} expressions give what Kubernetes gives`, () => {
    for (const [expression, kind, answer] of each) {
      const other = otherwise[expression];
      if (other !== undefined) assert.equal(printed(answerOf(expression)), other, expression);
      else if (kind === 'value')
        assert.equal(comparable(printed(answerOf(expression))), comparable(answer), expression);
      else if (kind === 'type') assert.equal(typeNameOf(answerOf(expression)), answer, expression);
      else assertFault(expression, answer);
    }
  });
}

function assertFault(expression: string, wanted: string): void {
  const message = faultOf(expression);
  const [[place, words], [wantedPlace, wantedWords]] = [beginning(message), beginning(wanted)];
  if (place !== '' && wantedPlace !== '') assert.equal(place, wantedPlace, `${expression}: ${message}`);
  const isOverload = /^(?:no such overload|found no matching)/;
  if (!isOverload.test(words) || !isOverload.test(wantedWords))
    assert.equal(words.replace(/:$/, ''), wantedWords.replace(/:$/, ''), `${expression}: ${message}`);
}

function faultOf(expression: string): string {
  try {
    const value = answerOf(expression);
    assert.fail(`${expression} gave ${printed(value)}`);
  } catch (error) {
    assert.ok(error instanceof CelFault, `${expression}: ${String(error)}`);
    return error.message;
  }
}

test('there are cases for every library', () => {
  const all = Object.values(cases).flat();
  assert.ok(all.length > 600, `${all.length} cases`);
  assert.ok(all.filter(([, kind]) => kind === 'fault').length > 150);
});

test('lists of members that have no order are a fault, where Kubernetes takes the first or calls them sorted', () => {
  for (const expression of ["dyn([1, 'a']).isSorted()", "dyn([1, 'a']).max()", 'dyn([1, 2.0]).sum()'])
    assert.match(faultOf(expression), /^no such overload/, expression);
});

test('integers stay within 64 bits', () => {
  const least = '(-9223372036854775807 - 1)';
  for (const expression of [
    `-${least}`,
    `${least} / -1`,
    `${least} - 1`,
    'int(1e30)',
    '[1].sum() + 9223372036854775807',
  ])
    assert.equal(faultOf(expression), 'integer overflow', expression);
});

test('only texts, and numbers that are written out, are keys of maps', () => {
  for (const [expression, expected] of [
    ["'text' in object", true],
    ['true in object', false],
    ['null in object', false],
    ["'' in {'': 1}", true],
    ['1 in {1: 2}', true],
    ["'__proto__' in object", false],
    ["'constructor' in object", false],
  ] as const)
    assert.equal(answerOf(expression), expected, expression);
});

test('what the CEL package adds to CEL is not there', () => {
  for (const expression of ["b'{}'.json()", "b'a'.hex()", "b'a'.string()", "b'a'.base64()", "b'a'.at(0)"])
    assert.match(faultOf(expression), /undeclared reference to '\w+' \(in container ''\)$/, expression);
  assert.match(faultOf("k8s_own_quantity('1')"), /undeclared reference/);
});
