import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parse, parseDocument } from 'yaml';
import { goYaml, readYamlDocuments, writeYaml, YamlFault } from './go-yaml.ts';
import { readManifestDocuments } from './manifest-documents.ts';
import { objectsIn } from './manifest-objects.ts';

const read = (text: string): unknown => [...readYamlDocuments(text)].map(({ value }) => value);
const refusal = (text: string | Uint8Array): string => {
  try {
    assert.fail(JSON.stringify([...readManifestDocuments(Buffer.from(text))]));
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    return `${error.line}:${error.column} ${error.message}`;
  }
};

test('scalars mean what they mean to kubectl', () => {
  const meanings: readonly (readonly [text: string, value: unknown])[] = [
    ['.', '.'],
    ['e2', 'e2'],
    ['0400', 256],
    ['0o400', 256],
    ['0888', 888],
    ['0b-1', -1],
    ['1_000', 1000],
    ['1:30', '1:30'],
    ['1.10', 1.1],
    ['1.2.3', '1.2.3'],
    ['1e400', '1e400'],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
    ['123456789012345678901234567890', 123456789012345678901234567890n],
    ['yes', true],
    ['off', false],
    ['nO', 'nO'],
    ['~', null],
    ['', null],
    ['2026-01-02', '2026-01-02'],
    ['"0400"', '0400'],
    ['! 12', '12'],
    ['!!int "12"', 12],
    ['!!str 12', '12'],
    ['!!float 12', 12],
    ['!!binary aGk=', 'hi'],
    ['!own x', 'x'],
    ['{{ x }}', undefined],
  ];
  for (const [text, value] of meanings.slice(0, -1)) assert.deepEqual(read(`k: ${text}\n`), [{ k: value }], text);
  assert.match(refusal('k: {{ x }}\n'), /^1:5 a key must be a text.*template/);
});

test('keys are the names that they are to kubectl', () => {
  assert.deepEqual(read('{on: 1, 0x10: 2, 1.10: 3, 1e6: 4, .5: 5, a: 6}'), [
    { true: 1, 16: 2, '1.1': 3, '1e+06': 4, '0.5': 5, a: 6 },
  ]);
});

test('what has no meaning or two is refused at its place, and nothing of it is quoted', () => {
  const cases: readonly (readonly [text: string | Buffer, message: RegExp])[] = [
    ['a: 1\nb: .inf\n', /^2:4 a number that JSON does not have/],
    ['a: 1\n~: b\n', /^2:1 a key is empty or null/],
    ['a: SECRET\na: b\n', /^2:1 Map keys must be unique/],
    ['a: *SECRET\n', /^1:4 an alias has no anchor/],
    ['a: &a [*a]\n', /^1:8 an anchor holds an alias of itself/],
    ['a: !!int SECRET\n', /^1:\d+ this is no int/],
    ['a: "\\ud800"\n', /^1:4 half a surrogate pair/],
    ['a: b\u2028c\n', /^1:5 a line end of Unicode/],
    ['a: b\0c\n', /^1:5 a control character/],
    [`a: ${'['.repeat(600)}${']'.repeat(600)}`, /nested/],
    ['&a: b\n', /^1:\d the name of an anchor/],
    [Buffer.from('a: \xe9\n', 'latin1'), /^1:1 this is no text in UTF-8/],
    ['{"a": 1e400}', /^1:1 a number that is too large/],
    ['{"a":1}{"a":2}x', /^1:1 the text after these JSON objects/],
    ['a: SECRET\n  b: c\n', /^\d:\d+ /],
    [
      Array.from({ length: 10 }, (_, i) => `x${i}: &x${i} [${i === 0 ? '1' : `*x${i - 1},`.repeat(10)}]\n`).join(''),
      /aliases expand to too much/,
    ],
  ];
  for (const [text, message] of cases) {
    const said = refusal(text);
    assert.match(said, message);
    assert.doesNotMatch(said, /SECRET/);
  }
});

