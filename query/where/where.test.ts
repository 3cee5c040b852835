// What `whereSQL` may say, what it selects, and that nothing else gets through. That random expressions select what
// PostgreSQL selects is tested with a real one (test/e2e/index/postgres/where-sql.e2e.ts).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';

import { GatewayError } from '../../model/errors.ts';
import { allOf, type ListQuery } from '../list-query.ts';
import { whereArbitrary } from '../../store/conformance/where.fixture.ts';
import { compileWhere } from '../match-where.ts';
import { numberText } from '../json-text.ts';
import { liftWhere } from './lift.ts';
import { mergeComparisons } from './merge.ts';
import { likeTest } from '../like.ts';
import { parseWhere } from './parse.ts';
import type { Parameter } from './values.ts';

const pods = { group: '', resource: 'pods' };
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-1',
    namespace: 'shop',
    uid: 'u1',
    creationTimestamp: '2024-03-05T10:00:00Z',
    labels: { 'app.io/name': 'web', n: '3' },
    ownerReferences: [{ uid: 'o0' }, { uid: 'o1', controller: true }],
  },
  spec: { replicas: 3, ratio: 1.5, on: true, nothing: null, list: [{ a: 1 }, 'b'], big: 9_007_199_254_740_993n },
  status: { phase: 'Running' },
};
const key = { cluster: 'alpha', type: 'pods.', namespace: 'shop', name: 'web-1' };

function selects(text: string, parameters?: readonly Parameter[]): boolean {
  return compileWhere(parseWhere('whereSQL', text, parameters))(pod, key);
}

function refusal(text: string, parameters?: readonly Parameter[]): string {
  try {
    parseWhere('whereSQL', text, parameters);
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'BAD_REQUEST', String(error));
    return error.message;
  }
  return assert.fail(`${text} was read`);
}

test('the columns are those of the row, and texts compare by their bytes', () => {
  for (const text of [
    "cluster = 'alpha' AND namespace = 'shop' AND name = 'web-1' AND uid = 'u1' AND owner_uid = 'o1'",
    "\"group\" = '' AND group = '' AND `group` = '' AND version = 'v1' AND resource = 'pods' AND kind = 'Pod'",
    "'web' < name AND name < 'web-2' AND name >= 'web-1' AND name <> 'WEB-1' AND 'a' <= name",
    "created_at >= '2024-03-05' AND created_at < '2024-03-05 10:00:01' AND created_at = '2024-03-05T11:00:00+01:00'",
    "namespace IN ('ops', 'shop') AND namespace NOT IN ('ops') AND name BETWEEN 'a' AND 'x' AND name NOT BETWEEN 'a' AND 'b'",
  ])
    assert.equal(selects(text), true, text);
  for (const text of ["name = 'WEB-1'", "namespace IN ('SHOP')", "kind = 'pod'", 'namespace IS NULL'])
    assert.equal(selects(text), false, text);
});

test('paths of the object are written as in PostgreSQL or as in MySQL, and give texts or JSON as there', () => {
  for (const text of [
    "object->'status'->>'phase' = 'Running' AND (object->'status')->>'phase' = 'Running'",
    "object#>>'{status,phase}' = 'Running' AND object->>'$.status.phase' = 'Running'",
    "JSON_EXTRACT(object, '$.status.phase') = 'Running' AND json_unquote(json_extract(object,'$.\"status\".phase')) = 'Running'",
    "object->'metadata'->'labels'->>'app.io/name' = 'web' AND JSON_EXTRACT(object,'$.metadata.labels.\"app.io/name\"') = 'web'",
    "object->'spec'->>'replicas' = '3' AND object->'spec'->'replicas' = '3.0' AND JSON_EXTRACT(object,'$.spec.replicas') > 2",
    "object->'spec'->'list'->0->>'a' = '1' AND object->'spec'->'list'->>1 = 'b' AND JSON_EXTRACT(object,'$.spec.list[1]') = 'b'",
    "object->'spec'->>'list' = '[{\"a\": 1}, \"b\"]' AND object->'spec'->'list' = '[{\"a\":1.0},\"b\"]'",
    "object->'spec'->>'big' = '9007199254740993' AND JSON_EXTRACT(object,'$.spec.big') > 9007199254740992",
    "JSON_EXTRACT(object,'$.spec.on') = TRUE AND object->'spec'->>'on' = 'true' AND object->'spec'->>'ratio' = '1.5'",
    "object->'spec'->>'nothing' IS NULL AND object->'spec'->'nothing' IS NOT NULL AND object->>'none' IS NULL",
    "JSON_EXTRACT(object,'$.status.phase') LIKE '\"Run%' AND object->'status'->>'phase' ILIKE 'rUN%'",
  ])
    assert.equal(selects(text), true, text);
});

