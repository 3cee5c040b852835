import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { makeUser } from '../../model/user.ts';
import type { Attributes } from './attributes.ts';
import { ruleMatches } from './rule-match.ts';
import type { Rule } from './rules.ts';

const dev = makeUser({ name: 'dev', groups: ['devs', 'system:authenticated'] });
const m1 = { name: 'm1', uid: 'u1', labels: { env: 'prod', tier: '' } };

function makeRule(parts: Partial<Rule>): Rule {
  return {
    subjects: [{ kind: 'User', name: 'dev' }],
    clusters: [],
    clusterSelector: undefined,
    verbs: ['*'],
    apiGroups: [],
    resources: [],
    resourceNames: [],
    namespaces: [],
    nonResourceURLs: [],
    ...parts,
  };
}

function ask(parts: Partial<Attributes>): Attributes {
  const empty = { apiGroup: '', apiVersion: '', resource: '', subresource: '', namespace: '', name: '', path: '' };
  return { user: dev, verb: 'get', cluster: m1, resourceRequest: true, ...empty, ...parts };
}

// kubernetes:plugin/pkg/auth/authorizer/rbac/rbac_test.go TestRuleMatches, with get and list for its verb1 and verb2:
// "*" stands for known verbs only here.
describe("RBAC's own TestRuleMatches", () => {
  const everyRequest = ['get', 'list'].flatMap((verb) =>
    ['resource1', 'resource2'].flatMap((resource) =>
      ['group1', 'group2'].map((apiGroup) => ({ verb, apiGroup, resource })),
    ),
  );
  const resourceCases: readonly (readonly [string, Partial<Rule>, readonly boolean[]])[] = [
    [
      'star verb, exact match other',
      { verbs: ['*'], apiGroups: ['group1'], resources: ['resource1'] },
      [true, false, false, false, true, false, false, false],
    ],
    [
      'star group, exact match other',
      { verbs: ['get'], apiGroups: ['*'], resources: ['resource1'] },
      [true, true, false, false, false, false, false, false],
    ],
    [
      'star resource, exact match other',
      { verbs: ['get'], apiGroups: ['group1'], resources: ['*'] },
      [true, false, true, false, false, false, false, false],
    ],
    [
      'tuple expansion',
      { verbs: ['get', 'list'], apiGroups: ['group1', 'group2'], resources: ['resource1', 'resource2'] },
      [true, true, true, true, true, true, true, true],
    ],
  ];
  for (const [name, rule, expected] of resourceCases) {
    test(name, () => {
      assert.deepEqual(
        everyRequest.map((request) => ruleMatches(makeRule(rule), ask(request))),
        expected,
      );
    });
  }

  test('subresource expansion', () => {
    const rule = makeRule({ apiGroups: ['*'], resources: ['resource1/subresource1'] });
    const requests = [
      ['resource1', 'subresource1'],
      ['resource1', 'subresource2'],
      ['resource2', 'subresource1'],
    ] as const;
    assert.deepEqual(
      requests.map(([resource, subresource]) => ruleMatches(rule, ask({ resource, subresource }))),
      [true, false, false],
    );
  });

  const paths = ['/foo', '/foo/bar', '/foo/baz', '/foo/bar/one', '/foo/baz/one', '/notfoo', '/notfoo/bar'];
  const urlCases: readonly (readonly [string, Partial<Rule>, readonly string[]])[] = [
    ['star nonresource, exact match other', { verbs: ['get'], nonResourceURLs: ['*'] }, paths],
    [
      'star nonresource subpath',
      { verbs: ['get'], nonResourceURLs: ['/foo/*'] },
      ['/foo/bar', '/foo/baz', '/foo/bar/one', '/foo/baz/one'],
    ],
    ['star verb, exact nonresource', { nonResourceURLs: ['/foo', '/foo/bar/one'] }, ['/foo', '/foo/bar/one']],
    ['prefix without slash', { nonResourceURLs: ['/foo*'] }, paths.slice(0, 5)],
  ];
  for (const [name, rule, expected] of urlCases) {
    test(name, () => {
      const allowed = (path: string) => ruleMatches(makeRule(rule), ask({ resourceRequest: false, path }));
      assert.deepEqual(paths.filter(allowed), expected);
      assert.equal(
        ruleMatches(makeRule({ ...rule, verbs: ['list'] }), ask({ resourceRequest: false, path: '/foo' })),
        false,
      );
    });
  }
});

