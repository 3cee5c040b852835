import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelFault, LabelSelectorFault, readLabelSelector, selectorMatches } from './label-selector.ts';

test('labels follow the rules of Kubernetes', () => {
  assert.equal(labelFault('a.b-c_d', 'V1.x_y-z'), undefined);
  assert.equal(labelFault('my.domain.io/name', ''), undefined);
  const bad: readonly (readonly [string, string])[] = [
    ['', ''],
    ['-a', ''],
    ['a/b/c', ''],
    ['/a', ''],
    ['A.io/a', ''],
    ['a', '-x'],
    ['a', 'x y'],
    ['a'.repeat(64), ''],
  ];
  for (const [key, value] of bad) assert.notEqual(labelFault(key, value), undefined, key);
});

test('a selector that Kubernetes would refuse is refused as a whole, so that it never selects more', () => {
  const expression = (fields: object): object => ({ matchExpressions: [fields] });
  const bad: readonly unknown[] = [
    ...[undefined, null, 'a=b', [], 1],
    ...[{ matchLabels: [] }, { matchLabels: 'a' }, { matchExpressions: {} }, { matchExpressions: 'a' }],
    ...[{ matchLabels: { a: 1 } }, { matchLabels: { a: null } }, { matchLabels: { 'a b': 'c' } }],
    ...[{ matchExpressions: [null] }, { matchExpressions: ['a'] }, expression({})],
    ...['in', 'Gt', 'notin', '', null, 1].map((operator) => expression({ key: 'a', operator, values: ['b'] })),
    ...[undefined, '', 'a b', 1, null].map((key) => expression({ key, operator: 'DoesNotExist' })),
    ...[undefined, null, []].map((values) => expression({ key: 'a', operator: 'NotIn', values })),
    ...[undefined, null, []].map((values) => expression({ key: 'a', operator: 'In', values })),
    ...['b', {}, [1], ['b', null], ['b c']].map((values) => expression({ key: 'a', operator: 'NotIn', values })),
    expression({ key: 'a', operator: 'DoesNotExist', values: ['b'] }),
    expression({ key: 'a', operator: 'Exists', values: ['b'] }),
  ];
  for (const selector of bad)
    assert.throws(() => readLabelSelector(selector), LabelSelectorFault, JSON.stringify(selector));
});

test('a label that is missing matches NotIn and DoesNotExist, and a selector without parts matches everything', () => {
  const matches = (selector: object, labels: Readonly<Record<string, string>>): boolean =>
    selectorMatches(readLabelSelector(selector), labels);
  for (const empty of [{}, { matchLabels: null, matchExpressions: null }, { matchLabels: {}, matchExpressions: [] }])
    assert.equal(matches(empty, {}), true);
  const one = (operator: string, ...values: readonly string[]) => ({
    matchExpressions: [{ key: 'a', operator, ...(values.length > 0 && { values }) }],
  });
  assert.deepEqual(
    [one('In', 'x', ''), one('NotIn', 'x'), one('Exists'), one('DoesNotExist')].map((selector) =>
      [{}, { a: 'x' }, { a: '' }].map((labels) => matches(selector, labels as Readonly<Record<string, string>>)),
    ),
    [
      [false, true, true],
      [true, false, true],
      [false, true, true],
      [true, false, false],
    ],
  );
  assert.equal(matches({ matchLabels: { constructor: 'x' } }, {}), false);
  assert.equal(matches({ ...one('Exists'), matchLabels: { b: 'y' } }, { a: 'x' }), false);
});
