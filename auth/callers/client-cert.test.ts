import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import { makeClientCertificateAuthenticator } from './client-cert.ts';
import {
  anyExtension,
  authority,
  makeCertificate,
  makeKeys,
  testNowMs,
  usedFor,
} from '../x509/certificates.fixture.ts';
import type { TestCertificate, TestCertificateOptions } from '../x509/certificates.fixture.ts';

const hourMs = 60 * 60 * 1000;
const root = await makeCertificate({ subject: [{ CN: ['root'] }], extensions: authority() });
const middle = await makeCertificate({ subject: [{ CN: ['middle'] }], issuer: root, extensions: authority(0) });
const stranger = await makeCertificate({ subject: [{ CN: ['root'] }], extensions: authority() });

/** A client certificate of the root authority, unless the options say otherwise. */
function leaf(options: Partial<TestCertificateOptions> = {}): Promise<TestCertificate> {
  return makeCertificate({ subject: [{ CN: ['dev'] }], issuer: root, extensions: [usedFor()], ...options });
}

function authenticator(pool: readonly TestCertificate[], now = () => testNowMs) {
  return makeClientCertificateAuthenticator({ caPem: pool.map(({ pem }) => pem).join('\n'), caFile: 'ca.crt', now });
}

const request = (...chain: readonly TestCertificate[]) => ({
  rawHeaders: [],
  peerCertificates: chain.map(({ der }) => der),
  // The decision at the handshake must never matter.
  tlsAuthorized: false,
});

