import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { stringify } from 'yaml';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { makeTestAuthority } from '../../test/pretend/certificates.ts';
import { readAuthenticationConfig } from './authentication-config.ts';

let ca = '';
before(async () => {
  ca = (await makeTestAuthority()).ca;
});

type Input = Record<string, unknown>;

function authenticator(changes: { issuer?: Input; mappings?: Input; rest?: Input } = {}): Input {
  return {
    issuer: { url: 'https://issuer.example.com', audiences: ['me'], ...changes.issuer },
    claimMappings: { username: { claim: 'sub', prefix: 'oidc:' }, ...changes.mappings },
    ...changes.rest,
  };
}

function file(jwt: readonly Input[], rest: Input = {}): string {
  return stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt,
    ...rest,
  });
}

/** The faults, as an operator reads them. */
function faults(source: string): string {
  try {
    readAuthenticationConfig(source, 'auth.yaml');
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.message;
  }
  return '';
}

test('the file of Kubernetes’ documentation is read, everything in it', () => {
  const config = readAuthenticationConfig(
    `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: https://example.com
    discoveryURL: https://discovery.example.com/.well-known/openid-configuration
    certificateAuthority: |
${ca.trim().replace(/^/gm, '      ')}
    audiences:
    - my-app
    - my-other-app
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - claim: hd
    requiredValue: example.com
  - expression: 'claims.hd == "example.com"'
    message: the hd claim must be set to example.com
  - expression: 'claims.exp - claims.nbf <= 86400'
    message: total token lifetime must not exceed 24 hours
  claimMappings:
    username:
      expression: 'claims.username + ":external-user"'
    groups:
      expression: 'claims.roles.split(",")'
    uid:
      expression: 'claims.sub'
    extra:
    - key: 'example.com/tenant'
      valueExpression: 'claims.tenant'
  userValidationRules:
  - expression: "!user.username.startsWith('system:')"
    message: 'username cannot used reserved system: prefix'
  - expression: "user.groups.all(group, !group.startsWith('system:'))"
anonymous:
  enabled: true
  conditions:
  - path: /livez
`,
    'auth.yaml',
  );
  const [one] = config.jwt;
  assert.deepEqual(one?.audiences, ['my-app', 'my-other-app']);
  assert.equal(one.issuer.discoveryUrl, 'https://discovery.example.com/.well-known/openid-configuration');
  assert.equal(one.issuer.certificateAuthority?.trim(), ca.trim());
  assert.deepEqual(one.requiredClaims, [{ claim: 'hd', value: 'example.com' }]);
  assert.deepEqual([one.claimRules.length, one.userRules.length, one.extra.length], [2, 2, 1]);
  assert.deepEqual(config.anonymous, { enabled: true, paths: ['/livez'] });
});

test('no providers at all is a good file, and v1beta1 too', () => {
  const config = readAuthenticationConfig(
    'apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\njwt: []\n',
    'auth.yaml',
  );
  assert.deepEqual(config, { jwt: [], anonymous: undefined });
});

test('a field that nobody knows refuses the file, with line and path', () => {
  const source = file([authenticator({ issuer: { audiance: 'x' } })]);
  assert.match(faults(source), /^auth\.yaml:8:7: jwt\[0\]\.issuer\.audiance: is not a field of this object$/);
  assert.match(faults(file([], { anonymus: {} })), /anonymus: is not a field/);
});

