import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { User } from '../../model/user.ts';
import { makeAuthenticator } from '../callers/authenticate.ts';
import { testReviews } from './review.fixture.ts';
import type { ReviewAnswer } from './review.fixture.ts';
import { makeTokenReviewAuthenticator } from './token-review.ts';

const alice = { authenticated: true, user: { username: 'alice', uid: '7', groups: ['dev', 'system:authenticated'] } };
const unreachable = new GatewayError('HUB_UNAVAILABLE', 'the hub cannot be reached');

interface Setting {
  readonly answer?: (spec: Record<string, unknown>, count: number) => ReviewAnswer | Promise<ReviewAnswer>;
  readonly audiences?: readonly string[];
  readonly ttlMs?: number;
}

function setting({ answer = () => ({ status: alice }), audiences = [], ttlMs = 10_000 }: Setting = {}) {
  const clock = { ms: 0 };
  const { review, specs } = testReviews(answer);
  const made = makeTokenReviewAuthenticator({ review, audiences, ttlMs, now: () => clock.ms });
  const ask = (token = 'secret-token', ...headers: string[]) =>
    made.authenticate({
      rawHeaders: ['Authorization', `Bearer ${token}`, ...headers],
      peerCertificates: [],
      tlsAuthorized: false,
    });
  return { ...made, ask, specs, clock };
}

async function codeOf(asking: () => unknown): Promise<string> {
  try {
    await asking();
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return error.code;
  }
  return 'accepted';
}
const statusCode = (status: object, audiences: readonly string[] = []) =>
  codeOf(() => setting({ answer: () => ({ status }), audiences }).ask());

describe('the hub’s word', () => {
  test('makes the user, with all its parts, for the hub to vouch for', async () => {
    const extra = { 'authentication.kubernetes.io/credential-id': ['JTI=1'], Scopes: ['a'], scopes: ['b'] };
    const { ask, specs } = setting({ answer: () => ({ status: { ...alice, user: { ...alice.user, extra } } }) });
    assert.deepEqual(
      { ...(await ask()) },
      {
        name: 'alice',
        uid: '7',
        groups: ['dev', 'system:authenticated'],
        extra: [
          ['authentication.kubernetes.io/credential-id', ['JTI=1']],
          ['scopes', ['a', 'b']],
        ],
        origin: 'hub',
      },
    );
    assert.deepEqual(specs, [{ token: 'secret-token' }]);
  });

  test('is a yes only when it says so, whatever else is filled in (CVE-2023-48312) (ATT-01)', async () => {
    for (const authenticated of [false, undefined, 'true', 1, null])
      assert.equal(await statusCode({ ...alice, authenticated }), 'UNAUTHENTICATED', String(authenticated));
    assert.equal(await statusCode({ ...alice, authenticated: false, error: 'expired' }), 'UNAUTHENTICATED');
  });

  test('for nobody, or for a name that would change on its way, is refused (ATT-01)', async () => {
    for (const username of ['', ' admin', 'a\nb'])
      assert.equal(await statusCode({ authenticated: true, user: { username } }), 'IDENTITY_REFUSED', username);
    assert.equal(await statusCode({ authenticated: true, user: {} }), 'IDENTITY_REFUSED');
  });

  test('that cannot be read is the hub’s fault, not the caller’s', async () => {
    for (const user of [undefined, null, 'alice', { username: 5 }, { username: 'a', groups: 'dev' }])
      assert.equal(await statusCode({ authenticated: true, user }), 'HUB_UNAVAILABLE', JSON.stringify(user));
    for (const extra of ['x', { k: 'v' }, { k: [1] }])
      assert.equal(await statusCode({ authenticated: true, user: { username: 'a', extra } }), 'HUB_UNAVAILABLE');
  });

  test('that is not to be had is 503, never 401, also beside other authenticators that know nobody', async () => {
    for (const answer of [unreachable, { code: 500 }, { code: 403 }, { code: 401 }] as const) {
      const { authenticate } = setting({ answer: () => answer });
      const all = makeAuthenticator([
        () => {
          throw new GatewayError('UNAUTHENTICATED', 'the bearer token is not known');
        },
        authenticate,
      ]);
      const request = { rawHeaders: ['Authorization', 'Bearer x'], peerCertificates: [], tlsAuthorized: false };
      assert.equal(await codeOf(() => all(request)), 'HUB_UNAVAILABLE');
    }
  });

  test('never shows the hub’s reason or the token to the caller', async () => {
    const { ask } = setting({ answer: () => ({ status: { authenticated: false, error: 'secret-token is bad' } }) });
    const error = await Promise.resolve(ask()).then(
      () => undefined,
      (thrown: unknown) => thrown as GatewayError,
    );
    assert.equal(error?.message, 'the hub does not accept the bearer token');
  });
});

describe('audiences', () => {
  test('are asked for, and one of them must be confirmed', async () => {
    const { ask, specs } = setting({
      answer: () => ({ status: { ...alice, audiences: ['other', 'portcullis'] } }),
      audiences: ['x', 'portcullis'],
    });
    assert.equal((await ask())?.name, 'alice');
    assert.deepEqual(specs[0]?.['audiences'], ['x', 'portcullis']);
  });

  test('of something else, of nothing, or from a hub that does not know of audiences are no', async () => {
    for (const audiences of [['other'], [], undefined])
      assert.equal(await statusCode({ ...alice, audiences }, ['portcullis']), 'UNAUTHENTICATED', String(audiences));
    assert.equal(await statusCode({ ...alice, audiences: 'portcullis' }, ['portcullis']), 'HUB_UNAVAILABLE');
  });
});