test('a value that the row does not have makes no comparison true, whatever is said about it', () => {
  const missing = "object->'spec'->>'none'";
  const comparisons = [
    `${missing} = 'x'`,
    `${missing} <> 'x'`,
    `${missing} IN ('x')`,
    `${missing} LIKE '%'`,
    `${missing} < 'x'`,
  ];
  for (const text of [...comparisons, 'name = NULL', "name IN ('x', NULL)", "name NOT IN ('x', NULL)", 'NULL']) {
    assert.equal(selects(text), false, text);
    assert.equal(selects(`NOT (${text})`), false, `NOT ${text}`);
    assert.equal(selects(`(${text}) OR TRUE`), true, text);
  }
  assert.equal(selects("name IN ('web-1', NULL)"), true);
});

test('NOT binds tighter than AND, AND tighter than OR', () => {
  assert.equal(selects("name = 'x' AND name = 'x' OR name = 'web-1'"), true);
  assert.equal(selects("name = 'x' AND (name = 'x' OR name = 'web-1')"), false);
  assert.equal(selects("NOT name = 'x' AND name = 'web-1'"), true);
  assert.equal(selects("NOT (name = 'x' OR NOT (kind = 'Pod'))"), true);
  assert.equal(selects("not name not in ('web-1')"), true);
});

test('LIKE knows %, _ and the backslash, and counts characters, not units', () => {
  const matches: readonly (readonly [string, string, boolean])[] = [
    ['%', '', true],
    ['_', '', false],
    ['a%c', 'abbc', true],
    ['a%c', 'abbd', false],
    ['%b%b%', 'aba', false],
    ['%ab%b', 'ab', false],
    ['a\\%', 'a%', true],
    ['a\\%', 'ab', false],
    ['\\a', 'a', true],
    ['_b', '\u{1F600}b', true],
    ['%_b%c', 'x\u{1F600}bcc', true],
    ['a_', 'a', false],
    ['%_', '', false],
    ['__%__', '\u{1F600}aa', false],
    ['__%__', '\u{1F600}aaa', true],
  ];
  for (const [pattern, text, expected] of matches)
    assert.equal(likeTest(pattern, false)(text), expected, `${text} LIKE ${pattern}`);
  assert.equal(likeTest('%É_', true)('xéÀ'), true);
});

test('numbers of JSON have the text that PostgreSQL gives them', () => {
  for (const [written, text] of [
    ['1e2', '100'],
    ['1.50', '1.50'],
    ['-0', '0'],
    ['-0.0', '0.0'],
    ['2.5e-3', '0.0025'],
    ['12.34e1', '123.4'],
    ['0.1E+3', '100'],
    ['-1e-2', '-0.01'],
    ['1e999999999', '1e999999999'],
  ] as const)
    assert.equal(numberText(written), text);
});

test('a value that is nested too deep has no text, and makes nothing fail', () => {
  const deep = `{"spec":${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}}`;
  const wide = `{"spec":{"a":${'['.repeat(400)}${'"x",'.repeat(100_000)}1${']'.repeat(400)}}}`;
  const test = (text: string, json: string): boolean =>
    compileWhere(parseWhere('whereSQL', text))(Buffer.from(json), key);
  for (const text of ["object->>'spec' LIKE '%'", "object->'spec' <> '{}'", "JSON_EXTRACT(object,'$.spec') <> 'x'"]) {
    assert.equal(test(text, deep), false, text);
    assert.equal(test(text, wide), true, text);
  }
  assert.equal(test("object->>'spec' IS NOT NULL AND object->'spec'->'a'->>'a' IS NOT NULL", deep), true);
});

