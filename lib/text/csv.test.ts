import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { readCsv } from './csv.ts';

const fieldsOf = (text: string) => readCsv(text).records.map((record) => record.fields);

describe("cases of Go's encoding/csv reader_test.go", () => {
  const readable: readonly (readonly [name: string, text: string, fields: readonly (readonly string[])[]])[] = [
    ['Simple', 'a,b,c\n', [['a', 'b', 'c']]],
    [
      'CRLF',
      'a,b\r\nc,d\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['BareCR', 'a,b\rc,d\r\n', [['a', 'b\rc', 'd']]],
    ['NoEOLTest', 'a,b,c', [['a', 'b', 'c']]],
    ['MultiLine', '"two\nline","one line","three\nline\nfield"', [['two\nline', 'one line', 'three\nline\nfield']]],
    [
      'BlankLine',
      'a,b,c\n\nd,e,f\n\n',
      [
        ['a', 'b', 'c'],
        ['d', 'e', 'f'],
      ],
    ],
    ['LeadingSpace', ' a,  b,   c\n', [[' a', '  b', '   c']]],
    ['Comment is not special', '#1,2,3\n', [['#1', '2', '3']]],
    ['EmptyQuotedField', '"",b\n', [['', 'b']]],
    ['TrailingCommaEOF', 'a,b,c,', [['a', 'b', 'c', '']]],
    [
      'TrailingCommaLine3',
      'a,b,c\nd,e,f\ng,hi,',
      [
        ['a', 'b', 'c'],
        ['d', 'e', 'f'],
        ['g', 'hi', ''],
      ],
    ],
    ['CRLFInQuotedField', 'A,"Hello\r\nHi",B\r\n', [['A', 'Hello\nHi', 'B']]],
    ['QuotedFieldMultipleLF', '"\n\n\n\n"', [['\n\n\n\n']]],
    ['QuoteWithTwoQuotes', '"a""b",c', [['a"b', 'c']]],
    ['QuotedTrailingCommaTrailingComma', '"""abc"",",', [['"abc",', '']]],
    ['MultipleCRLF', '\r\n\r\n\r\n\r\n', []],
    ['LoneCR', 'a\n\r', [['a']]],
    ['FieldCR', 'field1,field2\r', [['field1', 'field2']]],
    ['FieldCRCR', 'field1,field2\r\r', [['field1', 'field2\r']]],
  ];
  for (const [name, text, fields] of readable) test(name, () => assert.deepEqual(fieldsOf(text), fields));

  const faulty: readonly (readonly [name: string, text: string, line: number])[] = [
    ['BadDoubleQuotes', 'a""b,c', 1],
    ['BadBareQuote', 'a "word","b"', 1],
    ['BadTrailingQuote', '"a word",b"', 1],
    ['ExtraneousQuote', '"a "word","b"', 1],
    ['StartLine2', '"a\n"b,c', 2],
    ['QuotedNeverClosed', 'a,b\n"c', 2],
    ['QuotedNeverClosedOverLines', 'a,"b\nc\nd\n', 3],
  ];
  for (const [name, text, line] of faulty) test(name, () => assert.equal(readCsv(text).fault?.line, line));
});

test('records know the line they begin on', () => {
  const { records } = readCsv('a\n\n"b\nc"\nd');
  assert.deepEqual(
    records.map((record) => record.line),
    [1, 3, 5],
  );
});

test('what is written with quotes is read back', () => {
  const field = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', ' ', 'ü') });
  fc.assert(
    fc.property(fc.array(fc.array(field, { minLength: 1 })), (rows) => {
      const text = rows.map((row) => `${row.map((item) => `"${item.replaceAll('"', '""')}"`).join(',')}\n`).join('');
      assert.deepEqual(fieldsOf(text), rows);
    }),
  );
});
