import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExact } from '../../lib/json/exact-json.ts';
import { goJson } from './go-json.ts';

/** What Go's json.Marshal made of these values, read as Kubernetes reads them. */
const cases: readonly (readonly [json: string, go: string])[] = [
  ['{"b":1,"a":{"z":null,"B":true,"é":"ü","😁":"x","":1}}', '{"a":{"":1,"B":true,"z":null,"é":"ü","😁":"x"},"b":1}'],
  ['{"10":1,"9":2,"a":3}', '{"10":1,"9":2,"a":3}'],
  ['{"h":"<a b=\\"x\\">&amp;</a>"}', '{"h":"\\u003ca b=\\"x\\"\\u003e\\u0026amp;\\u003c/a\\u003e"}'],
  [
    '["\\u2028\\u2029","\\u0000\\u001f\\b\\f\\n\\r\\t","/\\\\"]',
    '["\\u2028\\u2029","\\u0000\\u001f\\b\\f\\n\\r\\t","/\\\\"]',
  ],
  ['{"lone":"\\ud800x","astral":"\\ud83d\\ude01"}', '{"astral":"😁","lone":"\ufffdx"}'],
  ['{"\\uffff":1,"\\ud83d\\ude01":2,"<":3}', '{"\\u003c":3,"\uffff":1,"😁":2}'],
  ['[1.0,100.0,1e3,3.0e-9,5e-324,1.7976931348623157e308]', '[1,100,1000,3e-9,5e-324,1.7976931348623157e+308]'],
  ['[9223372036854775807,9007199254740993,-0]', '[9223372036854775807,9007199254740993,0]'],
  ['[18446744073709551616,1e20,1e21]', '[18446744073709552000,100000000000000000000,1e+21]'],
  ['[[],{},"",null,true]', '[[],{},"",null,true]'],
];

test('JSON is what Go writes', () => {
  for (const [json, go] of cases) assert.equal(goJson(parseExact(json), 1_024), go);
});

test('what has more bytes than allowed is not written', () => {
  assert.equal(goJson(['a'.repeat(1_020)], 1_024)?.length, 1_024);
  assert.equal(goJson(['a'.repeat(1_021)], 1_024), undefined);
  assert.equal(goJson(['ü'.repeat(510)], 1_024)?.length, 514);
  assert.equal(goJson(['ü'.repeat(511)], 1_024), undefined, 'bytes count, not characters');
  assert.equal(goJson(['<'.repeat(171)], 1_024), undefined, 'and so do escapes');
  assert.equal(goJson({ a: 1, b: 2 }, 13), '{"a":1,"b":2}');
  assert.equal(goJson({ a: 1, b: 2 }, 12), undefined);
});

test('a large value that is found often takes little time', () => {
  const large = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key-${i}`, 'x'.repeat(100)]));
  const startMs = performance.now();
  assert.equal(
    goJson(
      Array.from({ length: 1_000 }, () => large),
      1_024,
    ),
    undefined,
  );
  assert.ok(performance.now() - startMs < 5_000);
});
