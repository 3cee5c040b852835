import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { testKeyPair } from '../../../test/pretend/certificates.ts';
import { draftClusters, referencedFiles, type ClusterDraft } from './kubeconfig-cluster.ts';
import { parseKubeconfig } from './kubeconfig-file.ts';
import { unusable } from '../unusable.ts';

const file = '/home/jane/.kube/config';
let one: { readonly cert: string; readonly key: string };
let two: { readonly cert: string; readonly key: string };
before(async () => {
  one = await testKeyPair('one');
  two = await testKeyPair('two');
});

type Entry = Readonly<Record<string, unknown>>;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The draft of a single context; `files` are what the disk holds. */
function draft(cluster: Entry, user: Entry | undefined, files: Entry = {}, context: Entry = {}): ClusterDraft {
  const document = {
    clusters: [{ name: 'c', cluster: { server: 'https://c.example:6443', ...cluster } }],
    users: user === undefined ? [] : [{ name: 'u', user }],
    contexts: [{ name: 'ctx', context: { cluster: 'c', ...(user === undefined ? {} : { user: 'u' }), ...context } }],
  };
  const drafts = draftClusters(file, parseKubeconfig(file, JSON.stringify(document)), (path) => {
    const text = files[path];
    if (typeof text !== 'string') throw unusable(`${path}: no such file`);
    return text;
  });
  const [only] = drafts;
  assert.ok(only);
  return only;
}

function problem(...parts: Parameters<typeof draft>): string {
  const { spec } = draft(...parts);
  assert.equal(spec.problem?.reason, 'InvalidConfiguration');
  assert.equal(spec.endpoint, undefined);
  return spec.problem.message;
}

test('a context becomes a cluster with address, trust, proxy and labels', () => {
  const { spec, plan } = draft(
    {
      server: 'https://c.example:6443/p/',
      'certificate-authority-data': base64(one.cert),
      'tls-server-name': 'kubernetes',
      'proxy-url': 'socks5://proxy:1080',
    },
    { token: 't' },
    {},
    { extensions: [{ name: 'gateway.portcullis.io/labels', extension: { tier: 'prod', 'x.io/a': '' } }] },
  );
  const { uid, transportKey, ...rest } = spec;
  assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(transportKey, /^[0-9a-f]{64}$/);
  assert.deepEqual(rest, {
    name: 'ctx',
    originalName: 'ctx',
    source: 'kubeconfig',
    sourceDetail: `${file} context "ctx"`,
    labels: { tier: 'prod', 'x.io/a': '' },
    endpoint: { scheme: 'https', host: 'c.example', port: 6443, basePath: '/p' },
    tls: { ca: `${one.cert.trim()}\n`, serverName: 'kubernetes', insecure: false },
    proxy: { scheme: 'socks5', host: 'proxy', port: 1080, userinfo: undefined },
    problem: undefined,
  });
  assert.equal(plan.authorization, 'Bearer t');
});

test('no certificate-authority means the system roots; insecure is kept and never together with a CA', () => {
  assert.deepEqual(draft({}, undefined).spec.tls, { ca: undefined, serverName: undefined, insecure: false });
  assert.equal(draft({ 'insecure-skip-tls-verify': true }, undefined).spec.tls.insecure, true);
  const both = { 'insecure-skip-tls-verify': true, 'certificate-authority': 'ca.crt' };
  assert.match(
    problem(both, undefined, { '/home/jane/.kube/ca.crt': one.cert }),
    /insecure-skip-tls-verify and a cert/,
  );
});

