import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { parseRules } from './rules.ts';

const head = 'apiVersion: gateway.portcullis.io/v1alpha1\nkind: AuthorizationRules\n';

function faultsOf(source: string): string[] {
  try {
    parseRules(source, 'rules.yaml');
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'INVALID');
    return error.message.split('\n  ').slice(1);
  }
  assert.fail('no fault was found');
}

test('a rule with every field is read as it stands', () => {
  const { file, rules } = parseRules(
    `${head}rules:
  - subjects:
      - {kind: User, name: jürgen, apiGroup: rbac.authorization.k8s.io}
      - {kind: Group, name: "dev:team, a"}
      - {kind: ServiceAccount, name: builder, namespace: ci}
    clusters: [m1, "*"]
    clusterSelector:
      matchLabels: {env: prod, example.com/tier: ""}
      matchExpressions: [{key: region, operator: In, values: [eu, us]}, {key: old, operator: DoesNotExist}]
    verbs: [get, impersonate, "impersonate-on:user-info:list", "*"]
    apiGroups: ["", apps, "*"]
    resources: [pods, pods/exec, "*", "*/scale", userextras/example.com/scopes]
    resourceNames: [a, "b:c"]
    namespaces: [default]
  - subjects: [{kind: Group, name: "system:authenticated"}]
    verbs: [get]
    nonResourceURLs: [/healthz, "/metrics*", "*"]
`,
    'rules.yaml',
  );
  const empty = { clusters: [], clusterSelector: undefined, apiGroups: [], resources: [] };
  assert.equal(file, 'rules.yaml');
  assert.deepEqual(rules, [
    {
      subjects: [
        { kind: 'User', name: 'jürgen' },
        { kind: 'Group', name: 'dev:team, a' },
        { kind: 'ServiceAccount', namespace: 'ci', name: 'builder' },
      ],
      clusters: ['m1', '*'],
      clusterSelector: {
        matchLabels: [
          ['env', 'prod'],
          ['example.com/tier', ''],
        ],
        matchExpressions: [
          { key: 'region', operator: 'In', values: ['eu', 'us'] },
          { key: 'old', operator: 'DoesNotExist', values: [] },
        ],
      },
      verbs: ['get', 'impersonate', 'impersonate-on:user-info:list', '*'],
      apiGroups: ['', 'apps', '*'],
      resources: ['pods', 'pods/exec', '*', '*/scale', 'userextras/example.com/scopes'],
      resourceNames: ['a', 'b:c'],
      namespaces: ['default'],
      nonResourceURLs: [],
    },
    {
      ...empty,
      subjects: [{ kind: 'Group', name: 'system:authenticated' }],
      verbs: ['get'],
      resourceNames: [],
      namespaces: [],
      nonResourceURLs: ['/healthz', '/metrics*', '*'],
    },
  ]);
});

test('a rule may speak of resources and of paths at once', () => {
  const { rules } = parseRules(
    `${head}rules: [{subjects: [{kind: User, name: x}], verbs: ["*"], apiGroups: ["*"], resources: ["*"], nonResourceURLs: ["*"]}]`,
    'f',
  );
  assert.equal(rules.length, 1);
});

test('a file without rules is valid and lets nobody in', () => {
  assert.deepEqual(parseRules(`${head}rules: []`, 'f').rules, []);
});

test('all faults are reported together, in order, each with its place and path', () => {
  const faults = faultsOf(`apiVersion: gateway.portcullis.io/v1alpha1
kind: Rules
rules:
  - subjects: [{kind: Robot, name: x}]
    verbs: [GET]
    apiGroup: [""]
    resources: ["pods/*"]
  - 5
  - verbs: [get]
    nonResourceURLs: [metrics]
extra: 1
`);
  assert.deepEqual(faults, [
    'rules.yaml:2:1: kind: must be "AuthorizationRules"',
    'rules.yaml:4:17: rules[0].subjects[0].kind: must be User, Group or ServiceAccount',
    'rules.yaml:5:13: rules[0].verbs[0]: is not a verb; verbs are lower case, such as get, list, watch',
    'rules.yaml:6:5: rules[0].apiGroup: is not a field of this object',
    'rules.yaml:7:17: rules[0].resources[0]: is not a resource; write "pods", "pods/log", "*/scale" or "*"',
    'rules.yaml:8:5: rules[1]: must be an object',
    'rules.yaml:9:5: rules[2].subjects: is missing',
    'rules.yaml:10:23: rules[2].nonResourceURLs[0]: must be "*" or begin with "/", with "*" only at its end',
    'rules.yaml:11:1: extra: is not a field of this object',
  ]);
});

