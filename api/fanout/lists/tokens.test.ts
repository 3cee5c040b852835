import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSpec } from '../../../model/records.ts';
import { makeUser } from '../../../model/user.ts';
import { memberAccept, memberHeaders } from '../members/accept.ts';
import { memberPath, readFanoutQuery } from '../members/query.ts';
import { composeVersion, parseVersion, readToken, registrationOf, writeToken } from './tokens.ts';
import type { TokenScope } from './tokens.ts';

const alice = makeUser({ name: 'alice' });
const scope: TokenScope = { user: alice, path: '/api/v1/pods', query: 'labelSelector=a' };
const registration = registrationOf({ uid: '01234567-89ab-cdef-0123-456789abcdef' } as ClusterSpec);

describe('the version of a merged answer', () => {
  it('says which version each cluster had', () => {
    const versions = new Map([
      ['m1', { version: '12', registration }],
      ['m2', { version: '9007199254740993', registration }],
    ]);
    const text = composeVersion(versions);
    assert.deepEqual(JSON.parse(Buffer.from(text, 'base64url').toString()), {
      m1: '12.01234567',
      m2: '9007199254740993.01234567',
    });
    assert.deepEqual(parseVersion(text), versions);
  });

  it('is none when it is the version of one cluster, or made up', () => {
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const text of [
      '12',
      '',
      'e30=',
      encode([]),
      encode({ m1: 12 }),
      encode({ m1: '1' }),
      encode({ m1: '1&a=b.0' }),
    ])
      assert.throws(() => parseVersion(text), { code: 'BAD_REQUEST' }, text);
  });
});

describe('a continue token', () => {
  const position = { cluster: 'm2', registration, memberToken: 'opaque', version: composeVersion(new Map()) };
  const token = writeToken(position, scope);

  it('says where the page begins', () => {
    assert.deepEqual(readToken(token, scope), position);
  });

  it('is refused for another user or question, and when any byte of it was changed', () => {
    const others: TokenScope[] = [
      { ...scope, user: makeUser({ name: 'bob' }) },
      { ...scope, user: makeUser({ name: 'alice', uid: '1' }) },
      { ...scope, path: '/api/v1/secrets' },
      { ...scope, query: '' },
    ];
    for (const other of others) assert.throws(() => readToken(token, other), { code: 'BAD_REQUEST' });
    for (let i = 0; i < token.length; i += 1) {
      const changed = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
      // Some bits of the last character have no meaning.
      if (Buffer.from(changed, 'base64url').equals(Buffer.from(token, 'base64url'))) continue;
      assert.throws(() => readToken(changed, scope), { code: 'BAD_REQUEST' }, String(i));
    }
    for (const text of ['', 'x', 'e30', token.slice(0, -3), Buffer.from('["a"]').toString('base64url')])
      assert.throws(() => readToken(text, scope), { code: 'BAD_REQUEST' });
  });
});

describe('the query for members', () => {
  it('keeps what is not ours, byte for byte', () => {
    const query = readFanoutQuery('?labelSelector=a%3Db&cl%75sterSelector=x&limit=5&partial=false&foo;bar&watch=1');
    assert.equal(query.rest, 'labelSelector=a%3Db&foo;bar&watch=1');
    assert.deepEqual([query.limit, query.partial, query.selects?.({ x: '' })], [5, false, true]);
    assert.equal(
      memberPath('/a', query.rest, { continue: 'a&b=c', limit: undefined }),
      `/a?${query.rest}&continue=a%26b%3Dc`,
    );
  });

  it('refuses what cannot be read', () => {
    for (const query of ['?limit=x', '?partial=maybe', '?clusterSelector=a=b=c', '?timeoutSeconds=1.5'])
      assert.throws(() => readFanoutQuery(query), { code: 'BAD_REQUEST' }, query);
  });
});

describe('the headers for members', () => {
  it('ask for JSON in the forms the client takes, and never for part of an answer', () => {
    const kubectl = ['Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'];
    assert.equal(memberAccept(kubectl), 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json');
    assert.equal(memberAccept(['Accept', 'application/vnd.kubernetes.protobuf,*/*;q=0.5']), 'application/json');
    assert.equal(memberAccept([]), 'application/json');
    assert.throws(() => memberAccept(['Accept', 'application/vnd.kubernetes.protobuf']), { code: 'NOT_ACCEPTABLE' });
    const headers = memberHeaders(
      ['Accept-Encoding', 'gzip', 'If-None-Match', 'x', 'User-Agent', 'k'],
      'application/json',
    );
    assert.deepEqual(headers, ['Accept', 'application/json', 'User-Agent', 'k']);
  });
});