test('certificate-authority: data wins over the file, relative files start at the kubeconfig, a bad one is a problem', () => {
  const files = { '/home/jane/.kube/pki/ca.crt': two.cert };
  const data = { 'certificate-authority-data': base64(one.cert) };
  assert.equal(draft({ 'certificate-authority': 'pki/ca.crt' }, undefined, files).spec.tls.ca, `${two.cert.trim()}\n`);
  assert.equal(
    draft({ 'certificate-authority': 'pki/ca.crt', ...data }, undefined, files).spec.tls.ca,
    `${one.cert.trim()}\n`,
  );
  assert.match(problem({ 'certificate-authority': '/x/ca' }, undefined), /^\/x\/ca: no such file$/);
  assert.match(problem({ 'certificate-authority': '/x/ca' }, undefined, { '/x/ca': '' }), /no valid PEM certificate/);
  assert.match(problem({ 'certificate-authority-data': base64('junk') }, undefined), /no valid PEM certificate/);
});

test('credentials follow the precedence of client-go', () => {
  const dir = '/home/jane/.kube';
  const files = { [`${dir}/tok`]: ' from-file\n', [`${dir}/c.pem`]: one.cert, [`${dir}/k.pem`]: one.key };
  const pair = { 'client-certificate-data': base64(two.cert), 'client-key-data': base64(two.key) };
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' };
  const plan = (user: Entry | undefined) => {
    const { plan, spec } = draft({}, user, files);
    assert.equal(spec.problem, undefined);
    return [plan.kind, plan.authorization, plan.clientCertificate?.cert];
  };
  assert.deepEqual(plan(undefined), ['none', undefined, undefined]);
  assert.deepEqual(plan({}), ['none', undefined, undefined]);
  assert.deepEqual(plan({ token: 'a' }), ['token', 'Bearer a', undefined]);
  assert.deepEqual(plan({ token: 'a', tokenFile: 'tok' }), ['token-file', 'Bearer from-file', undefined]);
  assert.deepEqual(plan({ token: 'a', tokenFile: 'missing' }), ['token', 'Bearer a', undefined]);
  assert.deepEqual(plan({ username: 'jane', password: 'pä:ß' }), ['basic', `Basic ${base64('jane:pä:ß')}`, undefined]);
  assert.deepEqual(plan(pair), ['client-certificate', undefined, two.cert]);
  assert.deepEqual(plan({ ...pair, token: 'a' }), ['token', 'Bearer a', two.cert]);
  assert.deepEqual(plan({ 'client-certificate': 'c.pem', 'client-key': 'k.pem' }), [
    'client-certificate',
    undefined,
    one.cert,
  ]);
  assert.deepEqual(plan({ ...pair, 'client-certificate': 'c.pem', 'client-key': 'gone' }), [
    'client-certificate',
    undefined,
    two.cert,
  ]);
  assert.deepEqual(plan({ exec }), ['exec', undefined, undefined]);
  assert.deepEqual(plan({ exec, ...pair }), ['exec', undefined, two.cert]);
  assert.deepEqual(plan({ exec, token: 'a' }), ['token', 'Bearer a', undefined]);
});

test('what we cannot do is a problem that says why and shows no secret', () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' };
  const pem = { 'client-certificate-data': base64(one.cert), 'client-key-data': base64(two.key) };
  const cases: readonly (readonly [Entry, RegExp])[] = [
    [{ 'auth-provider': { name: 'gcp' } }, /auth-provider.*exec plugin/],
    [{ token: 'sekret', as: 'admin' }, /impersonates/],
    [{ token: 'sekret', 'as-groups': ['system:masters'] }, /impersonates/],
    [{ token: 'sekret', 'as-user-extra': { scopes: ['few'] } }, /impersonates/],
    [{ token: 'sekret', username: 'x' }, /both a token and a password/],
    [{ token: 'sekret\nx' }, /white space/],
    [{ tokenFile: '/x/tok' }, /\/x\/tok: no such file/],
    [{ tokenFile: '/x/empty' }, /token file \/x\/empty is empty/],
    [{ 'client-certificate': '/x/c' }, /no client-key/],
    [{ 'client-key': '/x/c' }, /no client-certificate/],
    [pem, /key belongs to another certificate/],
    [{ exec: { ...exec, command: '' } }, /without a command/],
    [{ exec: { ...exec, apiVersion: 'client.authentication.k8s.io/v1alpha1' } }, /apiVersion must be/],
    [{ exec: { ...exec, interactiveMode: 'Always' } }, /terminal/],
    [{ exec: { ...exec, interactiveMode: 'Often' } }, /interactiveMode must be/],
    [{ exec: { ...exec, env: [{ name: 'A=B', value: 'x' }] } }, /cannot be passed on/],
  ];
  for (const [user, reason] of cases) {
    const message = problem({}, user, { '/x/empty': '\n' });
    assert.match(message, reason);
    assert.doesNotMatch(message, /sekret/);
  }
});

