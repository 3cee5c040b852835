import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MalformedAnswer } from './json-scan.ts';
import { ListCutter } from './list-cutter.ts';

/** Items and fields of a text given in pieces. */
function cut(pieces: readonly Buffer[]): { readonly items: string[]; readonly fields: Record<string, string> } {
  const cutter = new ListCutter();
  const items: string[] = [];
  const fields: Record<string, string> = {};
  for (const piece of pieces) {
    const part = cutter.push(piece);
    items.push(...part.items.map(String));
    for (const [name, value] of part.fields) fields[name] = value.toString();
  }
  cutter.finish();
  return { items, fields };
}

const odd = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},
 "items":[ {"a":"]}{[\\"","b":1.0,"c":9007199254740993,"d":{"2":"ü","1":[[],{}]}} ,{"e":"\\\\"},{}] }`;

describe('ListCutter', () => {
  it('keeps the bytes of each item, wherever the chunks end', () => {
    const bytes = Buffer.from(odd);
    const expected = ['{"a":"]}{[\\"","b":1.0,"c":9007199254740993,"d":{"2":"ü","1":[[],{}]}}', '{"e":"\\\\"}', '{}'];
    for (let border = 0; border <= bytes.length; border += 1) {
      const { items, fields } = cut([bytes.subarray(0, border), bytes.subarray(border)]);
      assert.deepEqual(items, expected);
      assert.deepEqual(fields, { kind: '"PodList"', apiVersion: '"v1"', metadata: '{"resourceVersion":"7"}' });
    }
    assert.deepEqual(cut([...bytes].map((byte) => Buffer.from([byte]))).items, expected);
  });

  it('reads lists whose kind and metadata come after the items, and those without any', () => {
    const custom = cut([Buffer.from('{"apiVersion":"x/v1","items":[{"a":1}],"kind":"XList","metadata":{}}')]);
    assert.deepEqual(custom.items, ['{"a":1}']);
    assert.equal(custom.fields['kind'], '"XList"');
    assert.deepEqual(cut([Buffer.from('{"items":null,"metadata":{}}')]).items, []);
    assert.deepEqual(cut([Buffer.from('{"rows":[],"kind":"Table"}')]).items, []);
    const begun = new ListCutter();
    assert.equal(begun.push(Buffer.from('{"kind":"PodList","items":[')).begun, true);
  });

  it('refuses what is no list, or not the whole of it, without a word of its text', () => {
    const bad = [
      '[]',
      '{"items":[{"secret":1}',
      '{"items":[{"secret":1]}',
      '{"items":[tru]}',
      '{"items":[1 2]}',
      '{"items":["secret"]}',
      '{"items":"secret"}',
      '{"items":{"secret":1}}',
      '{"items":[{} {}]}',
      '{"items":[]} {}',
      '{"items" []}',
      '{"items":[],}',
      '{items:[]}',
      '{"metadata":{"secret":01}}',
      '{"metadata":{"secret":1,"secr\\u0065t":2}}',
      '{"kind":"secret","kind":"secret"}',
      '{"items":[],"\\u0069tems":[]}',
      '{"items":[],"rows":[]}',
      '',
    ];
    for (const text of bad) {
      assert.throws(
        () => cut([Buffer.from(text)]),
        (error) => error instanceof MalformedAnswer && !error.message.includes('secret'),
        text,
      );
    }
    assert.throws(() => cut([Buffer.from([...Buffer.from('{"kind":"'), 0xff, ...Buffer.from('"}')])]), /not JSON/);
  });
});
