import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import { makeClientCertificateAuthenticator } from './client-cert.ts';
import { makeRequestHeaderAuthenticator, parseFrontProxyTrust } from './request-header.ts';
import type { FrontProxyTrust } from './request-header.ts';
import { authority, makeCertificate, testNowMs, usedFor } from '../x509/certificates.fixture.ts';
import type { TestCertificate } from '../x509/certificates.fixture.ts';

const hourMs = 60 * 60 * 1000;
const proxies = await makeCertificate({ subject: [{ CN: ['front-proxy-ca'] }], extensions: authority() });
const people = await makeCertificate({ subject: [{ CN: ['client-ca'] }], extensions: authority() });
const middle = await makeCertificate({ subject: [{ CN: ['middle'] }], issuer: proxies, extensions: authority(0) });
const certificate = (name: string, issuer: TestCertificate = proxies) =>
  makeCertificate({ subject: [{ CN: [name] }, { O: ['of-certificate'] }], issuer, extensions: [usedFor()] });
const proxy = await certificate('front-proxy-client');

const normal: FrontProxyTrust = {
  caPem: proxies.pem,
  allowedNames: ['front-proxy-client'],
  usernameHeaders: ['x-remote-user'],
  uidHeaders: ['x-remote-uid'],
  groupHeaders: ['x-remote-group'],
  extraPrefixes: ['x-remote-extra-'],
};

function authenticator(change: Partial<FrontProxyTrust> = {}, now = () => testNowMs) {
  const made = makeRequestHeaderAuthenticator(now);
  made.replace({ ...normal, ...change });
  return made;
}

const from = (chain: readonly TestCertificate[], ...rawHeaders: string[]) => ({
  rawHeaders,
  peerCertificates: chain.map(({ der }) => der),
  tlsAuthorized: true,
});

