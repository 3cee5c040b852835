import assert from 'node:assert/strict';
import test from 'node:test';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { makeUser } from '../../model/user.ts';
import { noOverflowPolicy, readOverflowPolicy, whenFull } from './overflow.ts';
import { auditDecision, readAuditPolicy } from './policy.ts';
import type { AuditedRequest } from '../../request/audit-trail.ts';

const alice = makeUser({ name: 'alice', groups: ['dev', 'system:authenticated'] });

function request(changes: Partial<AuditedRequest> = {}): AuditedRequest {
  return {
    caller: alice,
    verb: 'get',
    isResource: true,
    apiGroup: '',
    resource: 'pods',
    subresource: '',
    namespace: 'default',
    name: 'web',
    path: '/api/v1/namespaces/default/pods/web',
    ...changes,
  };
}

const url = (path: string): AuditedRequest =>
  request({ isResource: false, resource: '', namespace: '', name: '', path });

function policyText(rules: readonly object[], more: object = {}): string {
  return JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules, ...more });
}

/** Whether a policy of one Metadata rule records the request. */
function isRecorded(rule: object, one: AuditedRequest): boolean {
  return auditDecision(readAuditPolicy(policyText([{ level: 'Metadata', ...rule }]), 'policy.yaml'), one) !== undefined;
}

function faultsOf(read: () => unknown): string {
  let message = '';
  assert.throws(read, (error) => {
    assert.ok(error instanceof ConfigurationError);
    message = error.message;
    return true;
  });
  return message;
}

// The cases of k8s.io/apiserver/pkg/audit/policy/checker_test.go.
test('rules choose requests as kube-apiserver does', () => {
  for (const [rule, one, expected] of [
    [{}, request(), true],
    [{ users: ['alice'] }, request(), true],
    [{ users: ['bob'] }, request(), false],
    [{ users: ['alice'] }, request({ caller: undefined }), false],
    [{ userGroups: ['ops', 'dev'] }, request(), true],
    [{ userGroups: ['ops'] }, request(), false],
    [{ userGroups: ['dev'] }, request({ caller: undefined }), false],
    [{ verbs: ['get', 'list'] }, request(), true],
    [{ verbs: ['list'] }, request(), false],
    [{ resources: [{ resources: ['pods'] }] }, request(), true],
    [{ resources: [{ group: 'apps', resources: ['pods'] }] }, request(), false],
    [{ resources: [{ group: '*', resources: ['pods'] }] }, request({ apiGroup: 'apps' }), true],
    [{ resources: [{ group: '' }] }, request({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['pods'] }] }, request({ subresource: 'log' }), false],
    [{ resources: [{ resources: ['pods/log'] }] }, request({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['pods/*'] }] }, request({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['pods/*'] }] }, request(), true],
    [{ resources: [{ resources: ['*/log'] }] }, request({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['*/exec'] }] }, request({ subresource: 'log' }), false],
    [{ resources: [{ resources: ['*'] }] }, request({ subresource: 'log' }), true],
    [{ resources: [{ resources: ['pods'], resourceNames: ['web'] }] }, request(), true],
    [{ resources: [{ resources: ['pods'], resourceNames: ['db'] }] }, request(), false],
    [{ resources: [{ resources: ['pods'] }] }, url('/healthz'), false],
    [{ namespaces: ['default'] }, request(), true],
    [{ namespaces: ['other'] }, request(), false],
    [{ namespaces: [''] }, request({ namespace: '', resource: 'nodes' }), true],
    [{ namespaces: [''] }, url('/healthz'), false],
    [{ nonResourceURLs: ['/healthz*'] }, url('/healthz/ping'), true],
    [{ nonResourceURLs: ['/healthz'] }, url('/healthz/ping'), false],
    [{ nonResourceURLs: ['*'] }, url('/anything'), true],
    [{ nonResourceURLs: ['*'] }, request(), false],
    [{ users: ['alice'], verbs: ['list'] }, request(), false],
  ] as const) {
    assert.equal(isRecorded(rule, one), expected, JSON.stringify([rule, one.path, one.subresource]));
  }
});

test('the first rule that is for a request decides, and no rule means no event', () => {
  const policy = readAuditPolicy(
    policyText(
      [
        { level: 'None', users: ['alice'], verbs: ['get'] },
        { level: 'Metadata', userGroups: ['dev'], omitStages: ['ResponseStarted'] },
      ],
      { omitStages: ['RequestReceived'] },
    ),
    'policy.yaml',
  );
  assert.equal(auditDecision(policy, request()), undefined);
  const decision = auditDecision(policy, request({ verb: 'list' }));
  assert.deepEqual([...decision!.omitStages].toSorted(), ['RequestReceived', 'ResponseStarted']);
  assert.equal(auditDecision(policy, request({ caller: makeUser({ name: 'bob' }) })), undefined);
});

