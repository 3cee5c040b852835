import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../lib/json/exact-json.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { readConditionRule, readFeedbackRule, type ConditionRule, type FeedbackRule } from '../work/manifest-config.ts';
import { evaluateRules } from './condition-rules.ts';
import { readFeedback } from './feedback-values.ts';

const object = {
  apiVersion: 'v1',
  kind: 'Thing',
  spec: { count: 3, ratio: 0.5, on: true, list: [1, 2], text: 'x', none: null },
};
const paths = (...named: readonly (readonly [string, string])[]): readonly FeedbackRule[] => [
  readFeedbackRule({ type: 'JSONPaths', jsonPaths: named.map(([name, path]) => ({ name, path })) }),
];
const rule = (celExpressions: readonly string[], more: object = {}): ConditionRule =>
  readConditionRule({ condition: 'C', type: 'CEL', celExpressions, ...more });
const one = (...rules: readonly ConditionRule[]): string => {
  const [found] = evaluateRules(object, rules);
  return `${found?.status} ${found?.reason} ${found?.message}`;
};

test('values have the type of the field, and a field that is missing or null has none', () => {
  const { values, outcome } = readFeedback(
    object,
    paths(['i', '.spec.count'], ['b', '.spec.on'], ['s', '.spec.text'], ['n', '.spec.none'], ['m', '.spec.no.such']),
    false,
  );
  assert.deepEqual(
    values.map(({ fieldValue }) => fieldValue),
    [
      { type: 'Integer', integer: 3 },
      { type: 'Boolean', boolean: true },
      { type: 'String', string: 'x' },
    ],
  );
  assert.deepEqual(outcome, { fault: undefined });
  assert.equal(readFeedback(object, [], false).outcome, undefined);
});

test('a number that is no integer of 64 bits is named, and the others are told', () => {
  const odd = {
    ...object,
    spec: parseExact(
      '{"whole":9007199254740993,"most":9223372036854775807,"beyond":9223372036854775808,"exponent":1e+21,"half":0.5,"count":3}',
    ) as JsonObject,
  };
  const named = Object.keys(odd.spec).map((name) => [name, `.spec.${name}`] as const);
  const { values, outcome } = readFeedback(odd, paths(...named), false);
  assert.equal(
    JSON.stringify(values.map(({ fieldValue }) => (fieldValue as { integer: unknown }).integer)),
    '[9007199254740993,9223372036854775807,3]',
  );
  for (const name of ['beyond', 'exponent', 'half'])
    assert.match(String(outcome?.fault), new RegExp(`type float64 of the value for ${name} is not found`));
});

test('integers of 64 bits are exact in conditions', () => {
  const large = { ...object, spec: { id: 9007199254740993n, beyond: 2n ** 64n } };
  const holds = (expression: string): string | undefined => evaluateRules(large, [rule([expression])])[0]?.status;
  assert.equal(holds('object.spec.id == 9007199254740993'), 'True');
  assert.equal(holds('object.spec.id == 9007199254740992'), 'False');
  assert.equal(holds('object.spec.beyond > 9.0e18'), 'True');
});

test('each path that cannot be told is named, and the others are told', () => {
  const { values, outcome } = readFeedback(
    object,
    paths(['l', '.spec.list'], ['f', '.spec.ratio'], ['x', '.spec['], ['i', '.spec.count']),
    false,
  );
  assert.equal(values.length, 1);
  assert.match(
    outcome?.fault ?? '',
    /^\[the type \[\].* for l is not found, the type float64 .* for f .*failed to parse json path .*\]$/,
  );
});

test('all paths of an object together take little more than one of them may (ATT-56)', () => {
  const list = Array.from({ length: 10_000 }, (_, i) => i);
  const named = Array.from({ length: 500 }, (_, i) => [`p${i}`, '.list[*]'] as const);
  const { values, outcome } = readFeedback({ ...object, list }, paths(['first', '.spec.count'], ...named), true);
  assert.deepEqual(values, [{ name: 'first', fieldValue: { type: 'Integer', integer: 3 } }]);
  const walked = outcome?.fault?.match(/is larger than the maximum length/g)?.length ?? 0;
  assert.ok(walked > 0 && walked <= 10, `${walked} of 500 paths were walked`);
  assert.equal(outcome!.fault!.match(/ more than \d+ values/g)?.length, 500 - walked);
});

test('expressions are all true or the condition is not, and those after a false one are not asked', () => {
  assert.equal(
    one(rule(['object.spec.count == 3', "object.spec.text == 'x'"])),
    'True ConditionRuleEvaluated Manifest is C',
  );
  assert.equal(
    one(rule(['has(object.spec.no)', 'object.spec.no.such == 1'])),
    'False ConditionRuleEvaluated Manifest is not C',
  );
  assert.equal(
    one(rule(['object.spec.count + 1 == 4'], { messageExpression: "result ? 'yes' : 'no'" })),
    'True ConditionRuleEvaluated yes',
  );
});

