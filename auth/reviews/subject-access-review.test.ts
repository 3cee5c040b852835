import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { Attributes } from '../rules/attributes.ts';
import type { Decision } from '../rules/authorize.ts';
import { impersonationChecks } from '../rules/impersonation.ts';
import { makeHubAuthorizer } from './subject-access-review.ts';
import type { HubAuthorizerOptions } from './subject-access-review.ts';
import { testReviews } from './review.fixture.ts';
import type { ReviewAnswer } from './review.fixture.ts';

const alice = makeUser({ name: 'alice', uid: '7', groups: ['dev'], extra: [['k', ['v']]], origin: 'hub' });
const m1 = { name: 'm1', uid: 'uid-1', labels: {} };
const outer = { group: 'cluster.core.oam.dev', version: 'v1alpha1', resource: 'clustergateways', httpVerb: 'get' };
const podsOfM1: Attributes = {
  user: alice,
  verb: 'list',
  cluster: m1,
  outer,
  resourceRequest: true,
  apiGroup: '',
  apiVersion: 'v1',
  resource: 'pods',
  subresource: 'log',
  namespace: 'team-a',
  name: 'web',
  path: '',
};
const pathOfM1: Attributes = { ...podsOfM1, verb: 'get', resourceRequest: false, resource: '', path: '/version' };
const yes: ReviewAnswer = { status: { allowed: true, reason: 'RBAC: allowed by role "x"' } };
const no: ReviewAnswer = { status: { allowed: false } };
const unreachable = new GatewayError('HUB_UNAVAILABLE', 'the hub cannot be reached');

type Answer = (spec: Record<string, unknown>, count: number) => ReviewAnswer | Promise<ReviewAnswer>;
function hub(answer: Answer = () => yes, change: Partial<HubAuthorizerOptions> = {}) {
  const clock = { ms: 0 };
  const { review, specs } = testReviews(answer);
  const { authorize } = makeHubAuthorizer({
    review,
    authorizeVerb: 'real',
    subpathAuthorization: false,
    authorizedTtlMs: 10_000,
    unauthorizedTtlMs: 10_000,
    now: () => clock.ms,
    ...change,
  });
  const ask = (parts: Partial<Attributes> = {}) => authorize({ ...podsOfM1, ...parts });
  return { authorize, ask, specs, clock };
}

async function codeOf(asking: () => Decision | Promise<Decision>): Promise<string> {
  try {
    return (await asking()).allowed ? 'allowed' : 'denied';
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.code;
  }
}

describe('what the hub is asked', () => {
  test('the resource whose proxy was called, named like the cluster, with the verb of what happens there', async () => {
    const { ask, specs } = hub();
    const decision = await ask();
    assert.deepEqual(specs, [
      {
        user: 'alice',
        uid: '7',
        groups: ['dev'],
        extra: { k: ['v'] },
        resourceAttributes: {
          verb: 'list',
          group: 'cluster.core.oam.dev',
          version: 'v1alpha1',
          resource: 'clustergateways',
          subresource: 'proxy',
          name: 'm1',
        },
      },
    ]);
    const { untilMs: _until, ...said } = decision;
    assert.deepEqual(said, { allowed: true, reason: 'the hub allows it: RBAC: allowed by role "x"' });
  });

  const verbs = async (authorizeVerb: 'real' | 'http', parts: Partial<Attributes>): Promise<unknown> => {
    const { ask, specs } = hub(() => yes, { authorizeVerb });
    await ask(parts);
    return (specs[0]?.['resourceAttributes'] as { verb: string } | undefined)?.verb;
  };

  test('by real verb an upgrade is create and a watch is watch; by HTTP method both are get', async () => {
    for (const verb of ['watch', 'create', 'deletecollection', 'patch'])
      assert.equal(await verbs('real', { verb }), verb);
    assert.equal(await verbs('http', { verb: 'watch' }), 'get');
    assert.equal(await verbs('http', { verb: 'create' }), 'get');
    assert.equal(await verbs('http', { verb: 'deletecollection', outer: { ...outer, httpVerb: 'delete' } }), 'delete');
  });

  test('paths without a resource as the verb of the proxy they pass through', async () => {
    for (const [verb, asked] of [
      ['get', 'get'],
      ['head', 'get'],
      ['post', 'create'],
      ['put', 'update'],
      ['patch', 'patch'],
      ['delete', 'delete'],
      ['create', 'create'],
    ] as const)
      assert.equal(await verbs('real', { ...pathOfM1, verb }), asked);
  });

  test('a method that stands for no verb is refused without asking', async () => {
    for (const parts of [{ verb: '' }, { ...pathOfM1, verb: 'options' }, { ...pathOfM1, verb: 'constructor' }]) {
      const { ask, specs } = hub();
      assert.equal(await codeOf(() => ask(parts)), 'denied');
      assert.equal(specs.length, 0);
    }
    const { ask } = hub(() => yes, { authorizeVerb: 'http' });
    assert.equal(await codeOf(() => ask({ outer: { ...outer, httpVerb: '' } })), 'denied');
  });

  test('the gateway’s own objects and paths as they are', async () => {
    const { ask, specs } = hub();
    const { outer: _outer, ...own } = { ...podsOfM1, cluster: undefined };
    await ask({
      ...own,
      outer: undefined as never,
      apiGroup: 'gateway.portcullis.io',
      resource: 'clusters',
      subresource: '',
      namespace: '',
      name: 'm1',
      apiVersion: 'v1alpha1',
    });
    assert.deepEqual(specs[0]?.['resourceAttributes'], {
      verb: 'list',
      group: 'gateway.portcullis.io',
      version: 'v1alpha1',
      resource: 'clusters',
      subresource: '',
      namespace: '',
      name: 'm1',
    });
    await ask({ cluster: undefined, outer: undefined as never, resourceRequest: false, verb: 'get', path: '/metrics' });
    assert.deepEqual(specs[1]?.['nonResourceAttributes'], { path: '/metrics', verb: 'get' });
  });

  test('impersonation as kube-apiserver asks: every part of the identity, of nobody’s cluster', async () => {
    const { authorize, specs } = hub();
    const requested = { name: 'bob', uid: 'u', groups: ['ops'], extra: [['scopes', ['x']]] as const };
    for (const question of impersonationChecks(requested, alice, m1)) await authorize(question);
    assert.deepEqual(
      specs.map(({ resourceAttributes }) => {
        const { verb, group, resource, subresource, name } = resourceAttributes as Record<string, string>;
        return [verb, group, resource, subresource, name].join(' ');
      }),
      [
        'impersonate  users  bob',
        'impersonate  groups  ops',
        'impersonate authentication.k8s.io userextras scopes x',
        'impersonate authentication.k8s.io uids  u',
      ],
    );
  });

  test('nothing about a cluster of which nobody knows how it was asked for', async () => {
    const { ask, specs } = hub();
    assert.equal(await codeOf(() => ask({ outer: undefined as never })), 'denied');
    assert.equal(specs.length, 0);
  });

  test('nothing of system:masters, who may do everything as at kube-apiserver', async () => {
    const { ask, specs } = hub(() => no);
    const user = makeUser({ name: 'kate', groups: ['system:masters'] });
    assert.equal(await codeOf(() => ask({ user })), 'allowed');
    assert.equal(specs.length, 0);
  });
});

