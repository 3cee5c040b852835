import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
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
});

test('groups that a cluster may have bound to cluster-admin by itself stay on the hub like system:masters (ATT-45)', () => {
  const equals = [
    'kubeadm:cluster-admins',
    'system:cluster-admins',
    'system:admin',
    'system:monitoring',
    'system:any:x',
  ];
  assert.deepEqual(forwarded('kate', ['ops', ...equals, 'system:authenticated']), [
    'kate',
    'ops',
    'system:authenticated',
  ]);
  assert.deepEqual(forwarded('kate', equals, { forwardSystemMasters: true }), ['kate']);
  const alike = ['systems:admin', 'System:masters', 'kubeadm', 'kubeadmin:x', 'my-system:masters', 'system'];
  assert.deepEqual(forwarded(alike[0]!, alike), [alike[0], ...alike]);
});

test('a user of the hub with a reserved name is refused and told how it is let through (ATT-45)', () => {
  for (const name of ['system:admin', 'system:cluster-admin', 'kubeadm:cluster-admins', 'system:nodeish']) {
    refuses(name);
    refuses(name, ['system:masters'], { forwardSystemMasters: true });
    assert.throws(
      () => forwarded(name),
      /"(?:system|kubeadm):[^"]+" is a name that Kubernetes reserves.* --forward-reserved/,
    );
  }
});

test('reserved names that the operator lists go out, users and groups, those alone (ATT-45)', () => {
  const forwardReserved = ['system:admin', 'kubeadm:cluster-admins'];
  assert.deepEqual(forwarded('system:admin', ['kubeadm:cluster-admins', 'system:masters'], { forwardReserved }), [
    'system:admin',
    'kubeadm:cluster-admins',
  ]);
  refuses('system:admins', [], { forwardReserved });
  // Names that are always refused cannot be listed either.
  refuses('system:node:n1', [], { forwardReserved: ['system:node:n1'] });
  refuses('kate', ['system:nodes'], { forwardReserved: ['system:nodes'] });
});

test('who was nobody on the hub stays nobody: leaving the group out would make them authenticated (ATT-45)', () => {
  assert.deepEqual(forwarded('system:anonymous', ['system:unauthenticated']), [
    'system:anonymous',
    'system:unauthenticated',
  ]);
  assert.deepEqual(forwarded('x', ['system:unauthenticated']), ['x', 'system:unauthenticated']);
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
    fc.constantFrom(
      'alice',
      'system:serviceaccount:a:b',
      'cluster:hub:system:serviceaccount:a:b',
      'system:kube-x',
      'system:admin',
    ),
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
      assert.doesNotMatch(arrived, /^(?:system|kubeadm):/);
      if (one !== other) assert.notEqual(arrived, arrive(other));
    }),
  );
});
