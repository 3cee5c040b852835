import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { statusObject, statusResponse } from './status.ts';

function header(headers: readonly string[], name: string): string | undefined {
  const at = headers.findIndex((item, i) => i % 2 === 0 && item.toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1];
}

test('a fault of a cluster names it in the message and in the Warning, each once', () => {
  const texts = ['no connection to https://m:1 within 5 s', 'cluster "m1" sent no answer within 60 s'];
  const wanted = ['cluster "m1": no connection to https://m:1 within 5 s', 'cluster "m1" sent no answer within 60 s'];
  const warned = ['no connection to https://m:1 within 5 s', 'sent no answer within 60 s'];
  for (const [i, text] of texts.entries()) {
    const error = new GatewayError('MEMBER_TIMEOUT', text, { cluster: 'm1' });
    const { message, details, code } = statusObject(error) as { message: string; details: object; code: number };
    assert.equal(message, wanted[i]);
    assert.deepEqual(details, { name: 'm1', group: undefined, kind: 'clusters', retryAfterSeconds: undefined });
    assert.equal(code, 504);
    assert.equal(header(statusResponse(error, 'id').headers, 'warning'), `299 - "cluster m1: ${warned[i]}"`);
  }
});

test('Retry-After is sent on 429 and on draining, and never on another 5xx', () => {
  const retryAfter = (code: 'TOO_MANY_REQUESTS' | 'DRAINING' | 'MEMBER_UNAVAILABLE'): string | undefined =>
    header(statusResponse(new GatewayError(code, 'text', { retryAfterSeconds: 1 }), 'id').headers, 'retry-after');
  assert.equal(retryAfter('TOO_MANY_REQUESTS'), '1');
  assert.equal(retryAfter('DRAINING'), '1');
  assert.equal(retryAfter('MEMBER_UNAVAILABLE'), undefined);
});

test('the further warnings of an error are Warning headers, thirty at most', () => {
  const warnings = Array.from({ length: 40 }, (_, i) => ({ cluster: `m${i}`, text: 'forbidden' }));
  const error = new GatewayError('NOT_FOUND', 'pods is not indexed', { kind: 'pods', warnings });
  const { headers, body } = statusResponse(error, 'id');
  assert.equal(headers.filter((name) => name === 'Warning').length, 30);
  assert.equal(header(headers, 'warning'), '299 - "cluster m0: forbidden"');
  assert.equal(body.toString('utf8').includes('warnings'), false);
});

test('an error without a cluster keeps its message and has no details', () => {
  const error = new GatewayError('BAD_PATH', 'the path has an empty segment');
  assert.deepEqual(statusObject(error), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'the path has an empty segment',
    reason: 'BadRequest',
    code: 400,
  });
  assert.equal(header(statusResponse(error, 'id').headers, 'warning'), undefined);
});
