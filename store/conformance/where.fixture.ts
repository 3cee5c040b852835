// Random rows and random expressions of `whereSQL`. Each expression comes with the SQL that PostgreSQL itself is asked,
// over a table like Clusterpedia's: the same text but for the order of texts (collation C), and for MySQL's functions,
// which PostgreSQL does not have.
import * as fc from 'fast-check';

import type { WriteBatch } from '../store.ts';
import { documentOf, rowWrite, type ModelRow } from './model.fixture.ts';
import { incarnations, randomRows, types } from './random.fixture.ts';

/** A row, and its object as JSON. */
export interface WhereRow extends ModelRow {
  readonly json: string;
}

/** Values of `spec.size`, as JSON: numbers in all forms, and what is no number. */
const sizes = ['1', '1.50', '1e2', '-0', '2.5e-3', '100', '9007199254740993', '"100"', '"x"', 'true', 'null'];
const nested = ['{"b":1,"a":[1,2.0,{"c":null}],"aa":"ü\\n"}', '[]', '{}', '[[1,"a"],{"k":"v"}]', '"{}"'];

/** Rows with all forms of values in `spec.size` and `spec.nested`; the same for the same seed. */
export function whereRows(seed: number): {
  readonly rows: readonly WhereRow[];
  readonly batches: readonly WriteBatch[];
} {
  const rows = randomRows(seed).rows.map((row, i): WhereRow => {
    const size = i % (sizes.length + 1);
    const extra = [
      ...(size === sizes.length ? [] : [`"size":${sizes[size]}`]),
      ...(i % 3 === 0 ? [] : [`"nested":${nested[i % nested.length]}`]),
      `"list":[{"name":"${row.name.slice(0, 1) === '"' ? 'q' : 'p'}"},${i % 4}]`,
    ];
    const json = JSON.stringify(documentOf(row)).replace('"spec":{', `"spec":{${extra.join()},`);
    return { ...row, json };
  });
  const batches = incarnations.flatMap((incarnation) =>
    types.map((type): WriteBatch => {
      const here = rows.filter((row) => row.incarnation === incarnation.id && row.type === type);
      const upserts = here.map((row) => ({ ...rowWrite(row), raw: Buffer.from(row.json) }));
      return { incarnation, type, deletes: [], upserts };
    }),
  );
  return { rows, batches };
}

/** An expression as a client writes it, and the same as PostgreSQL is asked. */
export interface WhereText {
  readonly text: string;
  readonly sql: string;
}

const same = (text: string): WhereText => ({ text, sql: text });

const columns = ['cluster', 'namespace', 'name', 'version', 'resource', 'kind', 'uid', 'owner_uid'].map(same);
const group: WhereText = { text: 'group', sql: '"group"' };
const paths: readonly WhereText[] = [
  ...[
    "object->'status'->>'phase'",
    "object->'spec'->>'zone'",
    "object->'spec'->>'size'",
    "object->'spec'->>'nested'",
    "object->'spec'->'list'->1->>'name'",
    "object->'spec'->'list'->0->>'name'",
    "(object->'metadata'->'labels')->>'app'",
    "object->'metadata'->'labels'->>'n'",
    "object#>>'{spec,zone}'",
    "object->'spec'->'containers'->>0",
    "object->>'nothing'",
  ].map(same),
  { text: "object->>'$.status.phase'", sql: "object#>>'{status,phase}'" },
  { text: 'JSON_UNQUOTE(JSON_EXTRACT(object, \'$.spec."zone"\'))', sql: "object#>>'{spec,zone}'" },
];
const jsonbs = [
  "object->'spec'->'size'",
  "object#>'{spec,nested}'",
  "object->'spec'->'list'->1",
  "object->'nothing'",
  "object->'spec'->'nested'->'a'",
].map(same);
/** What JSON_EXTRACT reads, and the same in PostgreSQL. */
const extracts: readonly WhereText[] = [
  { text: "JSON_EXTRACT(object,'$.spec.size')", sql: "(object#>'{spec,size}')" },
  { text: "object->'$.spec.nested'", sql: "(object#>'{spec,nested}')" },
  { text: "JSON_EXTRACT(object, '$.spec.list[1]')", sql: "(object#>'{spec,list,1}')" },
  { text: "JSON_EXTRACT(object, '$.status.phase')", sql: "(object#>'{status,phase}')" },
];

