import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError } from '../../../lib/configuration-error.ts';
import { parseKubeconfig } from './kubeconfig-file.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function faultsOf(text: string): string {
  try {
    parseKubeconfig('/k', text);
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.message;
  }
  return assert.fail('it was accepted');
}

test('a kubeconfig is read in the order it was written, null and missing fields being empty', () => {
  const read = parseKubeconfig(
    '/k',
    `apiVersion: v1
kind: Config
preferences: {}
current-context: b
clusters:
- {name: c, cluster: {server: "https://x", certificate-authority-data: ${Buffer.from('pem').toString('base64')}, disable-compression: true}}
- name: empty
users:
- {name: u, user: {token: t, exec: {command: x, args: null, env: null, provideClusterInfo: true}}}
- {name: nobody, user: null}
contexts:
- {name: b, context: {cluster: c, user: u, namespace: n}}
- {name: a, context: {cluster: empty}}
`,
  );
  assert.deepEqual(
    read.contexts.map((context) => context.name),
    ['b', 'a'],
  );
  assert.equal(read.clusters.get('c')?.caData, 'pem');
  assert.equal(read.clusters.get('empty')?.server, '');
  assert.deepEqual(read.users.get('u')?.exec?.args, []);
  assert.equal(read.users.get('u')?.exec?.provideClusterInfo, true);
  assert.equal(read.users.get('nobody')?.token, '');
  assert.equal(read.users.get('nobody')?.authProvider, false);
});

test('JSON and files without any entry are kubeconfigs too', () => {
  assert.equal(parseKubeconfig('/k', '{"kind":"Config","contexts":[{"name":"a","context":{}}]}').contexts.length, 1);
  assert.equal(parseKubeconfig('/k', 'kind: Config\nclusters: null\ncontexts: []\n').contexts.length, 0);
});

test('text fields are what was written, also when YAML takes it for a number or a boolean', () => {
  const read = parseKubeconfig(
    '/k',
    `users: [{name: 007, user: {token: 0123456789012345678901, username: 1e3, password: true}}]
contexts: [{name: 1.10, context: {user: 007, extensions: [{name: x, extension: {port: 8443, enabled: on}}]}}]
clusters: [{name: no, cluster: {insecure-skip-tls-verify: true}}]`,
  );
  const user = read.users.get('007');
  assert.deepEqual([user?.token, user?.username, user?.password], ['0123456789012345678901', '1e3', 'true']);
  assert.equal(read.contexts[0]?.name, '1.10');
  assert.equal(read.contexts[0]?.user, '007');
  assert.deepEqual(
    read.contexts[0]?.extensions[0]?.extension,
    { port: 8443, enabled: true },
    'extensions keep their types',
  );
  assert.equal(read.clusters.get('no')?.insecure, true);
});

