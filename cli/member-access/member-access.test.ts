import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetesExtraKeys } from '../../lib/rights/impersonation-rules.ts';
import { isReadable, memberAccessObjects } from './member-access.ts';
import type { PolicyRule } from '../../lib/rights/policy-rule.ts';
import type { MemberAccess } from './member-access.ts';

const classic: MemberAccess = {
  account: { namespace: 'portcullis', name: 'gateway' },
  constrained: false,
  readable: undefined,
  usernameOnly: false,
  extra: ['b', 'a.io/k', 'b'],
};
const constrained = { ...classic, constrained: true };
const read = ['get', 'list', 'watch'];
const all = [...read, 'create', 'delete', 'deletecollection', 'patch', 'update'];

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly PolicyRule[];
  readonly subjects?: readonly object[];
}
const objectsOf = (access: MemberAccess) => memberAccessObjects(access) as readonly Role[];
const rulesOf = (access: MemberAccess): readonly PolicyRule[] => objectsOf(access)[0]?.rules ?? [];

test('classic access is impersonation, and the questions of the probe', () => {
  assert.deepEqual(rulesOf(classic), [
    { apiGroups: [''], resources: ['groups', 'serviceaccounts', 'users'], verbs: ['impersonate'] },
    {
      apiGroups: ['authentication.k8s.io'],
      resources: ['uids', 'userextras/a.io/k', 'userextras/b'],
      verbs: ['impersonate'],
    },
  ]);
  const [role, binding, probe, probeBinding] = objectsOf(classic);
  assert.deepEqual(
    [role?.kind, binding?.kind, role?.metadata.name],
    ['ClusterRole', 'ClusterRoleBinding', binding?.metadata.name],
  );
  assert.deepEqual(binding?.subjects, [{ kind: 'ServiceAccount', name: 'gateway', namespace: 'portcullis' }]);
  assert.deepEqual(probe?.rules, [
    {
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
      verbs: ['create'],
    },
    { nonResourceURLs: ['/readyz', '/version'], verbs: ['get'] },
  ]);
  assert.deepEqual(probeBinding?.subjects?.[1], {
    kind: 'User',
    apiGroup: 'rbac.authorization.k8s.io',
    name: 'portcullis:probe',
  });
});

test('username-only access is users and ServiceAccounts by name', () => {
  assert.deepEqual(rulesOf({ ...classic, usernameOnly: true }), [
    { apiGroups: [''], resources: ['serviceaccounts', 'users'], verbs: ['impersonate'] },
  ]);
  assert.deepEqual(rulesOf({ ...constrained, usernameOnly: true, extra: ['*'] })[0], {
    apiGroups: ['authentication.k8s.io'],
    resources: ['users'],
    verbs: ['impersonate:user-info'],
  });
});

test('constrained access names every verb, since RBAC has no patterns for them', () => {
  const rules = rulesOf(constrained);
  assert.deepEqual(rules.slice(0, 2), [
    {
      apiGroups: ['authentication.k8s.io'],
      resources: ['groups', 'uids', 'users', 'userextras/a.io/k', 'userextras/b'],
      verbs: ['impersonate:user-info'],
    },
    { apiGroups: ['authentication.k8s.io'], resources: ['serviceaccounts'], verbs: ['impersonate:serviceaccount'] },
  ]);
  for (const { verbs } of rules) {
    for (const verb of verbs) assert.match(verb, /^impersonate(-on)?:(user-info|serviceaccount)(:[a-z]+)?$/);
  }
  for (const mode of ['user-info', 'serviceaccount'])
    for (const verb of all) assert.ok(rules[2]?.verbs.includes(`impersonate-on:${mode}:${verb}`), verb);
  assert.deepEqual(rules[3]?.nonResourceURLs, ['*']);
});