test('a context that names nothing usable is a problem of that context only', () => {
  const text = `clusters: [{name: c, cluster: {server: "https://c"}}, {name: bad, cluster: {server: "https://c/../x"}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: ok, context: {cluster: c, user: u}}
- {name: stale, context: {cluster: gone, user: u}}
- {name: nouser, context: {cluster: c, user: gone}}
- {name: none}
- {name: dots, context: {cluster: bad}}
- {name: "…", context: {cluster: c}}
- {name: " ", context: {cluster: c}}`;
  const drafts = draftClusters(file, parseKubeconfig(file, text), () => '');
  assert.deepEqual(
    drafts.map(({ spec }) => spec.problem?.message.slice(0, 40)),
    [
      undefined,
      'the cluster "gone" is not in this file',
      'the user "gone" is not in this file',
      'the context names no cluster',
      'the path of server must not have empty o',
      undefined,
      'the context has no name; rename the cont',
    ],
  );
});

test('a server without a scheme is asked as kubectl asks it (kubernetes-client/java#88, kubesphere#917)', () => {
  const server = '192.168.1.135:8001';
  const plain = draft({ server }, { token: 't' });
  assert.deepEqual([plain.spec.endpoint?.scheme, plain.spec.endpoint?.port, plain.plan.kind], ['http', 8001, 'none']);
  for (const trust of [
    { 'certificate-authority-data': base64(one.cert) },
    { 'insecure-skip-tls-verify': true },
    { 'certificate-authority': '/ca.pem' },
  ]) {
    const { spec, plan } = draft({ server, ...trust }, { token: 't' }, { '/ca.pem': one.cert });
    assert.deepEqual([spec.problem, spec.endpoint?.scheme, plan.kind], [undefined, 'https', 'token']);
  }
});

test('over plain http no credential is used, as in client-go', () => {
  assert.equal(draft({ server: 'http://127.0.0.1:8001' }, { token: 't' }).plan.kind, 'none');
});

test('a plugin gets its command resolved, and the cluster only when it asks', () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1beta1', command: 'bin/login', provideClusterInfo: true };
  const cluster = {
    'certificate-authority-data': base64(one.cert),
    'tls-server-name': 'k',
    'proxy-url': 'http://p:1',
    extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x', port: 8443 } }],
  };
  const asking = draft(cluster, { exec });
  assert.equal(asking.plan.exec?.command, '/home/jane/.kube/bin/login');
  assert.deepEqual(asking.execCluster, {
    server: 'https://c.example:6443',
    'tls-server-name': 'k',
    'certificate-authority-data': base64(`${one.cert.trim()}\n`),
    'proxy-url': 'http://p:1',
    config: { audience: 'x', port: 8443 },
  });
  const silent = draft(cluster, { exec: { ...exec, command: 'login', provideClusterInfo: false } });
  assert.equal(silent.plan.exec?.command, 'login');
  assert.equal(silent.execCluster, undefined);
});

test('the uid is stable, and another server behind the same name is another uid', () => {
  const uid = (cluster: Entry, user?: Entry) => draft(cluster, user).spec.uid;
  assert.equal(uid({}), uid({}, { token: 'other' }));
  assert.notEqual(uid({}), uid({ server: 'https://other.example' }));
  const text =
    'clusters: [{name: c, cluster: {server: "https://c"}}]\ncontexts: [{name: a, context: {cluster: c}}, {name: a, context: {cluster: c}}]';
  const twice = draftClusters(file, parseKubeconfig(file, text), () => '');
  assert.equal(new Set(twice.map(({ spec }) => spec.uid)).size, 2, 'a context written twice is two registrations');
});