describe("RBAC's own TestAuthorizer", () => {
  const everything = { apiGroups: ['*'], resources: ['*'] };
  const admins = {
    subjects: [
      { kind: 'User', name: 'admin' },
      { kind: 'Group', name: 'admins' },
    ],
  } as const;
  const user = (name: string, ...groups: string[]) => makeUser({ name, groups });

  test('users and groups, inside and outside the namespace', () => {
    const rule = makeRule({ ...admins, ...everything, namespaces: ['ns1'] });
    const allowed = [user('admin'), user('admin', 'group1'), user('joe', 'admins'), user('joe', 'group1', 'admins')];
    for (const one of allowed) {
      assert.ok(ruleMatches(rule, ask({ user: one, resource: 'pods', namespace: 'ns1' })));
      assert.ok(!ruleMatches(rule, ask({ user: one, resource: 'pods', namespace: 'ns2' })));
      assert.ok(!ruleMatches(rule, ask({ user: one, resource: 'nodes' })));
    }
    assert.ok(!ruleMatches(rule, ask({ user: user('admins', 'admin'), resource: 'pods', namespace: 'ns1' })));
  });

  test('subresource resolution', () => {
    const pods = makeRule({ apiGroups: ['*'], resources: ['pods'] });
    assert.ok(ruleMatches(pods, ask({ resource: 'pods' })));
    assert.ok(!ruleMatches(pods, ask({ resource: 'pods', subresource: 'status' })));
    const scale = makeRule({ apiGroups: ['*'], resources: ['pods/status', '*/scale'] });
    for (const resource of ['pods', 'deployments', 'anything']) {
      assert.ok(ruleMatches(scale, ask({ resource, subresource: 'scale' })));
      assert.ok(!ruleMatches(scale, ask({ resource })));
    }
    assert.ok(ruleMatches(scale, ask({ resource: 'pods', subresource: 'status' })));
    assert.ok(!ruleMatches(makeRule({ apiGroups: ['*'], resources: ['*/'] }), ask({ resource: 'pods' })));
  });

  test('a resource rule says nothing about paths, nor a path rule about resources', () => {
    assert.ok(!ruleMatches(makeRule(everything), ask({ resourceRequest: false, path: '/apis' })));
    assert.ok(!ruleMatches(makeRule({ nonResourceURLs: ['*'] }), ask({ resource: 'pods' })));
  });
});

describe('verbs', () => {
  const rule = (...verbs: string[]) => makeRule({ verbs, apiGroups: ['*'], resources: ['*'] });
  test('a star stands for what Kubernetes has today, impersonate included', () => {
    for (const verb of ['get', 'list', 'watch', 'create', 'deletecollection', 'impersonate']) {
      assert.ok(ruleMatches(rule('*'), ask({ verb, resource: 'users' })), verb);
    }
  });
  test('a verb nobody knows must be listed literally', () => {
    for (const verb of ['impersonate:user-info', 'impersonate-on:user-info:list', 'educate', 'GET']) {
      assert.ok(!ruleMatches(rule('get', '*'), ask({ verb, resource: 'users' })), verb);
      assert.ok(ruleMatches(rule(verb), ask({ verb, resource: 'users' })), verb);
    }
  });
  test('the empty verb is never allowed', () => {
    for (const verbs of [['*'], ['']]) assert.ok(!ruleMatches(rule(...verbs), ask({ verb: '', resource: 'users' })));
  });
});

