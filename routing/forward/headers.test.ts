import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { relayedHeaders, selfUpstreamHeaders, upstreamHeaders } from './headers.ts';
import { headerValues } from '../../http/raw-headers.ts';
import type { HeaderParts } from './headers.ts';

const alice = makeUser({ name: 'alice', uid: 'u-1', groups: ['dev', 'a,b'], extra: [['scopes', ['x', 'y']]] });

function parts(inbound: readonly string[], upgrade = false): HeaderParts {
  return {
    inbound,
    host: 'member:6443',
    credential: { authorization: 'Bearer gateway', clientCertificate: undefined, expiresAtMs: undefined },
    peerAddress: '192.0.2.1',
    auditId: 'audit-1',
    upgrade,
  };
}

test('the identity is sent as separate fields and the credential comes last', () => {
  const headers = upstreamHeaders(parts(['accept', 'application/json']), alice);
  assert.deepEqual(headerValues(headers, 'impersonate-user'), ['alice']);
  assert.deepEqual(headerValues(headers, 'impersonate-group'), ['dev', 'a,b']);
  assert.deepEqual(headerValues(headers, 'impersonate-uid'), ['u-1']);
  assert.deepEqual(headerValues(headers, 'impersonate-extra-scopes'), ['x', 'y']);
  assert.deepEqual(headers.slice(-2), ['Authorization', 'Bearer gateway']);
  assert.deepEqual(headerValues(headers, 'host'), ['member:6443']);
});

const hostile = [
  'Authorization',
  'Cookie',
  'Connection',
  'Keep-Alive',
  'Proxy-Connection',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
  'Host',
  'Impersonate-User',
  'IMPERSONATE-GROUP',
  'Impersonate_User',
  'Impersonate-Uid',
  'Impersonate-Extra-scopes',
  'Impersonate-Foo',
  'X-Remote-User',
  'X_Remote_User',
  'X-Remote-Extra-a',
  'X-Forwarded-For',
  'X-Forwarded-User',
  'Forwarded',
  'X-Real-Ip',
  'Proxy-Authorization',
  'Content-Length',
  'X-HTTP-Method-Override',
  '__proto__',
  'constructor',
  'Impersonate-User ',
  'Impersonate-User.',
];

for (const name of hostile) {
  test(`a client's ${JSON.stringify(name)} does not reach the member`, () => {
    for (const upgrade of [false, true]) {
      const sent = upstreamHeaders(parts([name, 'evil', 'accept', 'a/b'], upgrade), alice);
      assert.ok(!sent.includes('evil'));
    }
  });
}

test('naming injected headers in Connection takes none of them away (ATT-02)', () => {
  const sent = upstreamHeaders(
    parts(['Connection', 'close, Impersonate-User, Authorization, Impersonate-Group']),
    alice,
  );
  assert.deepEqual(headerValues(sent, 'impersonate-user'), ['alice']);
  assert.deepEqual(headerValues(sent, 'authorization'), ['Bearer gateway']);
  assert.deepEqual(headerValues(sent, 'connection'), []);
});

test('the bearer subprotocol is taken out and the others stay (ATT-38)', () => {
  const offered = 'v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0, v4.channel.k8s.io';
  const sent = upstreamHeaders(parts(['Sec-WebSocket-Protocol', offered], true), alice);
  assert.deepEqual(headerValues(sent, 'sec-websocket-protocol'), ['v5.channel.k8s.io, v4.channel.k8s.io']);
});

test('an item that holds a bearer subprotocol behind other text is taken out, too (ATT-38)', () => {
  const offered = 'x: base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io';
  const sent = upstreamHeaders(parts(['Sec-WebSocket-Protocol', offered], true), alice);
  assert.deepEqual(headerValues(sent, 'sec-websocket-protocol'), ['v5.channel.k8s.io']);
});