test('an expression that is not served refuses the file, with the line it stands on', () => {
  const source = file([authenticator({ mappings: { uid: { expression: 'int(claims.uid)' } } })]);
  assert.match(
    faults(source),
    /^auth\.yaml:\d+:9: jwt\[0\]\.claimMappings\.uid\.expression: uses int\(\), which this gateway does not support \(at character 1/,
  );
});

for (const [name, jwt, reason] of [
  ['no url', { issuer: { url: '' } }, /issuer\.url: is missing/],
  ['http', { issuer: { url: 'http://x.test' } }, /scheme must be https/],
  ['a user in the url', { issuer: { url: 'https://me:you@x.test' } }, /must not contain a username or password/],
  ['a query', { issuer: { url: 'https://x.test?a=b' } }, /must not contain a query/],
  ['a fragment', { issuer: { url: 'https://x.test#a' } }, /must not contain a fragment/],
  ['no url at all', { issuer: { url: 'x' } }, /issuer\.url: is not a URL/],
  ['the same discoveryURL', { issuer: { discoveryURL: 'https://issuer.example.com/' } }, /must be different from url/],
  ['no PEM', { issuer: { certificateAuthority: 'secret' } }, /certificateAuthority: is not a PEM bundle/],
  ['no audience', { issuer: { audiences: [] } }, /at least one audience/],
  ['an empty audience', { issuer: { audiences: [''] } }, /audiences\[0\]: is empty/],
  [
    'an audience twice',
    { issuer: { audiences: ['a', 'a'], audienceMatchPolicy: 'MatchAny' } },
    /audiences\[1\]: is a duplicate/,
  ],
  ['two audiences without policy', { issuer: { audiences: ['a', 'b'] } }, /must be MatchAny for multiple/],
  ['another policy', { issuer: { audienceMatchPolicy: 'MatchAll' } }, /must be empty or MatchAny/],
  ['an egress selector', { issuer: { egressSelectorType: 'cluster' } }, /has no egress selector/],
  ['an unknown egress selector', { issuer: { egressSelectorType: 'moon' } }, /must be controlplane or cluster/],
  [
    'a claim without prefix',
    { mappings: { username: { claim: 'sub' } } },
    /username\.prefix: is required when claim is set/,
  ],
  ['claim and expression', { mappings: { username: { claim: 'sub', expression: 'claims.sub' } } }, /can't both be set/],
  [
    'prefix and expression',
    { mappings: { username: { prefix: '', expression: 'claims.sub' } } },
    /may not be specified when expression is set/,
  ],
  ['no user name', { mappings: { username: {} } }, /username: claim or expression is required/],
  [
    'claims.email unverified',
    { mappings: { username: { expression: 'claims.email' } } },
    /claims\.email_verified must be used/,
  ],
  [
    'an extra key without domain',
    { mappings: { extra: [{ key: 'foo', valueExpression: '"x"' }] } },
    /domain-prefixed path/,
  ],
  [
    'an extra key in upper case',
    { mappings: { extra: [{ key: 'a.io/Foo', valueExpression: '"x"' }] } },
    /must be lowercase/,
  ],
  [
    'an extra key of Kubernetes',
    { mappings: { extra: [{ key: 'x.kubernetes.io/a', valueExpression: '"x"' }] } },
    /reserved for Kubernetes/,
  ],
  [
    'an extra key twice',
    {
      mappings: {
        extra: [
          { key: 'a.io/a', valueExpression: '"x"' },
          { key: 'a.io/a', valueExpression: '"y"' },
        ],
      },
    },
    /extra\[1\]\.key: is a duplicate/,
  ],
  [
    'an extra without value',
    { mappings: { extra: [{ key: 'a.io/a', valueExpression: '' }] } },
    /valueExpression: is missing/,
  ],
  ['a rule without anything', { rest: { claimValidationRules: [{}] } }, /claim or expression is required/],
  ['a rule with both', { rest: { claimValidationRules: [{ claim: 'a', expression: 'true' }] } }, /can't both be set/],
  [
    'a claim rule with message',
    { rest: { claimValidationRules: [{ claim: 'a', message: 'b' }] } },
    /message: may not be specified/,
  ],
  [
    'an expression rule with value',
    { rest: { claimValidationRules: [{ expression: 'true', requiredValue: 'b' }] } },
    /requiredValue: may not be specified/,
  ],
  [
    'a claim rule twice',
    { rest: { claimValidationRules: [{ claim: 'a' }, { claim: 'a' }] } },
    /\[1\]\.claim: is required by an earlier/,
  ],
  [
    'a rule that is no boolean',
    { rest: { claimValidationRules: [{ expression: 'claims.ok' }] } },
    /must evaluate to bool/,
  ],
  [
    'a user rule twice',
    { rest: { userValidationRules: [{ expression: 'true' }, { expression: 'true' }] } },
    /\[1\]\.expression: repeats an earlier/,
  ],
  ['a user rule over claims', { rest: { userValidationRules: [{ expression: 'claims.a == "b"' }] } }, /uses "claims"/],
] as const) {
  test(`${name} refuses the file, as in kube-apiserver`, () => {
    assert.match(faults(file([authenticator(jwt)])), reason);
  });
}

test('claims.email with email_verified anywhere it may be is let through', () => {
  const email = { username: { expression: 'claims.email' } };
  const rule = { claimValidationRules: [{ expression: 'claims.?email_verified.orValue(true) == true' }] };
  assert.equal(faults(file([authenticator({ mappings: email, rest: rule })])), '');
  const extra = [{ key: 'a.io/v', valueExpression: 'string(claims.email_verified)' }];
  assert.equal(faults(file([authenticator({ mappings: { ...email, extra } })])), '');
});

test('issuers and discovery addresses are unique; conditions need anonymous requests; other kinds are refused', () => {
  const discovery = { discoveryURL: 'https://d.example.com/x' };
  const two = [authenticator({ issuer: discovery }), authenticator({ issuer: discovery })];
  assert.match(
    faults(file(two)),
    /jwt\[1\]\.issuer\.url: repeats that of an earlier[\s\S]*jwt\[1\]\.issuer\.discoveryURL: repeats that of/,
  );
  assert.match(
    faults(file([], { anonymous: { enabled: false, conditions: [{ path: '/x' }] } })),
    /enabled should be set to true/,
  );
  for (const path of ['', 'version', ' /version'])
    assert.match(faults(file([], { anonymous: { enabled: true, conditions: [{ path }] } })), /must begin with a slash/);
  assert.match(faults(file([], { kind: 'AuthorizationConfiguration' })), /kind: must be "AuthenticationConfiguration"/);
  assert.match(faults(file([], { apiVersion: 'v1' })), /apiVersion: must be/);
  assert.match(
    faults(file(Array.from({ length: 65 }, (_, i) => authenticator({ issuer: { url: `https://x${i}.test` } })))),
    /at most 64/,
  );
  assert.match(faults('jwt: ["'), /auth\.yaml/);
});

test('no message quotes a value of the file', () => {
  const messages = faults(
    file([
      authenticator({ issuer: { url: 'http://hunter2', certificateAuthority: 'hunter2', discoveryURL: 'hunter2' } }),
    ]),
  );
  assert.match(messages, /is not a PEM bundle/);
  assert.doesNotMatch(messages, /hunter2/);
});