describe('what could widen a rule by mistake is refused', () => {
  const resources = 'apiGroups: [""], resources: [pods]';
  const cases: readonly (readonly [title: string, fields: string, fault: RegExp])[] = [
    ['an empty list of clusters', `verbs: [get], ${resources}, clusters: []`, /clusters: must not be empty/],
    ['a list of clusters that is null', `verbs: [get], ${resources}, clusters: null`, /clusters: must be an array/],
    ['an empty selector', `verbs: [get], ${resources}, clusterSelector: {}`, /clusterSelector: names no label/],
    ['an empty list of names', `verbs: [get], ${resources}, resourceNames: []`, /resourceNames: must not be empty/],
    ['an empty list of namespaces', `verbs: [get], ${resources}, namespaces: []`, /namespaces: must not be empty/],
    ['a cluster pattern', `verbs: [get], ${resources}, clusters: ["prod-*"]`, /clusters\[0\]: .*use labels/],
    ['a namespace wildcard', `verbs: [get], ${resources}, namespaces: ["*"]`, /namespaces\[0\]: is not a namespace/],
    ['a name wildcard', `verbs: [get], ${resources}, resourceNames: ["*"]`, /resourceNames\[0\]: leave the field out/],
    [
      'an API group with version',
      'verbs: [get], apiGroups: [apps/v1], resources: [x]',
      /apiGroups\[0\]: .*without version/,
    ],
    ['resources without API groups', 'verbs: [get], resources: [pods]', /apiGroups: must be given with resources/],
    ['API groups without resources', 'verbs: [get], apiGroups: [""]', /resources: must be given with apiGroups/],
    ['neither resources nor paths', 'verbs: [get]', /resources: a rule needs/],
    ['no verbs', `verbs: [], ${resources}`, /verbs: must contain at least one verb/],
    ['an empty verb', `verbs: [""], ${resources}`, /verbs\[0\]: is not a verb/],
    [
      'paths narrowed by namespace',
      'verbs: [get], nonResourceURLs: ["*"], namespaces: [a]',
      /namespaces: cannot be combined/,
    ],
    ['a star inside a path', 'verbs: [get], nonResourceURLs: ["/a*/b"]', /nonResourceURLs\[0\]: must be/],
    [
      'In without values',
      `verbs: [get], ${resources}, clusterSelector: {matchExpressions: [{key: a, operator: In}]}`,
      /values: In and NotIn need values/,
    ],
    [
      'Exists with values',
      `verbs: [get], ${resources}, clusterSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}`,
      /values: In and NotIn need values/,
    ],
    ['a field named __proto__', `verbs: [get], ${resources}, __proto__: {clusters: [a]}`, /__proto__: is not a field/],
  ];
  for (const [title, fields, fault] of cases) {
    test(title, () => {
      const faults = faultsOf(`${head}rules: [{subjects: [{kind: User, name: x}], ${fields}}]`);
      assert.equal(faults.length, 1, faults.join('\n'));
      assert.match(faults.join(), fault);
    });
  }
  const subjects: readonly (readonly [title: string, subject: string, fault: RegExp])[] = [
    ['a user named *', '{kind: User, name: "*"}', /system:authenticated/],
    ['a nameless group', '{kind: Group, name: ""}', /name: must not be empty/],
    ['a ServiceAccount without namespace', '{kind: ServiceAccount, name: a}', /namespace: is missing/],
    ['a namespaced group', '{kind: Group, name: a, namespace: b}', /namespace: is not a field/],
    ['a numeric user', '{kind: User, name: 1}', /name: must be a string/],
  ];
  for (const [title, subject, fault] of subjects) {
    test(title, () => {
      const faults = faultsOf(`${head}rules: [{subjects: [${subject}], verbs: [get], nonResourceURLs: ["*"]}]`);
      assert.equal(faults.length, 1, faults.join('\n'));
      assert.match(faults.join(), fault);
    });
  }
});

describe('YAML that is no rules file', () => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]'];
  for (const [name, before] of [
    ['b', 'a'],
    ['c', 'b'],
    ['d', 'c'],
    ['e', 'd'],
  ] as const) {
    bomb.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(', ')}]`);
  }
  const cases: readonly (readonly [title: string, source: string, fault: RegExp])[] = [
    ['nothing at all', '', /the file: must be an object/],
    ['a bare star', `${head}rules: [{verbs: [*]}]`, /rules\.yaml:3:18: a bare \* is an alias in YAML/],
    ['a key given twice', 'kind: a\nkind: b', /rules\.yaml:2:1: Map keys must be unique/],
    ['two documents', 'a: 1\n---\nb: 2', /rules\.yaml:2:1: the file holds several YAML documents; keep one$/],
    ['an unclosed list', 'rules: [', /rules\.yaml:1:9: /],
    ['an unknown tag', 'kind: !!js/function x', /rules\.yaml:1:7: Unresolved tag/],
    ['an alias to nothing', 'kind: *nothing', /rules\.yaml:1:7: an alias has no anchor/],
    ['aliases that multiply', bomb.join('\n'), /aliases expand to too much/],
    ['very deep nesting', '['.repeat(20_000), /nested too deeply|must be sufficiently indented/],
  ];
  for (const [title, source, fault] of cases) {
    test(title, () => assert.match(faultsOf(source)[0] ?? '', fault));
  }
});

test('a list or mapping as a key is refused where it stands, and nothing of it is told', () => {
  for (const source of ['? { token: SECRET }\n: a\n', 'rules:\n- ? ? [SECRET]\n  : verbs\n']) {
    assert.throws(
      () => parseRules(source, 'rules.yaml'),
      (error: Error) =>
        /rules\.yaml:\d+:\d+: a key must be a text/.test(error.message) && !error.message.includes('SECRET'),
    );
  }
});