const texts = [
  ...['one', 'two', 'default', 'kube-system', 'Ünïcode', '%', '', 'web', 'web-1', 'WEB', "o'clock", '100%', 'a_b'],
  ...['api', 'Running', 'Failed', 'north', 'süd', '5', '100', '1.50', 'pods', 'apps', 'v1', 'Pod', '{}', '[]', 'true'],
  ...['pods.web#0', 'replicasets.appsweb#0', '\u{1F600}', '{"b": 1, "a": [1, 2.0, {"c": null}], "aa": "ü\\n"}'],
];
const patterns = [
  '%',
  'w%',
  '%e%',
  '_eb',
  '%_b%',
  'a\\_b',
  '100\\%',
  '%\u{1F600}%',
  '_',
  'WEB',
  '%-1',
  '',
  'a%b',
  '%o%c%',
];
const jsons = ['1', '1.5', '100', '"x"', 'null', 'true', '{}', '[]', '[1, 2.00, {"c": null}]', '0', '3'];
const numbers = ['1', '1.5', '100', '-1', '0', '9007199254740992', '2.5e-3'];
const times = ['2026-01-01 00:00:02', '2026-01-01T00:00:03Z', '2026-01-01', '2026-01-02'];

const literal = (value: string): WhereText => same(`'${value.replaceAll("'", "''")}'`);
const textLiteral = fc.constantFrom(...texts.map(literal));
const comparison = fc.constantFrom('=', '<>', '!=', '<', '<=', '>', '>=');
const not = fc.constantFrom('', 'NOT ');

function collated({ text, sql }: WhereText): WhereText {
  return { text, sql: `(${sql}) COLLATE "C"` };
}

const textValue = fc.constantFrom(...columns, group, ...paths).map(collated);
const joined = (...parts: readonly (WhereText | string)[]): WhereText => ({
  text: parts.map((part) => (typeof part === 'string' ? part : part.text)).join(' '),
  sql: parts.map((part) => (typeof part === 'string' ? part : part.sql)).join(' '),
});
const list = (values: readonly WhereText[]): WhereText =>
  joined('(', ...values.flatMap((value, i) => (i === 0 ? [value] : [',', value])), ')');

const rank = (json: string): string =>
  `CASE jsonb_typeof(${json}) WHEN 'null' THEN 0 WHEN 'number' THEN 1 WHEN 'string' THEN 2 WHEN 'object' THEN 3 WHEN 'array' THEN 4 ELSE CASE WHEN ${json} IS NOT NULL THEN 5 END END`;

/** MySQL's comparison of JSON with a literal: first by the order of types, then by value. */
function extractCompare(
  json: WhereText,
  operator: string,
  type: 'string' | 'number' | 'boolean',
  value: string,
): WhereText {
  const ofType = { string: 2, number: 1, boolean: 5 }[type];
  const cast = { string: ' COLLATE "C"', number: '::numeric', boolean: '::boolean' }[type];
  const left = `(${json.sql}#>>'{}')${cast}`;
  return {
    text: `${json.text} ${operator} ${value}`,
    sql: `(CASE WHEN jsonb_typeof(${json.sql}) = '${type}' THEN ${left} ${operator} ${value} ELSE (${rank(json.sql)}) ${operator} ${ofType} END)`,
  };
}

