import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { readBearerToken } from './bearer-token.ts';

describe("kube-apiserver's own bearer token cases", () => {
  const cases: readonly (readonly [header: string, token: string | undefined])[] = [
    ['Bearer token', 'token'],
    ['bEARER token', 'token'],
    ['Bearer token a', 'token'],
    ['Bearer token a b c', 'token'],
    ['Bearer token   a', 'token'],
    ['  Bearer token\t', 'token'],
    ['', undefined],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['bear token', undefined],
    ['Bearer: token', undefined],
    ['Basic 123', undefined],
    ['Bearer  token', undefined],
    ['Bearer\ttoken', undefined],
  ];
  for (const [header, token] of cases) {
    test(JSON.stringify(header), () => assert.equal(readBearerToken(['Authorization', header]).token, token));
  }
});

test('no header is no token and no hint', () => {
  assert.deepEqual(readBearerToken(['Accept', 'Authorization']), { token: undefined, hint: undefined });
});

test('the hint says what is wrong with the header and holds none of it', () => {
  assert.match(readBearerToken(['Authorization', 'Bearer  token']).hint ?? '', /extra space/);
  assert.match(readBearerToken(['Authorization', 'Bearer ']).hint ?? '', /empty/);
  assert.match(readBearerToken(['Authorization', 'Basic x']).hint ?? '', /not of the form/);
  assert.ok(!readBearerToken(['Authorization', 'Basic c2VjcmV0']).hint?.includes('c2VjcmV0'));
});

test('a byte that is no white space in UTF-8 is not trimmed away', () => {
  assert.equal(readBearerToken(['Authorization', 'Bearer \u00e0\u00a0']).token, '\u00e0\u00a0');
});

test('two Authorization headers are refused, whatever they say', () => {
  for (const [first, second] of [
    ['Bearer a', 'Bearer a'],
    ['Bearer a', ''],
    ['', ''],
  ] as const) {
    assert.throws(
      () => readBearerToken(['Authorization', first, 'aUTHORIZATION', second]),
      (error) => error instanceof GatewayError && error.code === 'BAD_HEADERS',
    );
  }
});