test('levels that record bodies are refused with the reason and the line', () => {
  const text = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n- level: RequestResponse\n';
  assert.match(
    faultsOf(() => readAuditPolicy(text, 'policy.yaml')),
    /^policy\.yaml:5:3: rules\[1\]\.level: records bodies, which the gateway streams and never keeps: use Metadata/,
  );
});

test('a policy with a fault is refused, each fault at its line', () => {
  for (const [text, message] of [
    [policyText([]), /rules: has no rule/],
    [policyText([{ level: 'Meta' }]), /level: must be "None" or/],
    [policyText([{ level: 'None', namespace: ['a'] }]), /namespace: is not a field of this object/],
    [policyText([{ level: 'None', nonResourceURLs: ['/a'], namespaces: ['a'] }]), /not for both/],
    [policyText([{ level: 'None', nonResourceURLs: ['a'] }]), /must begin with "\/"/],
    [policyText([{ level: 'None', nonResourceURLs: ['/a*b'] }]), /must begin with "\/"/],
    [policyText([{ level: 'None', resources: [{ resourceNames: ['a'] }] }]), /need at least one resource/],
    [policyText([{ level: 'None', resources: [{ group: 'Apps/v1' }] }]), /name of an API group/],
    [policyText([{ level: 'None', omitStages: ['Started'] }]), /omitStages\[0\]/],
    [
      'apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]\n',
      /apiVersion: must be "audit.k8s.io\/v1"/,
    ],
  ] as const) {
    assert.match(
      faultsOf(() => readAuditPolicy(text, 'policy.yaml')),
      message,
      text,
    );
  }
});

test("kube-apiserver's recommended policy is read", () => {
  const text = `apiVersion: audit.k8s.io/v1
kind: Policy
metadata: { name: default }
omitStages: ["RequestReceived"]
omitManagedFields: true
rules:
  - level: None
    users: ["system:kube-proxy"]
    verbs: ["watch"]
    resources:
      - group: ""
        resources: ["endpoints", "services", "services/status"]
  - level: None
    userGroups: ["system:authenticated"]
    nonResourceURLs: ["/api*", "/version"]
  - level: Metadata
    omitManagedFields: false
    resources:
      - group: ""
`;
  const policy = readAuditPolicy(text, 'policy.yaml');
  assert.equal(auditDecision(policy, url('/apis/apps')), undefined);
  assert.ok(auditDecision(policy, request()));
});

test('while a sink is full changes are refused and reads go on, unless a rule says otherwise (FLT-18)', () => {
  const byDefault = (one: AuditedRequest, isUpgrade = false) => whenFull(noOverflowPolicy, one, isUpgrade);
  for (const verb of ['create', 'update', 'patch', 'delete', 'deletecollection', 'post', '']) {
    assert.equal(byDefault(request({ verb })), 'block', verb);
  }
  for (const verb of ['get', 'list', 'watch', 'head', 'options'])
    assert.equal(byDefault(request({ verb })), 'drop', verb);
  assert.equal(byDefault(request({ subresource: 'exec' }), true), 'block', 'an exec by GET is no read');
  assert.equal(byDefault(request({ subresource: 'log' }), true), 'drop');
  assert.equal(byDefault(request({ verb: 'watch' }), true), 'drop');

  const policy = readOverflowPolicy(
    JSON.stringify({
      apiVersion: 'gateway.portcullis.io/v1alpha1',
      kind: 'AuditOverflowPolicy',
      rules: [
        { whenFull: 'drop', users: ['alice'], verbs: ['create'], namespaces: ['default'] },
        { whenFull: 'block', resources: [{ resources: ['secrets'] }] },
      ],
    }),
    'overflow.yaml',
  );
  assert.equal(whenFull(policy, request({ verb: 'create' }), false), 'drop');
  assert.equal(whenFull(policy, request({ verb: 'create', namespace: 'other' }), false), 'block');
  assert.equal(whenFull(policy, request({ resource: 'secrets' }), false), 'block');
  assert.equal(whenFull(policy, request(), false), 'drop');
});

test('a policy of overflow that says nothing, or too much, is refused', () => {
  const read = (rules: readonly object[]) => () =>
    readOverflowPolicy(
      JSON.stringify({ apiVersion: 'gateway.portcullis.io/v1alpha1', kind: 'AuditOverflowPolicy', rules }),
      'overflow.yaml',
    );
  assert.match(faultsOf(read([])), /has no rule/);
  assert.match(faultsOf(read([{ whenFull: 'wait' }])), /whenFull: must be "block" or "drop"/);
  assert.match(faultsOf(read([{ whenFull: 'drop', level: 'None' }])), /level: is not a field/);
});