describe('what is remembered', () => {
  test('a yes for its time: one review, answered at once and with the same user', async () => {
    const { ask, specs, clock } = setting();
    const first = await ask();
    clock.ms = 9_999;
    assert.equal(ask(), first);
    assert.equal(specs.length, 1);
    clock.ms = 10_000;
    assert.equal(await ask(), first, 'an identity that stayed keeps its user object');
    assert.equal(specs.length, 2);
  });

  test('a no without an error for its time, as at kube-apiserver; a no with an error not at all', async () => {
    const plain = setting({ answer: () => ({ status: { authenticated: false } }) });
    assert.equal(await codeOf(() => plain.ask()), 'UNAUTHENTICATED');
    assert.equal(await codeOf(() => plain.ask()), 'UNAUTHENTICATED');
    assert.equal(plain.specs.length, 1);
    const withError = setting({ answer: () => ({ status: { authenticated: false, error: 'look-up failed' } }) });
    assert.equal(await codeOf(() => withError.ask()), 'UNAUTHENTICATED');
    assert.equal(await codeOf(() => withError.ask()), 'UNAUTHENTICATED');
    assert.equal(withError.specs.length, 2);
  });

  test('a known token works on while the hub is down, until its time is over, and then again when it is back', async () => {
    let down = false;
    const { ask, clock } = setting({ answer: () => (down ? unreachable : { status: alice }) });
    await ask();
    down = true;
    clock.ms = 9_999;
    assert.equal(((await ask()) as User).name, 'alice');
    assert.equal(await codeOf(() => ask('another')), 'HUB_UNAVAILABLE');
    clock.ms = 10_000;
    assert.equal(await codeOf(() => ask()), 'HUB_UNAVAILABLE');
    down = false;
    assert.equal(((await ask()) as User).name, 'alice');
  });

  test('a revoked token is refused when its time is over, and another identity replaces the old one', async () => {
    let status: object = alice;
    const { ask, clock } = setting({ answer: () => ({ status }) });
    await ask();
    status = { authenticated: true, user: { username: 'alice', groups: ['ops'] } };
    clock.ms = 10_000;
    assert.deepEqual(((await ask()) as User).groups, ['ops']);
    status = { authenticated: false, error: 'revoked' };
    clock.ms = 20_000;
    assert.equal(await codeOf(() => ask()), 'UNAUTHENTICATED');
  });

  test('with a time of 0 nothing is', async () => {
    const { ask, specs } = setting({ ttlMs: 0 });
    await ask();
    await ask();
    assert.equal(specs.length, 2);
  });

  test('a connection that changes its token is who the new one says', async () => {
    const { authenticate } = setting({
      answer: ({ token }) => ({ status: { authenticated: true, user: { username: `user-${String(token)}` } } }),
    });
    const connection = {};
    const asked = ['a', 'a', 'b', 'a', 'b', 'b'];
    for (const token of asked) {
      const rawHeaders = ['Authorization', `Bearer ${token}`];
      const user = await authenticate({ rawHeaders, peerCertificates: [], tlsAuthorized: false, connection });
      assert.equal(user?.name, `user-${token}`);
    }
  });

  test('requests with one token at the same time share a review; other tokens have their own', async () => {
    const held = Promise.withResolvers<ReviewAnswer>();
    const { ask, specs } = setting({ answer: () => held.promise });
    const asking = [ask('a'), ask('a'), ask('b'), ask('a')];
    held.resolve({ status: alice });
    await Promise.all(asking);
    assert.deepEqual(
      specs.map(({ token }) => token),
      ['a', 'b'],
    );
  });
});

describe('where the token comes from', () => {
  const socket = (token: string) => [
    ...['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Protocol'],
    `v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`,
  ];
  const answer = ({ token }: Record<string, unknown>) =>
    token === 'good' ? { status: alice } : { status: { authenticated: false, error: 'no' } };

  test('no token is no opinion', () => {
    const { authenticate, specs } = setting();
    assert.equal(authenticate({ rawHeaders: [], peerCertificates: [], tlsAuthorized: false }), undefined);
    assert.equal(specs.length, 0);
  });

  test('a subprotocol will do, and makes up for a bad header', async () => {
    const { authenticate, ask } = setting({ answer });
    const user = await authenticate({ rawHeaders: socket('good'), peerCertificates: [], tlsAuthorized: false });
    assert.equal(user?.name, 'alice');
    assert.equal((await ask('bad', ...socket('good')))?.name, 'alice');
    assert.equal(await codeOf(() => ask('bad', ...socket('worse'))), 'UNAUTHENTICATED');
    assert.equal((await ask('good', ...socket('bad')))?.name, 'alice');
  });

  test('bytes that are no text are refused before the hub is asked', async () => {
    const { ask, specs } = setting();
    assert.equal(await codeOf(() => ask('\u00ff\u00fe')), 'UNAUTHENTICATED');
    assert.equal(specs.length, 0);
  });

  test('a token beyond ASCII reaches the hub as the text it is', async () => {
    const { ask, specs } = setting();
    await ask(Buffer.from('schlüssel').toString('latin1'));
    assert.equal(specs[0]?.['token'], 'schlüssel');
  });
});

test('tokens the hub refuses, however many, push no good one out of the memory, and are remembered a while themselves (ATT-46)', async () => {
  const { ask, specs } = setting({
    answer: ({ token }) => ({ status: token === 'secret-token' ? alice : { authenticated: false } }),
  });
  const user = await ask();
  for (let i = 0; i < 40_000; i++) assert.equal(await codeOf(() => ask(`bad-${i}`)), 'UNAUTHENTICATED');
  assert.equal(specs.length, 40_001);
  assert.equal(await ask(), user);
  assert.equal(await codeOf(() => ask('bad-39999')), 'UNAUTHENTICATED');
  assert.equal(specs.length, 40_001);
});