const served = [
  { group: '', name: 'pods', verbs: all },
  { group: '', name: 'pods/log', verbs: ['get'] },
  { group: '', name: 'pods/status', verbs: ['get', 'patch', 'update'] },
  { group: '', name: 'pods/exec', verbs: ['create', 'get'] },
  { group: '', name: 'pods/attach', verbs: ['create', 'get'] },
  { group: '', name: 'pods/portforward', verbs: ['create', 'get'] },
  { group: '', name: 'pods/proxy', verbs: all },
  { group: '', name: 'services/proxy', verbs: all },
  { group: '', name: 'nodes/proxy', verbs: all },
  { group: '', name: 'pods/eviction', verbs: ['create'] },
  { group: '', name: 'bindings', verbs: ['create'] },
  { group: '', name: '*', verbs: all },
  { group: '*', name: 'things', verbs: all },
  { group: '', name: 'pods/*', verbs: all },
  { group: '', name: '*/log', verbs: all },
  { group: 'apps', name: 'deployments', verbs: all },
  { group: 'apps', name: 'deployments/scale', verbs: ['get', 'patch'] },
  { group: 'apps', name: 'deployments/log', verbs: ['get'] },
  { group: 'apps', name: 'daemonsets', verbs: all },
  { group: 'subresources.kubevirt.io', name: 'virtualmachineinstances/console', verbs: ['get'] },
  { group: 'subresources.kubevirt.io', name: 'virtualmachineinstances/vnc', verbs: ['get'] },
  { group: 'gateway.portcullis.io', name: 'clusters/proxy', verbs: all },
];

test('read-only access names what may be read, and nothing that opens a stream', () => {
  const rules = rulesOf({ ...constrained, readable: served });
  const named = rules
    .filter(({ verbs }) => verbs.some((verb) => verb.startsWith('impersonate-on:') && !verb.endsWith(':create')))
    .flatMap(({ apiGroups = [], resources = [] }) => resources.map((one) => `${apiGroups.join()}/${one}`));
  assert.deepEqual(named, [
    '/pods/log',
    '/pods/status',
    '/pods',
    'apps/deployments/scale',
    'apps/daemonsets',
    'apps/deployments',
  ]);
  for (const { verbs, resources = [], apiGroups = [], nonResourceURLs = [] } of rules) {
    for (const text of [...verbs, ...resources, ...apiGroups]) assert.ok(!text.includes('*'), text);
    for (const resource of resources) assert.doesNotMatch(resource, /exec|attach|portforward|proxy/);
    for (const url of nonResourceURLs) assert.match(url, /^\/(api|apis|healthz|livez|openapi|readyz|version)(\/\*?)?$/);
    const written = verbs.filter((verb) => /:(update|patch|delete|deletecollection|post|put|options)$/.test(verb));
    assert.deepEqual(written, []);
  }
  const created = rules.filter(({ verbs }) => verbs.some((verb) => verb.endsWith(':create')));
  assert.deepEqual(
    created.flatMap(({ resources = [] }) => resources),
    ['selfsubjectreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  );
});

test('only known subresources are readable, whatever an API calls its streams', () => {
  for (const [group, resource] of [
    ['', 'pods/ephemeralcontainers'],
    ['x.io', 'widgets/status'],
    ['', 'pods/resize'],
  ] as const)
    assert.ok(isReadable(group, resource), resource);
  for (const [group, resource] of [
    ['', 'pods/log/x'],
    ['', 'nodes/log'],
    ['x.io', 'pods/log'],
    ['', ''],
    ['', '/status'],
    ['x.io', 'Widgets'],
    ['', '__proto__'],
  ] as const)
    assert.ok(!isReadable(group, resource), resource);
});

test('the keys granted by default are those that Kubernetes gives', () => {
  assert.ok(kubernetesExtraKeys.includes('authentication.kubernetes.io/credential-id'));
  assert.deepEqual(rulesOf({ ...classic, extra: ['*'] })[1]?.resources, ['*']);
});