test('repeated stream protocol versions stay apart', () => {
  const sent = upstreamHeaders(
    parts(['X-Stream-Protocol-Version', 'v4.channel.k8s.io', 'X-Stream-Protocol-Version', 'v3.channel.k8s.io'], true),
    alice,
  );
  assert.deepEqual(headerValues(sent, 'x-stream-protocol-version'), ['v4.channel.k8s.io', 'v3.channel.k8s.io']);
});

test('names travel as UTF-8 bytes (ATT-17)', () => {
  const sent = upstreamHeaders(parts([]), makeUser({ name: 'jürgen', groups: ['日本'] }));
  assert.equal(Buffer.from(headerValues(sent, 'impersonate-user')[0]!, 'latin1').toString('utf8'), 'jürgen');
  assert.equal(Buffer.from(headerValues(sent, 'impersonate-group')[0]!, 'latin1').toString('utf8'), '日本');
});

test('an identity that is none sends nothing, even if it was made past makeUser (ATT-01)', () => {
  for (const name of ['', ' admin', 'admin\t', 'a\r\nImpersonate-Group: system:masters', 'a\u0000']) {
    const forged = { ...alice, name } as User;
    assert.throws(
      () => upstreamHeaders(parts([]), forged),
      (error) => error instanceof GatewayError && error.code === 'IDENTITY_REFUSED',
    );
  }
});

test('extra keys are lower case and percent-escaped as client-go does', () => {
  const user = makeUser({ name: 'a', extra: [['Example.com/Foo Bar%', ['1']]] });
  const sent = upstreamHeaders(parts([]), user);
  assert.deepEqual(headerValues(sent, 'impersonate-extra-example.com%2ffoo%20bar%25'), ['1']);
});

test('self mode sends the own credential and no impersonation at all', () => {
  const sent = selfUpstreamHeaders(parts(['Impersonate-User', 'root', 'accept', 'a/b']));
  assert.ok(!sent.some((entry) => /^impersonate/i.test(entry)));
  assert.deepEqual(headerValues(sent, 'authorization'), ['Bearer gateway']);
});

test('no inbound header list can change who we are', () => {
  const name = fc.oneof(fc.constantFrom(...hostile), fc.stringMatching(/^[A-Za-z_-]{1,20}$/));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string()), { maxLength: 20 }), fc.boolean(), (pairs, upgrade) => {
      const sent = upstreamHeaders(parts(pairs.flat(), upgrade), alice);
      const identity = [];
      for (let i = 0; i < sent.length; i += 2)
        if (/^(impersonate|authorization|x-remote|cookie)/i.test(sent[i]!)) identity.push(sent[i], sent[i + 1]);
      assert.deepEqual(identity, [
        'Impersonate-User',
        'alice',
        'Impersonate-Group',
        'dev',
        'Impersonate-Group',
        'a,b',
        'Impersonate-Uid',
        'u-1',
        'Impersonate-Extra-scopes',
        'x',
        'Impersonate-Extra-scopes',
        'y',
        'Authorization',
        'Bearer gateway',
      ]);
    }),
  );
});

test('answers lose what would act on the connection or on our origin, and what Connection names', () => {
  const { headers, contentType, location } = relayedHeaders([
    'Content-Type',
    'application/json',
    'Set-Cookie',
    'a=b',
    'Connection',
    'close, X-Secret',
    'X-Secret',
    '1',
    'Transfer-Encoding',
    'chunked',
    'Strict-Transport-Security',
    'x',
    'Access-Control-Allow-Origin',
    '*',
    'Location',
    '/x',
    'Warning',
    '299 - "a"',
    'Warning',
    '299 - "b"',
    ':status',
    '200',
  ]);
  assert.deepEqual(headers, [
    'Content-Type',
    'application/json',
    'Location',
    '/x',
    'Warning',
    '299 - "a"',
    'Warning',
    '299 - "b"',
  ]);
  assert.equal(contentType, 'application/json');
  assert.equal(location, '/x');
});