describe('clusters', () => {
  const everything = { apiGroups: ['*'], resources: ['*'] };
  const reaches = (parts: Partial<Rule>, cluster: Attributes['cluster']) =>
    ruleMatches(makeRule({ ...everything, ...parts }), ask({ cluster, resource: 'clusters' }));
  const select = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', ...values: string[]) => ({
    clusterSelector: { matchLabels: [], matchExpressions: [{ key, operator, values }] },
  });

  test('by name', () => {
    assert.ok(reaches({ clusters: ['m0', 'm1'] }, m1));
    assert.ok(reaches({ clusters: ['*'] }, m1));
    assert.ok(reaches({}, m1));
    assert.ok(!reaches({ clusters: ['m'] }, m1));
  });
  test('by label', () => {
    const labels = (...matchLabels: [string, string][]) => ({ clusterSelector: { matchLabels, matchExpressions: [] } });
    assert.ok(reaches(labels(['env', 'prod'], ['tier', '']), m1));
    assert.ok(!reaches(labels(['env', 'prod'], ['region', '']), m1));
    assert.ok(reaches(select('env', 'In', 'test', 'prod'), m1));
    assert.ok(!reaches(select('region', 'In', 'eu'), m1));
    assert.ok(!reaches(select('env', 'NotIn', 'prod'), m1));
    assert.ok(reaches(select('region', 'NotIn', 'eu'), m1));
    assert.ok(reaches(select('tier', 'Exists'), m1));
    assert.ok(!reaches(select('region', 'Exists'), m1));
    assert.ok(reaches(select('region', 'DoesNotExist'), m1));
    assert.ok(!reaches(select('tier', 'DoesNotExist'), m1));
  });
  test('labels are what the cluster has, not what every object inherits', () => {
    assert.ok(!reaches(select('constructor', 'Exists'), m1));
    assert.ok(reaches(select('constructor', 'DoesNotExist'), m1));
  });
  test('name and label must both hold', () => {
    assert.ok(reaches({ clusters: ['m1'], ...select('env', 'In', 'prod') }, m1));
    assert.ok(!reaches({ clusters: ['m2'], ...select('env', 'In', 'prod') }, m1));
    assert.ok(!reaches({ clusters: ['m1'], ...select('env', 'In', 'test') }, m1));
  });
  test("the gateway's own API is reached by rules that narrow no clusters", () => {
    assert.ok(reaches({}, undefined));
    assert.ok(reaches({ clusters: ['*'] }, undefined));
    assert.ok(!reaches({ clusters: ['m1'] }, undefined));
    assert.ok(!reaches({ clusters: ['m1', 'm2'] }, undefined));
    assert.ok(!reaches(select('env', 'DoesNotExist'), undefined));
    assert.ok(!reaches({ clusters: ['*'], ...select('env', 'NotIn', 'x') }, undefined));
  });
});

test('a ServiceAccount is exactly its user name', () => {
  const rule = makeRule({
    subjects: [{ kind: 'ServiceAccount', namespace: 'ci', name: 'builder' }],
    nonResourceURLs: ['*'],
  });
  const matches = (name: string, ...groups: string[]) =>
    ruleMatches(rule, ask({ user: makeUser({ name, groups }), resourceRequest: false, path: '/' }));
  assert.ok(matches('system:serviceaccount:ci:builder'));
  assert.ok(!matches('system:serviceaccount:other:builder'));
  assert.ok(!matches('builder', 'ci'));
  assert.ok(!matches('x', 'system:serviceaccount:ci:builder'));
});