/** The user, undefined for no opinion, or the code of the refusal. */
function outcome(rawHeaders: readonly string[], change: Partial<FrontProxyTrust> = {}, chain = [proxy]) {
  try {
    return authenticator(change).authenticate(from(chain, ...rawHeaders)) as User | undefined;
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

function userFrom(rawHeaders: readonly string[], change: Partial<FrontProxyTrust> = {}): User {
  const user = outcome(rawHeaders, change);
  assert.ok(typeof user === 'object', `no user: ${String(user)}`);
  return user;
}

const alice = ['X-Remote-User', 'alice'];

describe('whose headers are believed', () => {
  test('a front proxy’s are, and the user is the hub’s to vouch for', () => {
    const user = userFrom([...alice, 'X-Remote-Group', 'dev']);
    assert.deepEqual({ ...user }, { name: 'alice', uid: '', groups: ['dev'], extra: [], origin: 'hub' });
  });

  test('nobody’s before there is trust, after it was withdrawn, or without a certificate', () => {
    const made = makeRequestHeaderAuthenticator(() => testNowMs);
    assert.equal(made.authenticate(from([proxy], ...alice)), undefined);
    made.replace(normal);
    assert.ok(made.authenticate(from([proxy], ...alice)));
    assert.equal(made.authenticate(from([], ...alice)), undefined);
    made.replace(undefined);
    assert.equal(made.authenticate(from([proxy], ...alice)), undefined);
  });

  test('a certificate of the authority with another name is refused, and no names given means any (ATT-04)', async () => {
    const other = await certificate('somebody');
    assert.equal(outcome(alice, {}, [other]), 'UNAUTHENTICATED');
    assert.equal((outcome(alice, { allowedNames: [] }, [other]) as User).name, 'alice');
    // As at kube-apiserver: an empty name in the list allows nobody but those without a name.
    assert.equal(outcome(alice, { allowedNames: [''] }, [other]), 'UNAUTHENTICATED');
  });

  test('a user certificate with an allowed name is refused here (ATT-05)', async () => {
    assert.equal(outcome(alice, {}, [await certificate('front-proxy-client', people)]), 'UNAUTHENTICATED');
  });

  test('a certificate of the authority’s own intermediate is believed, one for servers or out of date is not', async () => {
    const below = await certificate('front-proxy-client', middle);
    assert.ok(typeof outcome(alice, {}, [below, middle]) === 'object');
    assert.equal(outcome(alice, {}, [below]), 'UNAUTHENTICATED');
    const serving = await makeCertificate({
      subject: [{ CN: ['front-proxy-client'] }],
      issuer: proxies,
      extensions: [usedFor('1.3.6.1.5.5.7.3.1')],
    });
    assert.equal(outcome(alice, {}, [serving]), 'UNAUTHENTICATED');
  });

  test('the certificate is judged on every request, by the clock and by the authority of that moment (ATT-06)', () => {
    let nowMs = testNowMs;
    const made = authenticator({}, () => nowMs);
    const request = from([proxy], ...alice);
    assert.ok(made.authenticate(request));
    nowMs += 48 * hourMs;
    assert.throws(
      () => made.authenticate(request),
      /the request has headers of a front proxy, but no valid certificate of one: .*expired/,
    );
    nowMs = testNowMs;
    assert.ok(made.authenticate(request));
    made.replace({ ...normal, caPem: people.pem });
    assert.throws(() => made.authenticate(request), /not signed by/);
  });

  test('a bundle that cannot be read leaves the trust as it was', () => {
    const made = authenticator();
    assert.throws(() => made.replace({ ...normal, caPem: 'nonsense' }), GatewayError);
    assert.ok(made.authenticate(from([proxy], ...alice)));
  });

  test('a front proxy that names nobody is nobody, neither here nor as a user by its certificate', async () => {
    for (const headers of [[], ['X-Remote-Group', 'system:masters'], ['X-Remote-User', ''], ['X-Remote-Users', 'x']])
      assert.equal(outcome(headers), undefined, headers.join());
    const users = makeClientCertificateAuthenticator({ caPem: people.pem, caFile: 'ca', now: () => testNowMs });
    assert.throws(() => users.authenticate(from([proxy])), GatewayError);
    const both = makeClientCertificateAuthenticator({
      caPem: people.pem + proxies.pem,
      caFile: 'ca',
      now: () => testNowMs,
      origin: 'hub',
    });
    const user = (await both.authenticate(from([proxy])))!;
    assert.deepEqual([user.name, user.origin], ['front-proxy-client', 'hub'], 'as kube-apiserver decides');
  });
});

describe('what the headers say', () => {
  test('one with no certificate at all is never read', () => {
    assert.equal(outcome(alice, {}, []), undefined);
  });

  test('the first header with a value names the user, of each only its first line, whatever the case', () => {
    const headers = ['x-one', '', 'X-ONE', 'ignored', 'x-two', 'second', 'X-Two', 'third', ...alice];
    const change = { usernameHeaders: ['x-one', 'x-two', 'x-remote-user'] };
    assert.equal(userFrom(headers, change).name, 'second');
    assert.equal(userFrom([...alice, 'X-Remote-User', 'eve']).name, 'alice');
  });

  test('a header that only resembles one says nothing', () => {
    for (const header of ['X_Remote_User', 'X-Remote-User2', 'X-Remote', 'XX-Remote-User', 'X-Remote-User '])
      assert.equal(outcome([header, 'eve']), undefined, header);
  });

  test('every value of every group header is a group, in order, never split, empty ones left out', () => {
    const headers = [
      ...alice,
      'X-Group',
      'z',
      'x-remote-group',
      'a,system:masters',
      'X-Remote-Group',
      '',
      'X-REMOTE-GROUP',
      'b',
    ];
    const user = userFrom(headers, { groupHeaders: ['x-remote-group', 'x-group'] });
    assert.deepEqual(user.groups, ['a,system:masters', 'b', 'z']);
  });

  test('the uid is believed only where the hub names its header', () => {
    const headers = [...alice, 'X-Remote-Uid', '42'];
    assert.equal(userFrom(headers).uid, '42');
    assert.equal(userFrom(headers, { uidHeaders: [] }).uid, '');
  });

  test('extra keys are lower case and unescaped; a bad escape stays as it is; values of one key are joined', () => {
    const user = userFrom([
      ...alice,
      ...['X-Remote-Extra-Scopes', 'one', 'x-remote-extra-scopes', 'two'],
      ...['X-Remote-Extra-Acme.com%2Fproject', 'p', 'X-Remote-Extra-%E6%97%A5', 'day', 'X-Remote-Extra-50%Off', 'sale'],
      ...['X-Remote-Extra-__proto__', 'x', 'X-Remote-Extra-%41', 'escaped', 'X-Remote-Extra-A', 'plain'],
    ]);
    assert.deepEqual(user.extra, [
      ['scopes', ['one', 'two']],
      ['acme.com/project', ['p']],
      ['日', ['day']],
      ['50%off', ['sale']],
      ['__proto__', ['x']],
      ['a', ['escaped', 'plain']],
    ]);
  });

  test('names are UTF-8 bytes, and bytes that are none are refused (ATT-17)', () => {
    const wire = (text: string) => Buffer.from(text).toString('latin1');
    assert.equal(userFrom(['X-Remote-User', wire('jürgen 日本')]).name, 'jürgen 日本');
    assert.equal(outcome(['X-Remote-User', 'j\u00fcrgen']), 'UNAUTHENTICATED');
    assert.equal(outcome([...alice, 'X-Remote-Group', '\u00ff']), 'UNAUTHENTICATED');
    assert.equal(outcome([...alice, 'X-Remote-Extra-k', '\u00ff']), 'UNAUTHENTICATED');
    assert.equal(outcome([...alice, 'X-Remote-Extra-%ff', 'v']), 'UNAUTHENTICATED');
  });

  test('an identity that would change on its way is refused (ATT-15, ATT-16)', () => {
    const crossing = ['a\u0000b', 'a\nb', ' admin', 'admin\t'];
    for (const name of crossing) assert.equal(outcome(['X-Remote-User', name]), 'IDENTITY_REFUSED', name);
    assert.equal(outcome([...alice, 'X-Remote-Group', ' x']), 'IDENTITY_REFUSED');
    assert.equal(outcome([...alice, 'X-Remote-Extra-%0a', 'x']), 'IDENTITY_REFUSED');
    assert.equal(outcome([...alice, 'X-Remote-Extra-', 'x']), 'IDENTITY_REFUSED');
  });

  test('the same headers make the same user object; another line, value or order does not', () => {
    const made = authenticator();
    const ask = (...headers: string[]) => made.authenticate(from([proxy], ...headers));
    const first = ask(...alice, 'X-Remote-Group', 'dev');
    assert.equal(ask('Accept', '*/*', ...alice, 'x-remote-group', 'dev'), first);
    assert.notEqual(ask(...alice, 'X-Remote-Group', 'ops'), first);
    // Lists that would be equal if they were joined without lengths.
    const split = ask(...alice, 'X-Remote-Group', 'a', 'X-Remote-Group', 'b') as User;
    for (const text of ['a14:x-remote-group1:b', 'ax-remote-groupb']) {
      const joined = ask(...alice, 'X-Remote-Group', text) as User;
      assert.deepEqual([split.groups, joined.groups], [['a', 'b'], [text]]);
    }
  });

  test('another meaning of the headers makes other users of them', () => {
    const made = authenticator();
    const request = from([proxy], ...alice, 'X-Remote-Group', 'dev');
    assert.deepEqual((made.authenticate(request) as User).groups, ['dev']);
    made.replace({ ...normal, usernameHeaders: ['x-remote-group'], groupHeaders: ['x-remote-user'] });
    const { name, groups } = made.authenticate(request) as User;
    assert.deepEqual([name, groups], ['dev', ['alice']]);
  });
});

describe('the ConfigMap', () => {
  const data = {
    'client-ca-file': people.pem,
    'requestheader-client-ca-file': proxies.pem,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  };

  test('is read as kube-apiserver writes it', () => {
    assert.deepEqual(parseFrontProxyTrust(data), normal);
  });

  test('without an authority there is no front proxy; absent lists are empty', () => {
    assert.equal(parseFrontProxyTrust({ 'client-ca-file': people.pem }), undefined);
    const { caPem, ...lists } = parseFrontProxyTrust({ 'requestheader-client-ca-file': proxies.pem })!;
    assert.equal(caPem, proxies.pem);
    assert.deepEqual(Object.values(lists).flat(), []);
  });

  test('a list that cannot be read is reported with its key', () => {
    for (const [key, text] of [
      ['requestheader-allowed-names', 'front-proxy-client'],
      ['requestheader-allowed-names', '"front-proxy-client"'],
      ['requestheader-username-headers', '[1]'],
      ['requestheader-extra-headers-prefix', '[" "]'],
      ['requestheader-group-headers', '{}'],
    ] as const) {
      assert.throws(
        () => parseFrontProxyTrust({ ...data, [key]: text }),
        (error) => error instanceof GatewayError && error.code === 'INVALID' && error.message.includes(key),
        `${key} ${text}`,
      );
    }
  });
});