test('base64 is read as Go reads it: over several lines, but with no blanks and no padding left out', () => {
  const text = base64('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
  const [one, other] = [text.slice(0, 20), text.slice(20)];
  const withData = (data: string): string =>
    `clusters:\n- name: c\n  cluster:\n    server: https://x\n    certificate-authority-data: ${data}\n`;
  // As in kubernetes/kubernetes#53661.
  for (const data of [text, `|\n      ${one}\n      ${other}\n`, JSON.stringify(`${one}\r\n${other}`)])
    assert.match(parseKubeconfig('/k', withData(data)).clusters.get('c')?.caData ?? '', /^-----BEGIN[^]*END/, data);
  // As in hashicorp/terraform-provider-kubernetes#1385: the message says where.
  for (const data of [`${one} ${other}`, `>\n      ${one}\n      ${other}\n`, `-_${text}`, text.replace(/=+$/, '')])
    assert.match(
      faultsOf(withData(data)),
      /^\/k:5:33: clusters\[0\]\.cluster\.certificate-authority-data: is not valid base64/,
    );
});

test('every fault is reported with file, line, column, path and reason', () => {
  const message = faultsOf(`apiVersion: v2
clusters:
- name: c
  cluster:
    server: [x]
    certificate-authority-data: "not base64!"
    insecure-skip-tls-verify: maybe
users:
- user: {}
contexts: {}
`);
  assert.deepEqual(message.split('\n'), [
    '/k:1:13: apiVersion: must be v1',
    '/k:5:13: clusters[0].cluster.server: must be text',
    '/k:6:33: clusters[0].cluster.certificate-authority-data: is not valid base64',
    '/k:7:31: clusters[0].cluster.insecure-skip-tls-verify: must be true or false',
    '/k:9:3: users[0].name: must be text',
    '/k:10:11: contexts: must be a list',
  ]);
});

test('broken YAML is reported with its position and never quotes the file', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['users:\n- {name: u, user: {token: *SECRETsecret}}', /alias has no anchor/],
    ['users:\n- name: "u" SECRETsecret', /^\/k:2:13: Unexpected/],
    ['users: [\n  SECRETsecret', /^\/k:\d+:\d+: Flow sequence/],
    ['a: b: SECRETsecret', /^\/k:1:\d+: Nested mappings/],
    ['a: "\\uSECRETsecret"', /^\/k:1:\d+: Invalid escape/],
    ['a: 1\na: SECRETsecret', /^\/k:2:1: Map keys must be unique/],
    ['users: [{name: u, user: {token: SECRETsecret, token: SECRETsecret}}]', /Map keys must be unique/],
    ['1: a\n"1": SECRETsecret', /^\/k:2:1: Map keys must be unique/],
    ['a: 1\n---\nb: SECRETsecret', /several YAML documents/],
    ['token: @SECRETsecret', /reserved character/],
    ['a: 1\n]SECRETsecret', /^\/k:2:1: Unexpected flow-seq-end token/],
    ['a: |SECRETsecret\n x', /Block scalar header/],
    ['%YAML SECRETsecret\n---\na: 1', /Invalid YAML directive/],
    ['a: !!SECRETsecret!x 1', /resolve tag/],
    ['SECRETsecret', /must be a mapping/],
    ['- SECRETsecret', /must be a mapping/],
    ['kind: SECRETsecret', /kind: must be Config/],
    ['', /the file is empty/],
    ['# only a comment\n', /the file is empty/],
  ];
  for (const [text, reason] of cases) {
    const message = faultsOf(text);
    assert.match(message, reason);
    assert.doesNotMatch(message, /SECR/, text);
  }
});

test('two clusters or users of one name are refused with the position of the second', () => {
  const message = faultsOf(`clusters:
- name: c
- name: c
users: [{name: u}, {name: u}]
contexts: [{name: x}, {name: x}]
`);
  assert.deepEqual(message.split('\n'), [
    '/k:3:9: clusters[1].name: two clusters have this name',
    '/k:4:27: users[1].name: two users have this name',
  ]);
});

test('alias bombs and deep nesting end in a fault, anchors and merge keys work', () => {
  const bomb = [
    'a0: &a0 [x, x]',
    ...Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}, *a${i}]`),
  ].join('\n');
  assert.match(faultsOf(bomb), /aliases expand to too much/);
  assert.match(faultsOf('['.repeat(20_000)), /nested too deeply/);
  const read = parseKubeconfig(
    '/k',
    'users: [{name: a, user: &u {token: t}}, {name: b, user: {<<: *u, username: x}}, {name: c, user: *u}]',
  );
  assert.deepEqual(
    [...read.users.values()].map((user) => user.token),
    ['t', 't', 't'],
  );
});

test('a file that is wrong everywhere lists a bounded number of faults', () => {
  const message = faultsOf(`users: [${'{},'.repeat(500)}]`);
  assert.equal(message.split('\n').length, 20);
});

test('names of object members are ordinary names', () => {
  const read = parseKubeconfig(
    '/k',
    'clusters: [{name: __proto__, cluster: {server: "https://x"}}]\nusers: [{name: constructor}]',
  );
  assert.equal(read.clusters.get('__proto__')?.server, 'https://x');
  assert.equal(read.users.get('toString'), undefined);
});
