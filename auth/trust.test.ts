import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../cache/errors.ts';
import { makeUser } from '../cache/user.ts';
import { forwardedIdentity } from './trust.ts';
import type { TrustOptions } from './trust.ts';

const normal: TrustOptions = { forwardSystemMasters: false, serviceAccountIdentity: 'prefixed' };
const ofHub = (name: string, ...groups: string[]) => makeUser({ name, groups, origin: 'hub' });
const forwarded = (name: string, groups: string[] = [], options: Partial<TrustOptions> = {}) => {
  const { name: arrived, groups: arrivedGroups } = forwardedIdentity(ofHub(name, ...groups), { ...normal, ...options });
  return [arrived, ...arrivedGroups];
};
const refuses = (name: string, groups: string[] = [], options: Partial<TrustOptions> = {}): void => {
  assert.throws(
    () => forwarded(name, groups, options),
    (error) => error instanceof GatewayError && error.code === 'IDENTITY_REFUSED',
    `${name} ${groups.join(' ')}`,
  );
};

test('an ordinary user of the hub goes as it is, and is the same object', () => {
  const user = makeUser({ name: 'alice', uid: '1', groups: ['dev'], extra: [['a', ['b']]], origin: 'hub' });
  assert.equal(forwardedIdentity(user, normal), user);
});

test('what the operator wrote down goes as written, reserved names included', () => {
  for (const name of ['system:node:n1', 'system:kube-scheduler', 'system:serviceaccount:a:b', 'cluster:hub:x']) {
    const user = makeUser({ name, groups: ['system:masters', 'system:nodes'] });
    assert.equal(forwardedIdentity(user, normal), user);
  }
});

test('system:masters of the hub is left out unless the operator says otherwise; everything else stays', () => {
  const user = makeUser({
    name: 'kate',
    uid: 'u',
    groups: ['system:masters', 'ops'],
    extra: [['k', ['v']]],
    origin: 'hub',
  });
  const arrived = forwardedIdentity(user, normal);
  assert.deepEqual(arrived, { ...user, groups: ['ops'] });
  assert.equal(forwardedIdentity(user, { ...normal, forwardSystemMasters: true }), user);
});

test('nodes and control plane components of the hub are refused, by name and by group, whatever the options', () => {
  for (const serviceAccountIdentity of ['prefixed', 'as-is', 'refuse'] as const) {
    const options = { serviceAccountIdentity, forwardSystemMasters: true };
    refuses('system:node:n1', [], options);
    refuses('system:kube-controller-manager', [], options);
    refuses('alice', ['system:nodes'], options);
    refuses('alice', ['dev', 'system:kube-apiserver'], options);
    refuses('system:bootstrap:07401b', [], options);
    refuses('alice', ['system:bootstrappers'], options);
    refuses('alice', ['system:bootstrappers:kubeadm:default-node-token'], options);
  }
  const alike = ['system:nodeish', 'system:nodes-of-mine', 'system:bootstrappers-of-mine'] as const;
  assert.deepEqual(forwarded(alike[0], alike.slice(1)), alike);
});

test('a ServiceAccount of the hub is somebody else in a member: its name and its groups are prefixed', () => {
  assert.deepEqual(
    forwarded('system:serviceaccount:a:b', [
      'system:serviceaccounts',
      'system:serviceaccounts:a',
      'system:authenticated',
    ]),
    [
      'cluster:hub:system:serviceaccount:a:b',
      'cluster:hub:system:serviceaccounts',
      'cluster:hub:system:serviceaccounts:a',
      'system:authenticated',
    ],
  );
  assert.deepEqual(forwarded('system:serviceaccount:a:b', [], { serviceAccountIdentity: 'as-is' }), [
    'system:serviceaccount:a:b',
  ]);
  refuses('system:serviceaccount:a:b', [], { serviceAccountIdentity: 'refuse' });
});

test('a name or group that only looks like a ServiceAccount is treated as one', () => {
  assert.deepEqual(forwarded('system:serviceaccount:a:b:c'), ['cluster:hub:system:serviceaccount:a:b:c']);
  assert.deepEqual(forwarded('eve', ['system:serviceaccounts:kube-system']), [
    'eve',
    'cluster:hub:system:serviceaccounts:kube-system',
  ]);
  refuses('eve', ['system:serviceaccounts'], { serviceAccountIdentity: 'refuse' });
});

test('nobody else can take the name of a prefixed ServiceAccount', () => {
  refuses('cluster:hub:system:serviceaccount:a:b');
  refuses('eve', ['cluster:hub:system:serviceaccounts:a']);
});

test('different hub users never become one, and none comes out with a reserved name', () => {
  const name = fc.oneof(
    fc.constantFrom('alice', 'system:serviceaccount:a:b', 'cluster:hub:system:serviceaccount:a:b', 'system:kube-x'),
    fc.string({ minLength: 1 }).filter((text) => text === text.trim() && !/[^\x20-\x7e]/.test(text) && text !== ''),
  );
  const arrive = (one: string): string | undefined => {
    try {
      return forwardedIdentity(ofHub(one), normal).name;
    } catch {
      return undefined;
    }
  };
  fc.assert(
    fc.property(name, name, (one, other) => {
      const arrived = arrive(one);
      if (arrived === undefined) return;
      assert.doesNotMatch(arrived, /^system:(node:|kube-|serviceaccount:)/);
      if (one !== other) assert.notEqual(arrived, arrive(other));
    }),
  );
});