test('question marks are values, and never a part of the expression', () => {
  assert.equal(selects('namespace = ? AND name IN (?)', ['shop', ['web-1', 'x']]), true);
  assert.equal(selects('name IN ?', [['web-1']]), true);
  assert.equal(selects('name NOT IN ?', [[]]), false, 'an empty list is a list with NULL, as in GORM');
  assert.equal(selects('name IN (?, ?)', ['x', 'web-1']), true);
  assert.equal(selects("JSON_EXTRACT(object,'$.spec.replicas') = ? AND created_at > ?", [3, '2024-01-01']), true);
  for (const value of ["' OR '1'='1", ' OR 1=1 -- ', "x' UNION SELECT 1", '?', ''])
    assert.equal(selects('name = ?', [value]), false);
  assert.match(refusal('name = ?'), /character 8: a \? needs whereSQLStatement/);
  assert.match(refusal('name = ? OR name = ?', ['a']), /there is no parameter for this \?/);
  assert.match(refusal('name = ?', ['a', 'b']), /2 parameters are given for 1 question marks/);
  assert.match(refusal('name = ?', [['a']]), /a list of parameters belongs to IN/);
});

test('everything else is refused, and the message names the place', () => {
  for (const [text, message] of [
    ['', /character 1: the end is not expected here/],
    ["name = 'x' -- c", /character 12: comments are not supported/],
    ["name = 'x' /* c */", /character 12: comments/],
    ["name = 'x' # c", /character 12: comments/],
    ["name = 'x'; DROP TABLE obj", /character 11: only one expression/],
    ['length(name) > 3', /character 1: the function "length" is not supported/],
    ["pg_sleep(10) = ''", /the function "pg_sleep"/],
    ['name IN (SELECT name FROM obj)', /character 10: there is no column "select"/],
    ['EXISTS (SELECT 1)', /function "exists"/],
    ["password = 'x'", /there is no column "password"; the columns are cluster, namespace, name, group/],
    ["obj.name = 'x'", /"\." is not supported/],
    ["name = 'x", /character 8: the quote is not closed/],
    ["name = 'it\\'s'", /character 14: the quote is not closed/],
    ["name = E'x'", /there is no column "e"/],
    ['name = $$x$$', /"\$" is not supported/],
    ["name || 'x' = 'y'", /"\|" is not supported/],
    ["name::text = 'x'", /":" is not supported/],
    ["object->'spec'->>'replicas' > 2", /a text and a number cannot be compared: write the number in quotes/],
    ["object->'spec'->'replicas' > '2'", /> cannot compare JSON: use ->>/],
    ["object->'status'->'phase' = 'Running'", /the text beside it is none: use ->>/],
    ["object->'status'->'phase' LIKE 'R%'", /LIKE needs a text: use ->>/],
    ["created_at > 'yesterday'", /"yesterday" is not a time/],
    ['created_at > 5', /a time and a number cannot be compared/],
    ["name->>'x' = 'y'", /before ->> there must be object/],
    ["object->>'a'->>'b' = 'y'", /before ->> there must be object/],
    ["JSON_EXTRACT(object,'$.a[*]') = 1", /a path is made of \.key/],
    ["JSON_EXTRACT(object,'status') = 1", /begins with \$/],
    ["object->-1 = '1'", /expected a key in quotes/],
    ["name LIKE 'a\\'", /must not end with a backslash/],
    ['name LIKE namespace', /the pattern of LIKE must be a text/],
    ['name IS TRUE', /only IS NULL and IS NOT NULL/],
    ["name = 'a' = 'b'", /expected the end, AND or OR, not "="/],
    ['name', /a comparison is expected/],
    ['1', /a comparison is expected/],
    ["(name = 'a'", /expected \), not the end/],
    ["name = 'a' AND", /the end is not expected/],
    ["name NOT = 'a'", /expected IN, LIKE, ILIKE or BETWEEN/],
    [`name LIKE '%${'_'.repeat(65)}%'`, /more than 64 characters together/],
    [`${'('.repeat(200)}name = 'a'${')'.repeat(200)}`, /nested deeper than 100/],
    [`${'NOT '.repeat(200)} TRUE`, /nested deeper than 100/],
    [Array.from({ length: 500 }, () => "name = 'a'").join(' OR '), /more than 400 comparisons/],
    [`name = '${'x'.repeat(40_000)}'`, /longer than 32768 characters/],
  ] as const)
    assert.match(refusal(text), message, text.slice(0, 60));
});