test('the transport key changes with address, trust, proxy and client certificate, not with a token', () => {
  const key = (cluster: Entry, user?: Entry) => draft(cluster, user).spec.transportKey;
  const pair = { 'client-certificate-data': base64(one.cert), 'client-key-data': base64(one.key) };
  const other = { 'client-certificate-data': base64(two.cert), 'client-key-data': base64(two.key) };
  assert.equal(key({}, { token: 'a' }), key({}, { token: 'b' }));
  const keys = [
    key({}),
    key({ server: 'https://c.example:6444' }),
    key({ server: 'https://c.example:6443/x' }),
    key({ 'tls-server-name': 'x' }),
    key({ 'insecure-skip-tls-verify': true }),
    key({ 'certificate-authority-data': base64(one.cert) }),
    key({ 'certificate-authority-data': base64(two.cert) }),
    key({ 'proxy-url': 'http://p' }),
    key({ 'proxy-url': 'http://u:a@p' }),
    key({ 'proxy-url': 'http://u:b@p' }),
    key({}, pair),
    key({}, other),
  ];
  assert.equal(new Set(keys).size, keys.length);
});

test('a label that is none makes the cluster unusable', () => {
  const labels = (extension: unknown) => ({ extensions: [{ name: 'gateway.portcullis.io/labels', extension }] });
  assert.match(problem({}, undefined, {}, labels(['a'])), /must be a mapping/);
  assert.match(problem({}, undefined, {}, labels({ version: 1 })), /"version" must be text/);
  assert.match(problem({}, undefined, {}, labels({ a: 'x y' })), /not a label value/);
});

test('the files to watch are exactly those that are read', () => {
  const text = `clusters:
- {name: c, cluster: {server: "https://c", certificate-authority: ca.crt}}
- {name: d, cluster: {server: "https://c", certificate-authority: unread.crt, certificate-authority-data: ${base64('x')}}}
users:
- {name: u, user: {tokenFile: ../tok, client-certificate: /abs/c.pem, client-key: k.pem}}
- {name: unused, user: {tokenFile: unused}}
contexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: d}}, {name: e, context: {cluster: x, user: x}}]`;
  assert.deepEqual(referencedFiles(file, parseKubeconfig(file, text)), [
    '/home/jane/.kube/ca.crt',
    '/home/jane/tok',
    '/abs/c.pem',
    '/home/jane/.kube/k.pem',
  ]);
});

test('a cluster without a proxy-url is reached by the proxy of the environment, as kubectl reaches it', () => {
  const drafted = (cluster: Entry, environment: Record<string, string>) => {
    const document = {
      clusters: [{ name: 'c', cluster: { server: 'https://api.corp.example:6443', ...cluster } }],
      contexts: [{ name: 'ctx', context: { cluster: 'c' } }],
    };
    const kubeconfig = parseKubeconfig(file, JSON.stringify(document));
    return draftClusters(file, kubeconfig, () => '', new Map(), environment)[0]!.spec;
  };
  const environment = { HTTPS_PROXY: 'http://proxy.corp:3128', NO_PROXY: '.internal' };
  const at = (host: string, port: number) => ({ scheme: 'http', host, port, userinfo: undefined });
  assert.deepEqual(drafted({}, environment).proxy, at('proxy.corp', 3128));
  assert.deepEqual(drafted({ 'proxy-url': 'http://own:1' }, environment).proxy, at('own', 1));
  assert.equal(drafted({ server: 'https://api.internal' }, environment).proxy, undefined);
  assert.equal(drafted({ server: 'http://api.corp' }, environment).proxy, undefined);
  assert.equal(drafted({}, {}).proxy, undefined);
  assert.match(drafted({}, { HTTPS_PROXY: 'ftp://x' }).problem!.message, /the variable HTTPS_PROXY must start with/);
});
