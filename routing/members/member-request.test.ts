// A head that is kept must be the head that would have been built, for exactly this identity and credential.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../model/errors.ts';
import type { Credential } from '../../model/records.ts';
import { markRepeated } from '../../http/repeated-headers.ts';
import { makeUser } from '../../model/user.ts';
import { requestFor } from '../pools/endpoint-request.ts';
import { selfUpstreamHeaders, upstreamHeaders } from '../forward/headers.ts';
import type { HeaderParts } from '../forward/headers.ts';
import { MemberRequest } from './member-request.ts';
import type { OutgoingIdentity } from './member-request.ts';
import { requestHead } from '../http1/request-head.ts';

const line = { method: 'GET', target: '/api/v1/pods', body: 'none', longRunning: false } as const;
const users = ['alice', 'bob', 'käthe'].map((name) =>
  makeUser({ name, groups: ['dev', `${name}s`], extra: [['scopes', [name]]] }),
);
const credentials: readonly Credential[] = ['one', 'two'].map((token) => ({
  authorization: `Bearer ${token}`,
  clientCertificate: undefined,
  expiresAtMs: undefined,
}));

function repeated(...headers: string[]): readonly string[] {
  markRepeated(headers);
  return headers;
}

function repeatedParts(): HeaderParts {
  const [credential] = credentials;
  const inbound = repeated('Accept', 'a');
  return { inbound, host: 'm1:6443', credential: credential!, peerAddress: '', auditId: 'a', upgrade: false };
}

function built(parts: HeaderParts, identity: OutgoingIdentity): string {
  const headers = identity === 'self' ? selfUpstreamHeaders(parts) : upstreamHeaders(parts, identity);
  return requestHead({ ...line, headers });
}

test('whoever asks on a connection, with whatever credential, the kept head is the one that would have been built', () => {
  const lists = [
    repeated('Accept', 'application/json', 'Authorization', 'Bearer caller', 'Impersonate-User', 'root'),
    repeated('Accept', 'application/json', 'X-Other', '1', 'User-Agent', 'kubectl'),
  ];
  const step = fc.record({
    inbound: fc.constantFrom(...lists),
    identity: fc.constantFrom<OutgoingIdentity>(...users, 'self'),
    credential: fc.constantFrom(...credentials),
    host: fc.constantFrom('m1:6443', 'm2:6443'),
    peerAddress: fc.constantFrom('127.0.0.1', '::1', ''),
    auditId: fc.uuid(),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
      for (const { identity, ...rest } of steps) {
        const parts: HeaderParts = { ...rest, upgrade: false };
        const request = new MemberRequest(line, parts, identity);
        assert.ok(request.headText !== undefined);
        assert.equal(requestHead(request), built(parts, identity));
        assert.deepEqual(requestHead({ ...line, headers: request.headers }), built(parts, identity));
      }
    }),
    { numRuns: 100 },
  );
});

test('a list that came once, and an upgrade, are built anew', () => {
  const parts = { host: 'm1', credential: credentials[0]!, peerAddress: '', auditId: 'a' };
  const once = new MemberRequest(line, { ...parts, inbound: ['Accept', 'a'], upgrade: false }, users[0]!);
  const upgrade = new MemberRequest(line, { ...parts, inbound: repeated('Accept', 'a'), upgrade: true }, users[0]!);
  assert.equal(once.headText, undefined);
  assert.equal(upgrade.headText, undefined);
});

test('no identity, no request: it is refused when it is made, kept text or not', () => {
  const parts = repeatedParts();
  requestHead(new MemberRequest(line, parts, users[0]!));
  const refused = (identity: unknown, inbound = parts.inbound): void =>
    assert.throws(
      () => new MemberRequest(line, { ...parts, inbound }, identity as OutgoingIdentity),
      (error) => identity === undefined || (error instanceof GatewayError && error.code === 'IDENTITY_REFUSED'),
    );
  for (const identity of [undefined, { ...users[0]!, name: '' }, { ...users[0]!, name: 'a\nb' }]) {
    refused(identity);
    refused(identity, ['Accept', 'a']);
  }
});

test('on its way to another endpoint a request has the Host of that one', () => {
  const parts = repeatedParts();
  const endpoint = { scheme: 'https', host: 'm1', port: 6443, basePath: '' } as const;
  const request = new MemberRequest(line, parts, users[0]!);
  const moved = requestHead(requestFor(request, endpoint, { ...endpoint, host: 'm9' }));
  assert.equal(moved, built({ ...parts, host: 'm9:6443' }, users[0]!));
});

test('a value that would split the head is not written, Audit-ID included', () => {
  const parts = repeatedParts();
  requestHead(new MemberRequest(line, parts, users[0]!));
  const split = new MemberRequest(line, { ...parts, auditId: 'a\r\nImpersonate-User: root' }, users[0]!);
  assert.throws(() => requestHead(split), /invalid header value/);
});