test('a fault of an expression is a condition that says so', () => {
  for (const expression of ['object.spec.count', 'object.spec.no.such == 1', 'nothing', 'object.('])
    assert.match(one(rule([expression])), /^False ConditionRuleExpressionError ./, expression);
  assert.match(
    one(rule([], { type: 'Other' })),
    /^Unknown ConditionRuleInvalid unrecognized condition rule type Other$/,
  );
});

test('loops in loops over long lists end when their steps are used up', () => {
  const long = { ...object, spec: { list: Array.from({ length: 200 }, () => 1) } };
  const nested = 'object.spec.list.all(a, object.spec.list.all(b, object.spec.list.all(c, a + b + c == 3)))';
  const [found] = evaluateRules(long, [rule([nested])]);
  assert.equal(found?.message, 'operation cancelled: actual cost limit exceeded');
  const apart = 'object.spec.list.all(a, a == 1) && object.spec.list.all(b, b == 1) && object.spec.list.all(c, c == 1)';
  assert.equal(evaluateRules(long, [rule([apart])])[0]?.status, 'True');
});

test('rules have the functions that Kubernetes adds to CEL', () => {
  const node = { ...object, status: { free: '2Gi', address: '10.1.2.3', version: 'v1.31.2', none: null } };
  const first = (expression: string, more: object = {}): string => {
    const [found] = evaluateRules(node, [rule([expression], more)]);
    return `${found?.status} ${found?.reason} ${found?.message}`;
  };
  assert.match(first("quantity(object.status.free).isGreaterThan(quantity('1Gi'))"), /^True ConditionRuleEvaluated /);
  assert.match(first("quantity(object.status.free).isGreaterThan(quantity('3Gi'))"), /^False ConditionRuleEvaluated /);
  assert.match(first("cidr('10.0.0.0/8').containsIP(object.status.address)"), /^True /);
  const words = { messageExpression: "'%s: %s'.format([object.status.version, result])" };
  assert.equal(
    first('semver(object.status.version.substring(1)).minor() >= 31', words),
    'True ConditionRuleEvaluated v1.31.2: true',
  );
  const fault = 'False ConditionRuleExpressionError';
  for (const [expression, message] of [
    ["quantity(object.status.none).isGreaterThan(quantity('1Gi'))", 'no such overload: quantity(null_type)'],
    ["quantity(object.status.absent).isGreaterThan(quantity('1Gi'))", 'no such key: absent'],
    ["quantity(object.status).isGreaterThan(quantity('1Gi'))", 'no such overload: quantity(map)'],
    [
      "object.status.free.isGreaterThan(quantity('1Gi'))",
      'no such overload: isGreaterThan(string, kubernetes.Quantity)',
    ],
    ['unknown(object)', "ERROR: <input>:1:8: undeclared reference to 'unknown' (in container '')"],
    ['result', "ERROR: <input>:1:1: undeclared reference to 'result' (in container '')"],
    ['object.spec.count', 'expected bool result, got int64'],
    ['object.status', 'expected bool result, got map[string]interface {}'],
  ] as const)
    assert.equal(first(expression), `${fault} ${message}`);
  // OCM's agent takes a pattern that is written out, and is none, for a fault of its own.
  assert.match(first("object.spec.text.find('(') == ''"), /^Unknown ConditionRuleInternalError error parsing regexp: /);
});

test('the rules of one object share ten million steps', () => {
  const long = { ...object, spec: { list: Array.from({ length: 2_000 }, () => 1) } };
  const dear = 'object.spec.list.all(a, object.spec.list.all(b, a == b))';
  const found = evaluateRules(long, [...Array.from({ length: 10 }, () => rule([dear])), rule(['true'])]);
  assert.deepEqual(
    [...new Set(found.map(({ message }) => message))],
    ['operation cancelled: actual cost limit exceeded', 'CEL evaluation budget exceeded'],
  );
});

test('objects and lists are fed back as Go writes their JSON', () => {
  const odd = { ...object, spec: { b: '<1>', a: 9007199254740993n, z: [1.5, null] } };
  const { values } = readFeedback(odd, paths(['spec', '.spec'], ['all', '.spec.z[*]'], ['half', '.spec.z[0]']), true);
  assert.deepEqual(
    values.map(({ fieldValue }) => (fieldValue as { readonly jsonRaw: string }).jsonRaw),
    ['{"a":9007199254740993,"b":"\\u003c1\\u003e","z":[1.5,null]}', '[1.5,null]', '1.5'],
  );
});