test('hostile expressions are refused, or select by what they say and nothing more', () => {
  const pieces = fc.constantFrom(
    ...[
      "'",
      '"',
      '`',
      ';',
      '--',
      '/*',
      '*/',
      '#',
      '\\',
      '\0',
      '\u{1F600}',
      '$1',
      '@@version',
      '(',
      ')',
      ',',
      '?',
      '::text',
    ],
    ...[
      ' OR 1=1 ',
      ' UNION SELECT NULL',
      ' name ',
      " 'x' ",
      ' = ',
      ' IN ',
      ' LIKE ',
      " '%' ",
      ' NOT ',
      ' NULL ',
      ' object ',
      '->',
      '->>',
    ],
    ...[
      ' AND ',
      ' OR ',
      '1',
      '1e309',
      ' BETWEEN ',
      ' IS ',
      "E'\\x27'",
      "U&'\\0027'",
      ' pg_sleep(9) ',
      'CASE WHEN TRUE THEN 1 END',
      "JSON_EXTRACT(object,'$') ",
    ],
  );
  const text = fc.oneof(
    fc.array(pieces, { minLength: 1, maxLength: 12 }).map((some) => some.join('')),
    fc.tuple(whereArbitrary, pieces, fc.nat()).map(([{ text: valid }, piece, at]) => {
      const cut = at % (valid.length + 1);
      return valid.slice(0, cut) + piece + valid.slice(cut);
    }),
  );
  let refused = 0;
  const property = fc.property(text, (hostile) => {
    try {
      assert.equal(typeof selects(hostile), 'boolean');
    } catch (error) {
      assert.ok(error instanceof GatewayError && error.code === 'BAD_REQUEST', `${hostile}: ${String(error)}`);
      refused += 1;
    }
  });
  fc.assert(property, { numRuns: 2000, seed: 1 });
  assert.ok(refused > 1000, `${refused} were refused`);
});

test('what a query can say without SQL is moved to its other fields', () => {
  const lifted = (text: string): Partial<ListQuery> => {
    const all = allOf(pods);
    const query = liftWhere({ ...all, where: parseWhere('whereSQL', text) });
    return Object.fromEntries(
      Object.entries(query).filter(([name, value]) => value !== all[name as keyof ListQuery]),
    ) as Partial<ListQuery>;
  };
  assert.deepEqual(
    Object.keys(
      lifted(
        "cluster = 'a' AND namespace IN ('b','c') AND name <> 'd' AND name LIKE '%e%' AND uid = 'f' AND created_at > '2024-01-01'",
      ),
    ).toSorted(),
    ['clusters', 'createdSinceMs', 'nameContains', 'namespaces', 'notNames', 'types', 'uids'].filter(
      (name) => name !== 'types',
    ),
  );
  assert.deepEqual(lifted("cluster IN ('a','b') AND cluster = 'b'"), { clusters: ['b'] });
  const phase = [
    { kind: 'key', key: 'status' },
    { kind: 'key', key: 'phase' },
  ] as const;
  assert.deepEqual(lifted("object->'status'->>'phase' = 'Failed' OR object->'status'->>'phase' IS NULL"), {
    anyOf: [
      [
        { path: phase, operator: 'In', values: ['Failed'] },
        { path: phase, operator: 'DoesNotExist', values: [] },
      ],
    ],
  });
  assert.deepEqual(Object.keys(lifted("object->'spec'->>'replicas' = '3'")), ['where'], 'a number has several texts');
  assert.deepEqual(Object.keys(lifted("cluster = 'a' OR namespace = 'b'")), ['where']);
  assert.deepEqual(lifted('TRUE'), {});
});

test('comparisons of one value with texts become one set', () => {
  const merged = (text: string) => mergeComparisons(parseWhere('whereSQL', text));
  const set = (column: string, texts: readonly string[], isNegated = false) => ({
    ...{ kind: 'in', left: { kind: 'column', column, type: 'text' }, texts, isNegated },
  });
  assert.deepEqual(merged("name = 'a' OR (name IN ('b','a') OR name = 'c')"), set('name', ['a', 'b', 'c']));
  assert.deepEqual(merged("NOT (name = 'a' OR name = 'b') AND name <> 'c'"), set('name', ['a', 'b', 'c'], true));
  const or = merged("name = 'a' OR uid = 'u' OR name <> 'b' OR name = 'c' OR name > 'd'");
  assert.ok(or.kind === 'or');
  assert.deepEqual(or.of.slice(0, 2), [set('name', ['a', 'c']), set('uid', ['u'])]);
  assert.equal(or.of.length, 4, 'a set of texts that are forbidden, and an order, stay as they are');
  const json = "JSON_EXTRACT(object,'$.a') = 'b'";
  assert.equal(
    (merged(`${json} OR ${json}`) as { of: readonly unknown[] }).of.length,
    2,
    'JSON is not compared with texts alone',
  );
});
