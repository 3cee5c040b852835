import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeAnonymousAuthenticator } from './anonymous.ts';
import { makeAuthenticator } from './authenticate.ts';
import type { AuthenticationRequest } from './authentication-request.ts';
import type { Authenticator } from './authenticate.ts';

const request = (path: string, ...rawHeaders: string[]): AuthenticationRequest => ({
  rawHeaders,
  peerCertificates: [],
  tlsAuthorized: false,
  path,
});

async function nameFor(
  asked: AuthenticationRequest,
  paths: readonly string[] = [],
  list: Authenticator[] = [],
): Promise<string> {
  const authenticate = makeAuthenticator(
    list,
    makeAnonymousAuthenticator(() => ({ enabled: true, paths })),
  );
  try {
    const { name, groups } = await authenticate(asked);
    assert.deepEqual(groups, ['system:unauthenticated'], 'never system:authenticated');
    return name;
  } catch (error) {
    return error instanceof GatewayError ? error.code : 'unforeseen';
  }
}

test('whoever sends nothing is system:anonymous, on the exact paths alone where there are conditions', async () => {
  assert.equal(await nameFor(request('/api')), 'system:anonymous');
  assert.equal(await nameFor(request('/version'), ['/version']), 'system:anonymous');
  for (const path of ['/version/', '/Version', '/versionx', '/', ''])
    assert.equal(await nameFor(request(path), ['/version']), 'UNAUTHENTICATED');
  const { path: _, ...onClusterHost } = request('');
  for (const paths of [['/version'], ['']]) assert.equal(await nameFor(onClusterHost, paths), 'UNAUTHENTICATED');
});

test('with an Authorization header of any kind, or after an error of another authenticator, nobody is anonymous', async () => {
  for (const value of ['Bearer x', 'Bearer ', 'Basic YTpi', ''])
    assert.equal(await nameFor(request('/api', 'Authorization', value)), 'UNAUTHENTICATED', value);
  const fails: Authenticator = () => Promise.reject(new GatewayError('UNAUTHENTICATED', 'a bad certificate'));
  assert.equal(await nameFor(request('/api'), [], [fails]), 'UNAUTHENTICATED');
  const silent: Authenticator = () => Promise.resolve(undefined);
  assert.equal(await nameFor(request('/api'), [], [silent]), 'system:anonymous');
});