describe('the hub’s answer', () => {
  test('is a yes only when it is plainly one', async () => {
    for (const status of [
      {},
      { allowed: false },
      { allowed: 'true' },
      { allowed: 1 },
      { allowed: true, denied: true },
      { allowed: true, denied: 'x' },
      { denied: true },
      { allowed: null, evaluationError: 'webhook failed' },
    ])
      assert.equal(await codeOf(() => hub(() => ({ status })).ask()), 'denied', JSON.stringify(status));
    assert.equal(await codeOf(() => hub(() => ({ status: { allowed: true, denied: false } })).ask()), 'allowed');
  });

  test('of no says what to grant, and a denial is final', async () => {
    const plain = await hub(() => ({ status: { allowed: false, reason: 'because' } })).ask();
    assert.equal(
      plain.reason,
      'the hub does not allow verb "list" on resource "clustergateways/proxy" in API group "cluster.core.oam.dev" named "m1" (because)',
    );
    assert.equal(plain.final, undefined);
    assert.equal((await hub(() => ({ status: { denied: true } })).ask()).final, true);
  });

  test('that is not to be had is 503, never a yes and never remembered', async () => {
    for (const answer of [unreachable, { code: 500 }, { code: 403 }, { code: 201, body: '{}' }] as const) {
      let down = true;
      const { ask } = hub(() => (down ? answer : yes));
      assert.equal(await codeOf(() => ask()), 'HUB_UNAVAILABLE');
      down = false;
      assert.equal(await codeOf(() => ask()), 'allowed');
    }
  });
});

