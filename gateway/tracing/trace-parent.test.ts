import assert from 'node:assert/strict';
import test from 'node:test';
import { readTraceParent, withTraceParent } from './trace-parent.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const valid = `00-${traceId}-${spanId}-01`;

test('a parent is read with its decision, of later versions too', () => {
  const parent = { traceId, spanId, sampled: true };
  assert.deepEqual(readTraceParent(['TraceParent', valid]), parent);
  assert.deepEqual(readTraceParent(['traceparent', `00-${traceId}-${spanId}-00`]), { ...parent, sampled: false });
  assert.deepEqual(readTraceParent(['traceparent', `00-${traceId}-${spanId}-03`]), parent);
  assert.deepEqual(readTraceParent(['traceparent', `cc-${traceId}-${spanId}-01-what-comes-later`]), parent);
});

test('what is not exactly a parent is none', () => {
  const wrong = [
    '',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    valid.toUpperCase(),
    ` ${valid}`,
    `${valid}0`,
    `00-${traceId.slice(1)}-${spanId}-01`,
  ];
  for (const value of wrong) assert.equal(readTraceParent(['traceparent', value]), null, value);
  assert.equal(readTraceParent(['traceparent', valid, 'traceparent', valid]), null, 'twice');
  assert.equal(readTraceParent(['accept', valid]), null);
});

test('a member gets the traceparent of our span alone; tracestate stays with its trace', () => {
  const headers = ['Accept', '*/*', 'TraceParent', valid, 'tracestate', 'a=1', 'tracestate', 'b=2'];
  const next = { traceId, spanId: 'aaaaaaaaaaaaaaaa' };
  const parent = `00-${traceId}-aaaaaaaaaaaaaaaa-01`;
  assert.deepEqual(withTraceParent(headers, next, true), [
    ...['Accept', '*/*', 'tracestate', 'a=1', 'tracestate', 'b=2'],
    ...['traceparent', parent],
  ]);
  assert.deepEqual(withTraceParent(headers, next, false), ['Accept', '*/*', 'traceparent', parent]);
});
