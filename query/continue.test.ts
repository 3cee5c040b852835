import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { GatewayError } from '../model/errors.ts';
import { isContinueToken, isExpired, openContinue, queryDigest, resumed, sealContinue } from './continue.ts';
import { allOf } from './list-query.ts';

const key = randomBytes(32);
const pods = { group: '', resource: 'pods' };
const store = '0123456789abcdef';
const use = { query: queryDigest(allOf(pods)), userName: 'anna', userUid: '7', store };
const state = { after: ['c1', 'ns', 'secret-name', 3], resourceVersion: '1700000000000000123', expiresAtMs: 5000 };
const isRefused = (error: unknown): boolean => error instanceof GatewayError && error.code === 'BAD_REQUEST';
const isOfElsewhere = (error: unknown): boolean => error instanceof GatewayError && error.code === 'EXPIRED';

test('a token goes on where it was made, and shows nothing of it', () => {
  const token = sealContinue([key], use, state);
  assert.deepEqual(openContinue([key], use, token), { ...state, store });
  assert.ok(isContinueToken(token) && !isContinueToken('500') && !isContinueToken('eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ'));
  assert.ok(!Buffer.from(token.split('.')[2]!, 'base64url').includes('secret-name'));
  assert.notEqual(sealContinue([key], use, state), token);
});

test('a token of another user, another query or another key is refused with the same words', () => {
  const token = sealContinue([key], use, state);
  const messages = new Set<string>();
  for (const other of [
    { ...use, userName: 'ben' },
    { ...use, userUid: '8' },
    { ...use, userName: 'anna","7', userUid: '' },
    { ...use, query: queryDigest({ ...allOf(pods), names: [] }) },
  ]) {
    assert.throws(() => openContinue([key], other, token), isRefused);
  }
  for (const open of [() => openContinue([randomBytes(32)], use, token), () => openContinue([key], use, 'p1.')])
    assert.throws(open, (error: Error) => messages.add(error.message) && isRefused(error));
  assert.equal(messages.size, 1);
  assert.deepEqual(openContinue([randomBytes(32), key], use, token), { ...state, store }, 'an older key still opens');
  assert.throws(() => sealContinue([randomBytes(16)], use, state), RangeError);
});

test('a token that was changed at any character, cut or spelt otherwise is refused', () => {
  const token = sealContinue([key], use, state);
  for (let at = 0; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at]!.toLowerCase() === 'a' ? 'b' : 'a') + token.slice(at + 1);
    // Another store's name before it is what a token of another replica looks like; it opens nothing.
    const isRenamed = at >= 3 && at < 3 + store.length && /^p1\.[\da-f]{16}\./.test(changed);
    assert.throws(() => openContinue([key], use, changed), isRenamed ? isOfElsewhere : isRefused, changed);
    assert.throws(() => openContinue([key], use, token.slice(0, at)), isRefused);
  }
  for (const other of [`${token}=`, `${token} `, `${token}AA`, token.replaceAll('_', '/'), '', 'x', '10', 'p1.\u0000'])
    if (other !== token) assert.throws(() => openContinue([key], use, other), isRefused, other);
});

test('no two tokens of a thread share a nonce, and their order shows how many there are to nobody', () => {
  const nonces = Array.from({ length: 600 }, () =>
    Buffer.from(sealContinue([key], use, state).split('.')[2]!, 'base64url').toString('hex', 0, 28),
  );
  assert.equal(new Set(nonces).size, nonces.length);
  assert.notDeepEqual(nonces.toSorted(), nonces);
});

test('a token is too old by its time or by the log, and is resumed at the same place', () => {
  const at = (nowMs: number, isInLog: boolean, of = store) =>
    isExpired({ ...state, store }, { nowMs, isInLog, store: of });
  assert.ok(!at(4999, true));
  assert.ok(at(5000, true) && at(0, false));
  assert.ok(at(0, true, 'fedcba9876543210'), 'a rebuilt index cannot repeat page 1');
  const next = resumed(state, 9000);
  assert.deepEqual(next, { after: state.after, resourceVersion: '', expiresAtMs: 9000 });
  assert.ok(!isExpired({ ...next, store }, { nowMs: 0, isInLog: false, store }));
});

test('a token of another store is told from a changed one: it is expired, and goes on where both have the key', () => {
  const other = { ...use, store: 'fedcba9876543210' };
  const theirs = sealContinue([key], other, state);
  assert.deepEqual(openContinue([key], use, theirs), { ...state, store: other.store });
  assert.throws(() => openContinue([randomBytes(32)], use, theirs), isOfElsewhere);
  // Named as ours it is a changed one.
  assert.throws(() => openContinue([key], use, theirs.replace(other.store, store)), isRefused);
});

test('queries with the same values have the same digest', () => {
  const one = { ...allOf(pods), names: ['a'], clusters: ['c'] };
  const other = { clusters: ['c'], names: ['a'], uids: undefined, ...allOf(pods) };
  assert.equal(queryDigest(one), queryDigest(other as typeof one));
  assert.notEqual(queryDigest(one), queryDigest({ ...one, names: ['a', 'b'] }));
  assert.notEqual(queryDigest(allOf(pods)), queryDigest({ ...allOf(pods), names: [] }), 'nothing is not everything');
});
