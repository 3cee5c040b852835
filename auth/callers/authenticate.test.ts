import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import { makeAuthenticator } from './authenticate.ts';
import type { Authenticator } from './authenticate.ts';

const request = (...rawHeaders: string[]) => ({ rawHeaders, peerCertificates: [], tlsAuthorized: false });
const nothing: Authenticator = () => undefined;
const recognise =
  (name: string, ...groups: string[]): Authenticator =>
  () =>
    makeUser({ name, groups });
const fail =
  (error: Error): Authenticator =>
  () => {
    throw error;
  };
const bad = (message: string) => new GatewayError('UNAUTHENTICATED', message);

async function refusal(list: readonly Authenticator[], code: ErrorCode, ...headers: string[]): Promise<string> {
  try {
    await makeAuthenticator(list)(request(...headers));
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, code);
    return error.message;
  }
  assert.fail('the request was not refused');
}

test('the first success wins', async () => {
  const user = await makeAuthenticator([nothing, recognise('cert'), recognise('token')])(request());
  assert.equal(user.name, 'cert');
});

test('a later success makes up for an earlier error, of any kind', async () => {
  for (const error of [bad('expired'), new GatewayError('IDENTITY_REFUSED', 'x'), new TypeError('bug')]) {
    const user = await makeAuthenticator([fail(error), recognise('token')])(request());
    assert.equal(user.name, 'token');
  }
});

test('after a success nobody else is asked', async () => {
  const never = fail(new Error('asked'));
  assert.equal((await makeAuthenticator([recognise('cert'), never])(request())).name, 'cert');
});

test('authenticators may take their time', async () => {
  const slow: Authenticator = async () => makeUser({ name: 'slow' });
  const slowBad: Authenticator = async () => {
    throw bad('no');
  };
  assert.equal((await makeAuthenticator([slowBad, slow])(request())).name, 'slow');
});

test('system:authenticated is added once, and not where the groups have settled that question', async () => {
  const groupsOf = async (authenticator: Authenticator) => (await makeAuthenticator([authenticator])(request())).groups;
  assert.deepEqual(await groupsOf(recognise('bob', 'dev')), ['dev', 'system:authenticated']);
  assert.deepEqual(await groupsOf(recognise('bob', 'system:authenticated', 'dev')), ['system:authenticated', 'dev']);
  assert.deepEqual(await groupsOf(recognise('bob', 'system:unauthenticated')), ['system:unauthenticated']);
  assert.deepEqual(await groupsOf(recognise('system:anonymous')), []);
});

test('the user object of a credential is made once, not for every request', async () => {
  const bob = makeUser({ name: 'bob' });
  const authenticate = makeAuthenticator([() => bob]);
  assert.equal(await authenticate(request()), await authenticate(request()));
});

test('a request without credentials is 401 and says what to do', async () => {
  assert.match(
    await refusal([nothing], 'UNAUTHENTICATED'),
    /^Unauthorized: no credential was sent; send a bearer token/,
  );
  assert.match(await refusal([], 'UNAUTHENTICATED'), /^Unauthorized/);
});

test('a bad credential is 401, never anonymous, and every reason is named', async () => {
  const message = await refusal(
    [fail(bad('the certificate expired')), nothing, fail(bad('unknown token'))],
    'UNAUTHENTICATED',
  );
  assert.match(message, /^Unauthorized: the certificate expired; unknown token; /);
});

test('an Authorization header that holds no token is explained', async () => {
  assert.match(
    await refusal([nothing], 'UNAUTHENTICATED', 'Authorization', 'Basic eHg6eXk='),
    /not of the form "Bearer/,
  );
});

test('two Authorization headers are refused even where another credential would do', async () => {
  await refusal([recognise('cert')], 'BAD_HEADERS', 'Authorization', 'Bearer a', 'authorization', 'Bearer b');
});

test('our own names are refused whoever vouches for them, and the next credential is not tried', async () => {
  await refusal([recognise('portcullis:probe'), recognise('bob')], 'IDENTITY_REFUSED');
  await refusal([recognise('bob', 'portcullis:x')], 'IDENTITY_REFUSED');
});

test('a failure that nobody foresaw is our fault, not the credential, and keeps its text to itself', async () => {
  const message = await refusal([fail(new TypeError('secret detail')), fail(bad('x'))], 'INTERNAL');
  assert.ok(!message.includes('secret detail'));
});

test('an identity that cannot exist is another error than a bad credential', async () => {
  await refusal([fail(bad('x')), fail(new GatewayError('IDENTITY_REFUSED', 'control character'))], 'IDENTITY_REFUSED');
});