test('what << merges replaces what stood before it, and what follows replaces that', () => {
  assert.deepEqual(read('x: &x {k: 1}\nz: {<<: *x, k: 2}\nw: {k: 2, <<: *x}\nv: {<<: [*x, {k: 3, u: 4}]}\n'), [
    { x: { k: 1 }, z: { k: 2 }, w: { k: 1 }, v: { k: 1, u: 4 } },
  ]);
});

test('names of JavaScript are names like others', () => {
  const [value] = read('{__proto__: {a: 1}, constructor: b}') as [object];
  assert.equal(JSON.stringify(value), '{"__proto__":{"a":1},"constructor":"b"}');
});

test('a file may be UTF-16, JSON back to back, and JSON followed by YAML', () => {
  const utf16 = Buffer.from('\ufeffa: é\n', 'utf16le');
  const of = (bytes: string | Uint8Array): unknown =>
    [...readManifestDocuments(Buffer.from(bytes))].map(({ value, line }) => [line, value]);
  assert.deepEqual(of(utf16), [[1, { a: 'é' }]]);
  assert.deepEqual(of(Buffer.from(utf16).swap16()), [[1, { a: 'é' }]]);
  assert.deepEqual(of('{"a":9007199254740993}{"a":1}\n{"a":"\\u00e9"}'), [
    [1, { a: 9007199254740993n }],
    [1, { a: 1 }],
    [2, { a: 'é' }],
  ]);
  assert.deepEqual(of('{"a":1}\n---\n\ufeffb: 2\n---\n'), [
    [1, { a: 1 }],
    [2, { b: 2 }],
    [4, null],
  ]);
});

test('items of a list have its kind and version if they name none', () => {
  const of = (text: string): unknown => [...objectsIn(Buffer.from(text))].map(({ object }) => object);
  assert.deepEqual(of('{apiVersion: v1, kind: ConfigMapList, items: [{a: 1}, {apiVersion: v2, kind: X}]}'), [
    { a: 1, apiVersion: 'v1', kind: 'ConfigMap' },
    { apiVersion: 'v2', kind: 'X' },
  ]);
  assert.deepEqual(of('{apiVersion: v1, kind: List, items: null}'), []);
  for (const items of ['x', '[null]', '[{a: 1}]', '[{kind: X}]'])
    assert.throws(() => of(`{apiVersion: v1, kind: List, items: ${items}}`), YamlFault, items);
});

const texts = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'0123456789abexXoOB_+-.:,=eEyYnNtT~ #{}[]"\'!&*|>%@`?<\n\t') }),
  fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
  fc.constantFrom(
    'yes',
    'n',
    'null',
    '~',
    '0400',
    '1_000',
    '1:30',
    '2026-01-02',
    '<<',
    '=',
    '.',
    '1e3',
    '0o17',
    '0b-1',
  ),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    texts,
    fc.integer(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => value + 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.dictionary(texts, tie('value')),
  ),
})).value;

test('whatever is written is read again, and texts are texts to readers of YAML 1.1 and 1.2', () => {
  fc.assert(
    fc.property(values, (value) => {
      assert.equal(JSON.stringify(read(writeYaml(value))), JSON.stringify([value]));
    }),
    { numRuns: 1_000 },
  );
  fc.assert(
    fc.property(texts, (text) => {
      const yaml = writeYaml({ k: text });
      for (const version of ['1.1', '1.2'] as const) assert.deepEqual(parse(yaml, { version }), { k: text });
    }),
    { numRuns: 1_000 },
  );
});

test('what nobody changed of a document is printed as it was written', () => {
  const text = 'a: 12345678901234567890\nb: 0012 # c\nc: 0644\nd: 1.10\ne: yes\nf: ~\ng: "x"\nh: 1_0\n';
  const document = parseDocument(text, goYaml);
  assert.equal(document.toString(), text);
  document.set('c', 421);
  document.set('e', 'no');
  assert.equal(document.toString(), text.replace('0644', '421').replace('yes', '"no"'));
});
