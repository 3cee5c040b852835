import assert from 'node:assert/strict';
import test from 'node:test';
import { parse } from 'yaml';
import { Failure } from '../terminal/failure.ts';
import { hasForeignEntries, mergeKubeconfig } from './kubeconfig-document.ts';
import type { GatewayEntries, MergedKubeconfig } from './kubeconfig-document.ts';

const entries: GatewayEntries = {
  prefix: 'portcullis',
  root: 'https://gw:8443',
  ca: 'CA PEM\n',
  token: 'new-token',
  clientCertificate: undefined,
  clusters: ['m1', 'm2'],
};

function merge(text: string, changes: Partial<GatewayEntries> = {}, removeGone = false): MergedKubeconfig {
  return mergeKubeconfig(text, { ...entries, ...changes }, { file: 'config', removeGone });
}

function refusal(run: () => unknown): Failure {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof Failure);
    assert.equal(error.exitCode, 2);
    return error;
  }
  throw new assert.AssertionError({ message: 'nothing was thrown' });
}

// As kubectl writes it, with the comments a person would add.
const existing = `# my clusters
apiVersion: v1
clusters:
# the laptop
- cluster:
    certificate-authority: /etc/kind/ca.crt # not data
    server: https://127.0.0.1:6443
  name: kind-dev
contexts:
- context:
    cluster: kind-dev
    namespace: web
    user: kind-dev
  name: kind-dev
current-context: kind-dev
kind: Config
preferences: {}
users:
- name: kind-dev
  user:
    token: "0123" # a number in quotes stays text
# the end
`;

test('an empty file becomes a whole kubeconfig with one user', () => {
  const merged = merge('');
  assert.deepEqual(parse(merged.text), {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: ['m1', 'm2'].map((name) => ({
      name: `portcullis-${name}`,
      cluster: {
        server: `https://gw:8443/clusters/${name}/proxy`,
        'certificate-authority-data': Buffer.from('CA PEM\n').toString('base64'),
      },
    })),
    contexts: ['m1', 'm2'].map((name) => ({
      name: `portcullis-${name}`,
      context: { cluster: `portcullis-${name}`, user: 'portcullis' },
    })),
    users: [{ name: 'portcullis', user: { token: 'new-token' } }],
    'current-context': 'portcullis-m1',
  });
  assert.deepEqual(merged.contexts, ['portcullis-m1', 'portcullis-m2']);
  assert.equal(merged.currentContext, 'portcullis-m1');
});

test('everything of the person stays as written, comments included', () => {
  const { text, currentContext } = merge(existing);
  const lines = text.split('\n');
  for (const line of existing.split('\n')) assert.ok(lines.includes(line), `lost: ${line}`);
  assert.equal(currentContext, 'kind-dev');
});

test('long lines and long quoted texts are not broken into several', () => {
  const words = 'word '.repeat(40).trim();
  const text = `extensions:\n- name: plain\n  extension: ${words}\n- name: quoted\n  extension: "${words}\\n${words}"\n`;
  assert.ok(merge(text).text.startsWith(text));
});

test('merging twice changes nothing the second time', () => {
  const { text } = merge(existing);
  assert.equal(merge(text).text, text);
});

test('indented lists, null sections, flow style and JSON are kept in their style', () => {
  const indented = 'clusters:\n  - name: a\n    cluster:\n      server: https://a\n';
  assert.ok(merge(indented).text.startsWith(indented));
  assert.match(merge('clusters: null\ncontexts: []\nusers: null\n').text, /contexts:\n- name: portcullis-m1\n/);
  const json = '{"apiVersion": "v1", "clusters": [{"name": "a", "cluster": {"server": "https://a"}}]}\n';
  const parsed = JSON.parse(merge(json).text) as { clusters: unknown[]; users: unknown[] };
  assert.equal(parsed.clusters.length, 3);
  assert.equal(parsed.users.length, 1);
});

test('lists left empty are still valid YAML', () => {
  const ours = existing
    .replaceAll('kind-dev', 'portcullis-m1')
    .replace(/https:.*6443/, 'https://gw:8443/clusters/m1/proxy');
  const { text } = merge(ours, { clusters: [] }, true);
  assert.deepEqual((parse(text) as { clusters: unknown }).clusters, []);
  assert.deepEqual((parse(merge('', { clusters: [] }).text) as { users: unknown }).users, []);
});