describe('what is remembered', () => {
  test('yes and no, each for its own time, and then at once', async () => {
    const { ask, specs, clock } = hub(({ user }) => (user === 'alice' ? yes : no), {
      authorizedTtlMs: 1000,
      unauthorizedTtlMs: 100,
    });
    const bob = makeUser({ name: 'bob' });
    await ask();
    await ask({ user: bob });
    clock.ms = 99;
    assert.ok(!(ask() instanceof Promise));
    assert.equal((ask({ user: bob }) as Decision).allowed, false);
    clock.ms = 100;
    await ask({ user: bob });
    assert.equal(specs.length, 3);
    clock.ms = 999;
    await ask();
    assert.equal(specs.length, 3);
    clock.ms = 1000;
    await ask();
    assert.equal(specs.length, 4);
  });

  test('nothing is reused for another identity, cluster, registration, verb or API', async () => {
    const variants: Partial<Attributes>[] = [
      {},
      { user: makeUser({ ...alice, name: 'alicf' }) },
      { user: makeUser({ ...alice, uid: '8' }) },
      { user: makeUser({ ...alice, groups: ['dev', 'ops'] }) },
      { user: makeUser({ ...alice, groups: [] }) },
      { user: makeUser({ ...alice, extra: [['k', ['w']]] }) },
      { user: makeUser({ ...alice, extra: [['k', ['v', 'v']]] }) },
      { user: makeUser({ ...alice, extra: [] }) },
      { cluster: { ...m1, name: 'm2' } },
      { cluster: { ...m1, uid: 'uid-2' } },
      { verb: 'get' },
      { verb: 'watch' },
      { outer: { ...outer, group: 'gateway.portcullis.io' } },
      { outer: { ...outer, resource: 'clusters' } },
      { outer: { ...outer, version: 'v1' } },
    ];
    const { ask, specs } = hub();
    for (const variant of variants) await ask(variant);
    assert.equal(specs.length, variants.length);
    // An equal identity is the same one, whichever object holds it.
    for (const variant of variants) await ask({ ...variant, user: makeUser({ ...alice, ...variant.user }) });
    assert.equal(specs.length, variants.length);
  });

  test('one answer serves all objects of a cluster unless sub-paths are authorized', async () => {
    const { ask, specs } = hub();
    for (const parts of [{}, { namespace: 'x' }, { name: 'y' }, { resource: 'secrets' }]) await ask(parts);
    assert.equal(specs.length, 1);
  });

  test('questions that are asked at the same time are one call', async () => {
    const held = Promise.withResolvers<ReviewAnswer>();
    const { ask, specs } = hub(() => held.promise);
    const asking = [ask(), ask(), ask({ verb: 'get' })];
    held.resolve(yes);
    assert.deepEqual(
      (await Promise.all(asking)).map(({ allowed }) => allowed),
      [true, true, true],
    );
    assert.equal(specs.length, 2);
  });

  test('not what a caller made too long', async () => {
    const { ask, specs } = hub();
    const cluster = { ...m1, name: 'x'.repeat(10_000) };
    await ask({ cluster });
    await ask({ cluster });
    assert.equal(specs.length, 2);
  });
});

describe('sub-path authorization', () => {
  const sub = { subpathAuthorization: true };
  const attributesOf = (spec: Record<string, unknown> | undefined): unknown =>
    spec?.['resourceAttributes'] ?? spec?.['nonResourceAttributes'];

  test('asks also for the request itself, in a group that stands for its group in this cluster', async () => {
    const { ask, specs } = hub(() => yes, { ...sub, authorizeVerb: 'http' });
    await ask();
    assert.deepEqual(attributesOf(specs[1]), {
      verb: 'list',
      group: 'core.m1.clusters.gateway.portcullis.io',
      version: 'v1',
      resource: 'pods',
      subresource: 'log',
      namespace: 'team-a',
      name: 'web',
    });
    await ask({ apiGroup: 'apps' });
    assert.equal((attributesOf(specs[2]) as { group: string }).group, 'apps.m1.clusters.gateway.portcullis.io');
    await ask(pathOfM1);
    assert.deepEqual(attributesOf(specs.at(-1)), { path: '/clusters/m1/proxy/version', verb: 'get' });
  });

  test('both must be allowed', async () => {
    const inner: Answer = (spec) => ((attributesOf(spec) as { name: string }).name === 'web' ? yes : no);
    const around: Answer = (spec) => ((attributesOf(spec) as { name: string }).name === 'm1' ? yes : no);
    for (const answer of [inner, around]) {
      const { ask, specs } = hub(answer, sub);
      assert.equal(await codeOf(() => ask()), 'denied');
      assert.equal(await codeOf(() => ask()), 'denied');
      assert.ok(specs.length <= 2, 'remembered');
    }
    const { ask } = hub(() => yes, sub);
    assert.equal(await codeOf(() => ask()), 'allowed');
    assert.ok(!(ask() instanceof Promise));
  });

  test('a decision about one object, namespace, verb or resource is none about another', async () => {
    const { ask, specs } = hub(
      (spec) => ((attributesOf(spec) as { namespace?: string }).namespace === 'kube-system' ? no : yes),
      sub,
    );
    assert.equal(await codeOf(() => ask()), 'allowed');
    for (const parts of [
      { name: 'b' },
      { subresource: '' },
      { resource: 'secrets' },
      { verb: 'watch' },
      { apiGroup: 'apps' },
      { cluster: { ...m1, uid: 'x' } },
    ]) {
      const before = specs.length;
      await ask(parts);
      assert.ok(specs.length > before, JSON.stringify(parts));
    }
    assert.equal(await codeOf(() => ask({ namespace: 'kube-system' })), 'denied');
  });

  test('parts that would be one text when joined are told apart', async () => {
    const { ask, specs } = hub(() => yes, sub);
    await ask({ namespace: 'a', name: 'b:1:c' });
    await ask({ namespace: 'a:1:b', name: 'c' });
    await ask({ namespace: 'a', name: 'b:c' });
    await ask({ namespace: 'a:b', name: 'c' });
    assert.equal(specs.length, 5);
  });

  test('a cluster with a dot in its name is refused, since its groups could be another’s', async () => {
    const { ask, specs } = hub(() => yes, sub);
    const decision = await ask({ cluster: { ...m1, name: 'eu.m1' } });
    assert.match(decision.reason, /dot/);
    assert.deepEqual([decision.allowed, decision.final, specs.length], [false, true, 0]);
  });
});
