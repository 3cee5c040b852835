import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import { makeAuthenticator } from './authenticate.ts';
import type { AuthenticationRequest } from './authentication-request.ts';

const bob = makeUser({ name: 'bob' });
const nobody = makeUser({ name: 'system:anonymous', groups: ['system:unauthenticated'] });
const request = (
  rawHeaders: readonly string[],
  change: Partial<AuthenticationRequest> = {},
): AuthenticationRequest => ({
  rawHeaders,
  peerCertificates: [],
  tlsAuthorized: false,
  authority: 'gw:8443',
  ...change,
});
const forbidden = (error: unknown): boolean => error instanceof GatewayError && error.code === 'FORBIDDEN';

test('a page of another origin is not even anonymous: being near the gateway is no credential of its own (ATT-52)', () => {
  const authenticate = makeAuthenticator([() => undefined], () => nobody);
  assert.equal(authenticate(request(['Origin', 'https://gw:8443'])), nobody);
  assert.throws(() => authenticate(request(['Origin', 'https://evil'])), forbidden);
});

test('without an address the request was sent to, no origin is ours (ATT-52)', () => {
  const authenticate = makeAuthenticator([() => bob]);
  for (const authority of ['', undefined]) {
    for (const origin of ['https://', 'https://gw:8443', 'https://undefined', ''])
      assert.throws(() => authenticate(request(['Origin', origin], { authority: authority as never })), forbidden);
  }
});

test('authenticators see nothing of the connection’s certificate when a page of another origin brings a token (ATT-52)', () => {
  const seen: number[] = [];
  const authenticate = makeAuthenticator([
    ({ peerCertificates }) => {
      seen.push(peerCertificates.length);
      return bob;
    },
  ]);
  const shown = { peerCertificates: [new Uint8Array(1)] };
  void authenticate(request(['authorization', 'Bearer t', 'origin', 'https://evil'], shown));
  void authenticate(request(['authorization', 'Bearer t', 'origin', 'https://gw:8443'], shown));
  void authenticate(request(['authorization', 'Bearer t'], shown));
  assert.deepEqual(seen, [0, 1, 1]);
});

test('a program that sends the server of a kubeconfig with its path as origin is no page, and keeps its certificate (ATT-52)', () => {
  const seen: number[] = [];
  const authenticate = makeAuthenticator([
    ({ peerCertificates }) => {
      seen.push(peerCertificates.length);
      return bob;
    },
  ]);
  const shown = { peerCertificates: [new Uint8Array(1)] };
  for (const origin of ['https://gw:8443/clusters/m1/proxy', 'https://GW:8443/apis/g/v1/x/y/proxy'])
    void authenticate(request(['Origin', origin], shown));
  assert.deepEqual(seen, [1, 1]);
  for (const origin of [
    'https://evil/clusters/gw:8443',
    'https://gw:8443/',
    'https://gw:8443/console/',
    'https://evil/https://gw:8443/',
    'https://gw:8443@evil/clusters/m1',
    'https://gw:8443.evil/clusters/m1',
    'https://gw:8444/clusters/m1',
    'http://gw:8443/clusters/m1/proxy',
    'https:///clusters/gw:8443',
    'null/https://gw:8443',
  ])
    assert.throws(() => authenticate(request(['Origin', origin], shown)), forbidden, origin);
});

test('what is told of the page is short and holds no token (ATT-52)', () => {
  const authenticate = makeAuthenticator([() => bob]);
  const headers = ['Origin', `https://${'x'.repeat(5000)}`, 'Authorization', 'Basic c2VjcmV0'];
  assert.throws(
    () => authenticate(request(headers)),
    (error) => error instanceof GatewayError && error.message.length < 600 && !error.message.includes('c2VjcmV0'),
  );
});