test('a new token replaces every older credential of our user, and a new CA the older trust', () => {
  const old = `clusters:
- name: portcullis-m1
  cluster:
    server: https://gw:8443/clusters/m1/proxy # ours
    insecure-skip-tls-verify: true
    certificate-authority: /old/ca.crt
    proxy-url: http://proxy:3128
contexts:
- name: portcullis-m1
  context: {cluster: portcullis-m1, user: portcullis, namespace: web}
users:
- name: portcullis
  user:
    client-certificate-data: b2xk
    client-key: /old/key
    exec: {command: old}
    tokenFile: /old/token
`;
  const { text } = merge(old);
  const parsed = parse(text) as { clusters: unknown[]; contexts: unknown[]; users: unknown[] };
  assert.deepEqual(parsed.clusters[0], {
    name: 'portcullis-m1',
    cluster: {
      server: 'https://gw:8443/clusters/m1/proxy',
      'proxy-url': 'http://proxy:3128',
      'certificate-authority-data': Buffer.from('CA PEM\n').toString('base64'),
    },
  });
  assert.deepEqual(parsed.contexts[0], {
    name: 'portcullis-m1',
    context: { cluster: 'portcullis-m1', user: 'portcullis', namespace: 'web' },
  });
  assert.deepEqual(parsed.users, [{ name: 'portcullis', user: { token: 'new-token' } }]);
  assert.match(text, /proxy # ours\n/);
});

test('a client certificate is embedded as data', () => {
  const { text } = merge('', { token: undefined, clientCertificate: { cert: 'CERT', key: 'KEY' } });
  const { users } = parse(text) as { users: unknown };
  assert.deepEqual(users, [
    { name: 'portcullis', user: { 'client-certificate-data': 'Q0VSVA==', 'client-key-data': 'S0VZ' } },
  ]);
});

test('only with removeGone, and only what is ours, do entries of lost clusters go', () => {
  const before = merge(`${merge(existing, { clusters: ['m1', 'old'] }).text}`, { clusters: [] }).text;
  const foreign = before.replace(
    'contexts:\n',
    'contexts:\n- name: portcullis-mine\n  context: {cluster: kind-dev, user: kind-dev}\n' +
      '- name: uses-old\n  context: {cluster: portcullis-old, user: portcullis}\n',
  );
  assert.deepEqual(merge(foreign, { clusters: ['m1'] }).removed, []);
  const { text, removed } = merge(foreign, { clusters: ['m1'] }, true);
  assert.deepEqual(removed, ['portcullis-old']);
  const parsed = parse(text) as { clusters: { name: string }[]; contexts: { name: string }[] };
  assert.deepEqual(
    parsed.contexts.map(({ name }) => name),
    ['portcullis-mine', 'uses-old', 'kind-dev', 'portcullis-m1'],
  );
  // A context of the person's own still needs it.
  assert.deepEqual(
    parsed.clusters.map(({ name }) => name),
    ['kind-dev', 'portcullis-m1', 'portcullis-old'],
  );
});

test('entries of another gateway with our prefix are not removed', () => {
  const other = merge('', { root: 'https://other', prefix: 'portcullis', clusters: ['x'] }).text;
  const { removed } = merge(other.replaceAll('user: portcullis', 'user: somebody'), {}, true);
  assert.deepEqual(removed, []);
});

test('entries of the same gateway under another prefix are not removed', () => {
  const { text } = merge(merge('', { prefix: 'second', clusters: ['old'] }).text);
  const { removed, text: after } = merge(text, {}, true);
  assert.deepEqual(removed, []);
  assert.match(after, /name: second-old/);
});

test('a name that belongs to another gateway or to the person is refused with the remedy', () => {
  const other = merge('', { root: 'https://other' }).text;
  assert.match(
    refusal(() => merge(other)).message,
    /cluster "portcullis-m1" .* is at https:\/\/other\/clusters\/m1\/proxy/,
  );
  assert.match(refusal(() => merge(other, { clusters: ['m9'] })).message, /user "portcullis" .* also used/);
  assert.match(refusal(() => merge(other)).nextStep, /--prefix/);
  assert.deepEqual(merge(other, { prefix: 'second' }).contexts, ['second-m1', 'second-m2']);
  const personal = 'contexts:\n- name: portcullis-m1\n  context: {cluster: kind-dev, user: me}\n';
  assert.match(refusal(() => merge(personal)).message, /context "portcullis-m1" .* is for the cluster "kind-dev"/);
});

test('a file that is no kubeconfig is refused without quoting it', () => {
  const secret = 'users:\n- name: a\n  user:\n    token: s3cret\n   bad: "s3cret\n';
  const failure = refusal(() => merge(secret));
  assert.match(failure.message, /^config, line \d+: not valid YAML/);
  assert.doesNotMatch(failure.message + failure.nextStep, /s3cret/);
  assert.match(refusal(() => merge('just text')).message, /is not a kubeconfig/);
  assert.match(refusal(() => merge('users: {a: b}')).message, /users in config is not a list/);
  assert.match(refusal(() => merge('a: 1\n---\nb: 2\n')).message, /not valid YAML/);
});

test('what is not changed stays as it was written: numbers, comments, and the separator at the end', () => {
  const own = `clusters:
  - name: lab # mine
    cluster:
      server: https://lab.example.com:6443
      extensions:
        - name: example.com/lab
          extension:
            serial: 12345678901234567890
            build: 0012
            mode: 0644
            version: 1.10
            when: 2026-01-02
            on: yes
`;
  const text = `apiVersion: v1\nkind: Config\n${own}users: [{name: u, user: {token: 0123}}]\n---\n`;
  const merged = merge(text).text;
  assert.ok(merged.includes(own.trimEnd()), merged);
  assert.match(merged, /user: { ?token: 0123 ?}/);
  assert.match(merged, /\n---\n$/);
  assert.equal(merge(merged).text, merged);
});

test('a file with comments only keeps them', () => {
  assert.match(merge('# empty so far\n').text, /^# empty so far\n/);
});

test('foreign entries are told from ours', () => {
  assert.equal(hasForeignEntries('', 'portcullis', 'f'), false);
  assert.equal(hasForeignEntries(merge('').text, 'portcullis', 'f'), false);
  assert.equal(hasForeignEntries(merge(existing).text, 'portcullis', 'f'), true);
  assert.equal(hasForeignEntries(merge('').text, 'other', 'f'), true);
});

test('index and gateway have entries of their own that are written when asked for, and are not taken for clusters that are gone', () => {
  const { text, contexts } = merge('', { index: true });
  assert.deepEqual(contexts.slice(-2), [entries.prefix, `${entries.prefix}-all`]);
  assert.match(text, new RegExp(`server: ${entries.root}\\n`));
  assert.match(text, new RegExp(`server: ${entries.root}/apis/search.portcullis.io/v1alpha1/indexes/default/proxy\\n`));
  assert.equal(merge(text, {}, true).text, text);
  assert.equal(merge(text, { index: true }, true).text, text);
  assert.throws(() => merge('', { index: true, clusters: ['all'] }), /a cluster is named "all"/);
});

test('a value that an alias or a merge key shares with another entry is not changed: the token would go there', () => {
  const users = `users:
- name: portcullis
  user: &mine
    token: old-token
- name: elsewhere
  user: `;
  const cases: readonly (readonly [string, RegExp])[] = [
    [`${users}*mine\n`, /^config, line 6: the alias \*mine gives several places one value/],
    [`${users}{ <<: *mine }\n`, /^config, line 6: the merge key << gives/],
    [`${users}\n    "<<": { token: x }\n`, /^config, line 7: the merge key << gives/],
    ['x-common: &a { name: portcullis-m1 }\nclusters:\n- *a\n', /^config, line 3: the alias/],
    ['a: &k users\n*k : []\n', /^config, line 2: the alias/],
  ];
  for (const [text, message] of cases) {
    const failure = refusal(() => merge(text));
    assert.match(failure.message, message);
    assert.match(failure.nextStep ?? '', /Write the values out/);
  }
});

test('what kubectl does not load is refused and not mended by guessing', () => {
  for (const [text, message] of [
    ['current-context: 2024\n', 'config has a current-context that is not a text'],
    ['current-context: [a]\n', 'config has a current-context that is not a text'],
    ['users: []\nusers:\n- name: jane\n', 'config, line 2: Map keys must be unique'],
    ['clusters:\n- name: 2024\n', 'config: entry 1 of clusters has a name that is not a text'],
    ['clusters:\n- name: a\n- name: a\n', 'config: entry 2 of clusters has a name that an entry before it has'],
    ['users:\n- name: a\n  user: secret\n', 'config: entry 1 of users has a user that is not a mapping'],
    ['users:\n- secret\n', 'config: entry 1 of users is not a mapping'],
    ['contexts:\n- name: a\n  context: {cluster: 1}\n', 'config: entry 1 of contexts has a cluster that is not a text'],
    ['clusters:\n- name: a\n  cluster: {server: a, server: b}\n', 'config, line 3: Map keys must be unique'],
  ] as const) {
    assert.equal(refusal(() => merge(text)).message, message);
  }
});