const leaf: fc.Arbitrary<WhereText> = fc.oneof(
  fc.tuple(textValue, comparison, textLiteral).map((parts) => joined(...parts)),
  fc.tuple(textLiteral, comparison, textValue).map((parts) => joined(...parts)),
  fc.tuple(textValue, comparison, textValue).map((parts) => joined(...parts)),
  fc
    .tuple(
      textValue,
      not,
      fc.array(fc.oneof({ weight: 9, arbitrary: textLiteral }, fc.constant(same('NULL'))), {
        minLength: 1,
        maxLength: 4,
      }),
    )
    .map(([value, negation, values]) => joined(value, `${negation}IN`, list(values))),
  fc
    .tuple(textValue, not, fc.constantFrom('LIKE', 'ILIKE'), fc.constantFrom(...patterns))
    .map(([value, negation, like, pattern]) => joined(value, `${negation}${like}`, literal(pattern))),
  fc
    .tuple(textValue, not, textLiteral, textLiteral)
    .map(([value, negation, least, most]) => joined(value, `${negation}BETWEEN`, least, 'AND', most)),
  fc
    .tuple(fc.oneof(textValue, fc.constantFrom(...jsonbs, ...extracts)), fc.constantFrom('IS NULL', 'IS NOT NULL'))
    .map((parts) => joined(...parts)),
  fc
    .tuple(fc.constantFrom(...jsonbs), fc.constantFrom('=', '<>'), fc.constantFrom(...jsons.map(literal)))
    .map((parts) => joined(...parts)),
  fc
    .tuple(fc.constant(same('created_at')), comparison, fc.constantFrom(...times.map(literal)))
    .map((parts) => joined(...parts)),
  fc
    .tuple(fc.constantFrom(...extracts), comparison, fc.constantFrom(...texts))
    .map(([json, operator, value]) => extractCompare(json, operator, 'string', literal(value).sql)),
  fc
    .tuple(fc.constantFrom(...extracts), comparison, fc.constantFrom(...numbers))
    .map(([json, operator, value]) => extractCompare(json, operator, 'number', value)),
  fc
    .tuple(fc.constantFrom(...extracts), comparison, fc.constantFrom('TRUE', 'false'))
    .map(([json, operator, value]) => extractCompare(json, operator, 'boolean', value)),
  fc
    .tuple(fc.constantFrom(...extracts), not, fc.constantFrom(...patterns, '"%"', '%"b": 1%'))
    .map(([json, negation, pattern]) => ({
      text: `${json.text} ${negation}LIKE ${literal(pattern).text}`,
      sql: `${json.sql}::text ${negation}LIKE ${literal(pattern).sql}`,
    })),
  fc.constantFrom(...['TRUE', 'FALSE', 'NULL', '1 = 1', '1.0 < 1', "'a' = 'b'", 'NULL IN (NULL)'].map(same)),
);

/** Random expressions. */
export const whereArbitrary: fc.Arbitrary<WhereText> = fc.letrec<{ any: WhereText; many: WhereText }>((tie) => ({
  many: fc
    .tuple(
      fc.constantFrom(' AND ', ' OR ', ' and '),
      fc.array(tie('any'), { minLength: 2, maxLength: 3 }),
      fc.boolean(),
    )
    .map(([word, of, isOpen]) => {
      const wrap = (one: string): string => (isOpen && word.trim() !== 'OR' ? `(${one})` : `( ${one} )`);
      return { text: of.map(({ text }) => wrap(text)).join(word), sql: of.map(({ sql }) => wrap(sql)).join(word) };
    }),
  any: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.oneof(
      { weight: 3, arbitrary: tie('many') },
      { weight: 1, arbitrary: tie('any').map(({ text, sql }) => ({ text: `NOT (${text})`, sql: `NOT (${sql})` })) },
      { weight: 1, arbitrary: leaf.map(({ text, sql }) => ({ text: `not ${text}`, sql: `not ${sql}` })) },
    ),
  ),
})).any;