describe('against a naive reading of RBAC', () => {
  /** evaluation_helpers.go written out in loops, the way Go has it; the two deviations (verbs, clusters) are marked. */
  function naive(rule: Rule, request: Attributes): boolean {
    let subject = false;
    for (const one of rule.subjects) {
      if (one.kind === 'User' && one.name === request.user.name) subject = true;
      if (one.kind === 'Group') for (const group of request.user.groups) if (group === one.name) subject = true;
    }
    if (!subject) return false;
    // Ours: clusters.
    let cluster = rule.clusters.length === 0;
    for (const name of rule.clusters) if (name === '*' || name === request.cluster?.name) cluster = true;
    if (!cluster) return false;
    let verb = false;
    for (const one of rule.verbs) {
      // Ours: the star covers known verbs only; "educate" is unknown.
      if (one === '*' && request.verb !== 'educate' && request.verb !== '') verb = true;
      if (one === request.verb && request.verb !== '') verb = true;
    }
    if (!verb) return false;
    if (!request.resourceRequest) {
      for (const url of rule.nonResourceURLs) {
        if (url === '*' || url === request.path) return true;
        if (url.at(-1) === '*' && request.path.slice(0, url.length - 1) === url.slice(0, -1)) return true;
      }
      return false;
    }
    let group = false;
    for (const one of rule.apiGroups) if (one === '*' || one === request.apiGroup) group = true;
    let resource = false;
    const combined = request.subresource.length > 0 ? `${request.resource}/${request.subresource}` : request.resource;
    for (const one of rule.resources) {
      if (one === '*' || one === combined) resource = true;
      if (request.subresource.length === 0) continue;
      if (one.length === request.subresource.length + 2 && one.startsWith('*/') && one.endsWith(request.subresource)) {
        resource = true;
      }
    }
    let name = rule.resourceNames.length === 0;
    for (const one of rule.resourceNames) if (one === request.name) name = true;
    let namespace = rule.namespaces.length === 0;
    for (const one of rule.namespaces) if (one === request.namespace) namespace = true;
    return group && resource && name && namespace;
  }

  const some = (...items: string[]) => fc.uniqueArray(fc.constantFrom(...items), { maxLength: 3 });
  const rules = fc.record({
    subjects: fc.uniqueArray(
      fc.constantFrom(
        ...(['dev', 'ops'] as const).flatMap((name) => (['User', 'Group'] as const).map((kind) => ({ kind, name }))),
      ),
      { minLength: 1 },
    ),
    clusters: some('m1', 'm2', '*'),
    clusterSelector: fc.constant(undefined),
    verbs: some('get', 'list', '*', 'educate'),
    apiGroups: some('', 'apps', '*'),
    resources: some('pods', 'pods/log', '*', '*/log', '*/scale', 'log'),
    resourceNames: some('a', 'b'),
    namespaces: some('n1', 'n2'),
    nonResourceURLs: some('/a', '/a*', '/a/*', '*', '/b'),
  });
  const requests = fc.record({
    user: fc.constantFrom(dev, makeUser({ name: 'ops', groups: ['dev'] }), makeUser({ name: 'eve', groups: ['ops'] })),
    verb: fc.constantFrom('get', 'list', 'educate', ''),
    cluster: fc.constantFrom(m1, { ...m1, name: 'm2' }, undefined),
    resourceRequest: fc.boolean(),
    apiGroup: fc.constantFrom('', 'apps', 'batch'),
    apiVersion: fc.constant('v1'),
    resource: fc.constantFrom('pods', 'log', 'jobs'),
    subresource: fc.constantFrom('', 'log', 'scale'),
    namespace: fc.constantFrom('', 'n1', 'n3'),
    name: fc.constantFrom('', 'a', 'c'),
    path: fc.constantFrom('/a', '/a/b', '/ab', '/b', '/'),
  });

  test('every rule and request give the same answer', () => {
    let allowed = 0;
    fc.assert(
      fc.property(rules, requests, (rule, request) => {
        const answer = ruleMatches(rule, request);
        if (answer) allowed += 1;
        assert.equal(answer, naive(rule, request));
      }),
      { numRuns: 5_000 },
    );
    assert.ok(allowed > 50, `only ${allowed} of the requests were allowed; the test says too little`);
  });
});