/** The user that the certificates make, or the code and text of the refusal. */
function outcome(
  pool: readonly TestCertificate[],
  chain: readonly TestCertificate[],
  now?: () => number,
): User | undefined | `${ErrorCode} ${string}` {
  try {
    return authenticator(pool, now).authenticate(request(...chain)) as User | undefined;
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code} ${error.message}`;
    throw error;
  }
}

function assertRefused(actual: ReturnType<typeof outcome>, reason: RegExp): void {
  assert.ok(typeof actual === 'string', `accepted as ${JSON.stringify(actual)}`);
  assert.match(actual, /^UNAUTHENTICATED /);
  assert.match(actual, reason);
}

describe('the user of a certificate', () => {
  test('has the common name, every organization as group, and the certificate as credential id', async () => {
    const dev = await leaf({
      subject: [{ CN: ['dev'], O: ['multi-valued'] }, { O: ['a,system:masters', 'b'] }, { OU: ['x'] }],
    });
    assert.deepEqual(outcome([root], [dev]), {
      name: 'dev',
      uid: '',
      origin: 'operator',
      groups: ['multi-valued', 'a,system:masters', 'b'],
      extra: [
        [
          'authentication.kubernetes.io/credential-id',
          [`X509SHA256=${createHash('sha256').update(dev.der).digest('hex')}`],
        ],
      ],
      expiresAtMs: testNowMs + 24 * hourMs,
    });
  });

  const names: readonly (readonly [
    title: string,
    options: Partial<TestCertificateOptions>,
    check: (user: User) => void,
  ])[] = [
    ['UTF-8', { subject: [{ CN: ['jürgen 日本'] }] }, (user) => assert.equal(user.name, 'jürgen 日本')],
    [
      'BMPString',
      { subject: [{ CN: ['#1e0c006a00fc007200670065006e'] }] },
      (user) => assert.equal(user.name, 'jürgen'),
    ],
    [
      'what looks like a name inside a value',
      { subject: [{ CN: ['a/O=system:masters,O=x'] }] },
      (user) => {
        assert.deepEqual([user.name, user.groups], ['a/O=system:masters,O=x', []]);
      },
    ],
    [
      'the last of several common names',
      { subject: [{ CN: ['a'] }, { CN: ['b'] }] },
      (user) => assert.equal(user.name, 'b'),
    ],
    [
      'the UID attribute',
      { subject: [{ CN: ['a'] }, { '1.3.6.1.4.1.57683.2': ['id-1'] }] },
      (user) => {
        assert.equal(user.uid, 'id-1');
      },
    ],
    [
      "the operator's own names",
      { subject: [{ CN: ['system:admin'], O: ['system:masters'] }] },
      (user) => {
        assert.deepEqual(user.groups, ['system:masters']);
      },
    ],
  ];
  for (const [title, options, check] of names) {
    test(`is read from ${title}`, async () => {
      const user = outcome([root], [await leaf(options)]);
      assert.ok(user !== undefined && typeof user !== 'string', String(user));
      check(user);
    });
  }

  test('is nobody without a common name, or without a certificate', async () => {
    assert.equal(outcome([root], [await leaf({ subject: [{ O: ['x'] }] })]), undefined);
    assert.equal(outcome([root], []), undefined);
  });

  test('must be an identity that can be sent on', async () => {
    for (const name of ['a\nb', ' admin', 'a\u0085b', 'a\0']) {
      const actual = outcome([root], [await leaf({ subject: [{ CN: [name] }] })]);
      assert.match(String(actual), /^IDENTITY_REFUSED /, JSON.stringify(name));
    }
  });

  test('has one UID or none', async () => {
    const uid = (...values: string[]) =>
      leaf({ subject: [{ CN: ['a'] }, ...values.map((value) => ({ '1.3.6.1.4.1.57683.2': [value] }))] });
    assertRefused(outcome([root], [await uid('1', '2')]), /more than one UID/);
    assertRefused(outcome([root], [await uid('')]), /UID .* is empty/);
  });
});

describe("kube-apiserver's own certificate cases", () => {
  test('self signed', async () => assertRefused(outcome([root], [await leaf({ issuer: undefined })]), /not signed by/));
  test('server cert', async () => {
    const server = await leaf({ extensions: [usedFor('1.3.6.1.5.5.7.3.1')] });
    assertRefused(outcome([root], [server]), /not be used for client authentication/);
  });
  test('future cert', async () => {
    assertRefused(
      outcome([root], [await leaf()], () => testNowMs - 100 * 365 * 24 * hourMs),
      /is not valid before 2026/,
    );
  });
  test('expired cert', async () => {
    assertRefused(
      outcome([root], [await leaf()], () => testNowMs + 100 * 365 * 24 * hourMs),
      /expired at 2026/,
    );
  });
  test('multi-level, valid', async () => {
    const dev = await leaf({ issuer: middle });
    assert.equal((outcome([root], [dev, middle]) as User).name, 'dev');
    assertRefused(outcome([root], [dev]), /not signed by/);
  });
  test('multi-level, expired', async () => {
    const dev = await leaf({ issuer: middle, validToMs: testNowMs - 1000 });
    assertRefused(outcome([root], [dev, middle]), /expired at/);
  });
  test('a certificate that is in the pool itself needs no authority', async () => {
    const dev = await leaf({ issuer: undefined });
    assert.equal((outcome([dev], [dev]) as User).name, 'dev');
    const server = await leaf({ issuer: undefined, extensions: [usedFor('1.3.6.1.5.5.7.3.1')] });
    assertRefused(outcome([server], [server]), /not be used/);
  });
});

describe('chains', () => {
  test('an authority of the same name with another key has signed nothing', async () => {
    assertRefused(outcome([stranger], [await leaf()]), /signature .* is wrong/);
    assertRefused(outcome([stranger], [await leaf(), root]), /signature .* is wrong/);
    assert.equal((outcome([stranger, root], [await leaf()]) as User).name, 'dev');
  });
  test('a leaf is no authority', async () => {
    const rogue = await leaf({ subject: [{ CN: ['admin'] }], issuer: await leaf() });
    assertRefused(outcome([root], [rogue, await leaf()]), /not a certificate authority|signature/);
    const notSigning = [authority()[0]!, anyExtension('2.5.29.15', '03020780', true)];
    const encryptor = await leaf({ subject: [{ CN: ['e'] }], extensions: notSigning });
    assertRefused(outcome([root], [await leaf({ issuer: encryptor }), encryptor]), /not a certificate authority/);
  });
  test('the path length of an authority holds', async () => {
    const below = await makeCertificate({ subject: [{ CN: ['below'] }], issuer: middle, extensions: authority() });
    assertRefused(outcome([root], [await leaf({ issuer: below }), below, middle]), /longer than/);
  });
  test('usages of intermediates and roots count too, and any covers ours', async () => {
    const make = (usage: string) =>
      makeCertificate({ subject: [{ CN: ['u'] }], issuer: root, extensions: [...authority(), usedFor(usage)] });
    const serverOnly = await make('1.3.6.1.5.5.7.3.1');
    assertRefused(outcome([root], [await leaf({ issuer: serverOnly }), serverOnly]), /not be used/);
    assertRefused(outcome([serverOnly], [await leaf({ issuer: serverOnly })]), /not be used/);
    const any = await make('2.5.29.37.0');
    assert.equal((outcome([any], [await leaf({ issuer: any, extensions: [] })]) as User).name, 'dev');
  });
  test('an expired authority ends the life of what it signed', async () => {
    const old = await makeCertificate({
      subject: [{ CN: ['o'] }],
      issuer: root,
      extensions: authority(),
      validToMs: testNowMs - 1,
    });
    const dev = await leaf({ issuer: old });
    assertRefused(outcome([root], [dev, old]), /expired/);
    assertRefused(outcome([old], [dev]), /expired/);
    const renewed = await makeCertificate({
      subject: [{ CN: ['o'] }],
      keys: old.keys,
      issuer: root,
      extensions: authority(),
    });
    assert.equal((outcome([root, old], [dev, renewed]) as User).name, 'dev');
  });
  test('critical extensions that nobody evaluates refuse', async () => {
    const odd = anyExtension('1.2.3.4', '0500', true);
    assertRefused(outcome([root], [await leaf({ extensions: [usedFor(), odd] })]), /critical extensions .*1\.2\.3\.4/);
    const ca = await makeCertificate({ subject: [{ CN: ['c'] }], issuer: root, extensions: [...authority(), odd] });
    assertRefused(outcome([root], [await leaf({ issuer: ca }), ca]), /critical extensions/);
    const harmless = anyExtension('1.2.3.4', '0500', false);
    assert.equal((outcome([root], [await leaf({ extensions: [usedFor(), harmless] })]) as User).name, 'dev');
  });
  test('name constraints refuse, critical or not', async () => {
    // permittedSubtrees: dNSName example.com
    const constraint = anyExtension('2.5.29.30', '3011a00f300d820b6578616d706c652e636f6d', false);
    const ca = await makeCertificate({
      subject: [{ CN: ['n'] }],
      issuer: root,
      extensions: [...authority(), constraint],
    });
    assertRefused(outcome([root], [await leaf({ issuer: ca }), ca]), /name constraints/);
    assertRefused(outcome([ca], [await leaf({ issuer: ca })]), /name constraints/);
  });
  test('is not accepted', async () => {
    assertRefused(outcome([root], [await leaf({ hash: 'SHA-1' })]), /no longer safe/);
  });
  test('RSA-PSS is accepted with a digest that is sound, and only then', async () => {
    const make = async (hash: 'SHA-1' | 'SHA-256') => {
      const publicExponent = new Uint8Array([1, 0, 1]);
      const keys = await makeKeys({ name: 'RSA-PSS', modulusLength: 2048, publicExponent, hash });
      const ca = await makeCertificate({ subject: [{ CN: ['pss'] }], keys, hash, extensions: authority() });
      return outcome([ca], [await leaf({ issuer: ca, hash })]);
    };
    assert.equal(((await make('SHA-256')) as User).name, 'dev');
    assertRefused(await make('SHA-1'), /no longer safe/);
  });
  test('an RSA key that anybody can break signs nothing', async () => {
    const make = async (modulusLength: number) => {
      const publicExponent = new Uint8Array([1, 0, 1]);
      const keys = await makeKeys({ name: 'RSASSA-PKCS1-v1_5', modulusLength, publicExponent, hash: 'SHA-256' });
      const ca = await makeCertificate({ subject: [{ CN: ['rsa'] }], keys, extensions: authority() });
      return outcome([ca], [await leaf({ issuer: ca })]);
    };
    assert.equal(((await make(1024)) as User).name, 'dev');
    assertRefused(await make(768), /signature .* is wrong/);
  });
  test('an authority that is not yet valid has signed nothing yet', async () => {
    const early = await makeCertificate({
      subject: [{ CN: ['e'] }],
      extensions: authority(),
      validFromMs: testNowMs + 1000,
    });
    assertRefused(outcome([early], [await leaf({ issuer: early })]), /not valid before/);
  });
  test('an extension may be there once', async () => {
    const twice = [usedFor('1.3.6.1.5.5.7.3.1'), usedFor()];
    assertRefused(outcome([root], [await leaf({ extensions: twice })]), /cannot be read/);
  });
  test('presented certificates cannot make the search long', async () => {
    // Four keys under one name, each signed with each: chains multiply, and none leads to the pool.
    const subject = [{ CN: ['loop'] }];
    const keys = await Promise.all([makeKeys(), makeKeys(), makeKeys(), makeKeys()]);
    const selves = await Promise.all(
      keys.map((own) => makeCertificate({ subject, keys: own, extensions: authority() })),
    );
    const mesh = await Promise.all(
      keys.flatMap((own) =>
        selves.map((issuer) => makeCertificate({ subject, keys: own, issuer, extensions: authority() })),
      ),
    );
    const dev = await leaf({ issuer: selves[0]! });
    assertRefused(outcome([root], [dev, ...mesh]), /too many chains/);
    assertRefused(outcome([root], [dev, ...mesh, ...selves]), /more than 20/);
  });
});

describe('the clock and the pool are asked on every request', () => {
  test('a certificate runs out between two requests of one connection', async () => {
    let nowMs = testNowMs;
    const dev = await leaf({ validToMs: testNowMs + hourMs });
    const { authenticate } = authenticator([root], () => nowMs);
    const presented = request(dev);
    assert.equal((authenticate(presented) as User).name, 'dev');
    nowMs = testNowMs + hourMs;
    assert.equal((authenticate(presented) as User).name, 'dev');
    nowMs += 1;
    assert.throws(() => authenticate(presented), /expired at 2026-06-01T01:00:00/);
    nowMs = testNowMs;
    assert.equal((authenticate(presented) as User).name, 'dev');
  });
  test('a removed authority is gone for the next request, whatever the handshake thought', async () => {
    const dev = await leaf();
    const { authenticate, replaceCa } = authenticator([root]);
    const presented = { ...request(dev), tlsAuthorized: true };
    assert.equal((authenticate(presented) as User).name, 'dev');
    replaceCa(stranger.pem);
    assert.throws(() => authenticate(presented), GatewayError);
    replaceCa(`${stranger.pem}\n${root.pem}`);
    assert.equal((authenticate(presented) as User).name, 'dev');
  });
  test('a bundle that cannot be read changes nothing', async () => {
    const dev = await leaf();
    const { authenticate, replaceCa } = authenticator([root]);
    assert.throws(() => replaceCa('nothing'), /ca\.crt: there is no PEM certificate/);
    assert.equal((authenticate(request(dev)) as User).name, 'dev');
  });
  test('a resumed session, which has lost the intermediates, is judged with those it once showed', async () => {
    const dev = await leaf({ issuer: middle });
    const { authenticate, replaceCa } = authenticator([root]);
    assert.throws(() => authenticate(request(dev)), GatewayError);
    assert.equal((authenticate(request(dev, middle)) as User).name, 'dev');
    assert.equal((authenticate(request(dev)) as User).name, 'dev');
    const other = await leaf({ subject: [{ CN: ['other'] }], issuer: middle });
    assert.throws(() => authenticate(request(other)), GatewayError);
    replaceCa(stranger.pem);
    assert.throws(() => authenticate(request(dev)), GatewayError);
  });
  test('intermediates that led nowhere are not remembered', async () => {
    const dev = await leaf({ issuer: middle });
    const { authenticate, replaceCa } = authenticator([stranger]);
    assert.throws(() => authenticate(request(dev, middle)), GatewayError);
    replaceCa(root.pem);
    assert.throws(() => authenticate(request(dev)), GatewayError);
  });
});

describe('what cannot be read', () => {
  test('bytes that are no certificate are refused', async () => {
    const { authenticate } = authenticator([root]);
    const { der } = await leaf();
    for (const bytes of [
      new Uint8Array(),
      Buffer.from('certificate'),
      der.subarray(0, -1),
      Buffer.concat([der, der]),
    ]) {
      assert.throws(
        () => authenticate({ rawHeaders: [], peerCertificates: [bytes], tlsAuthorized: true }),
        (error) => error instanceof GatewayError && error.code === 'UNAUTHENTICATED',
      );
    }
  });
  test('bundles are refused with file and line', () => {
    const read = (caPem: string) => () => makeClientCertificateAuthenticator({ caPem, caFile: 'ca.crt' });
    const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    assert.throws(read(''), /ca\.crt: there is no PEM certificate/);
    assert.throws(read(`# ours\n${root.pem}\n${broken}`), new RegExp(`ca\\.crt:${root.pem.split('\n').length + 2}: `));
    assert.throws(read(root.pem.slice(0, -10)), /damaged or cut off/);
    assert.doesNotThrow(read(`ours:\r\n${root.pem.replaceAll('\n', '\r\n')}\n-----BEGIN PUBLIC KEY-----\nx\n`));
  });
});
