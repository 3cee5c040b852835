import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigurationError } from '../lib/configuration-error.ts';
import { readConfig } from './config.ts';
import type { ConfigInput } from './written.ts';
import { tempDir } from '../test/pretend/temp-dir.ts';

const minimal: ConfigInput = { kubeconfig: ['/k'], tokenAuthFile: '/t' };

function faultsOf(input: ConfigInput): string {
  try {
    readConfig(input, {});
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.message;
  }
  return '';
}

function withFile<T>(text: string, use: (file: string, dir: string) => T): T {
  const dir = tempDir('config');
  const file = join(dir, 'portcullis.yaml');
  writeFileSync(file, text);
  return use(file, dir);
}

test('flags win over the file, the file over defaults; paths start where they were written', () => {
  withFile(
    'listen: 127.0.0.1:1\nopsListen: 127.0.0.1:2\nkubeconfig: k.yaml\ntokenAuthFile: t.csv\nshutdownGraceSeconds: 3\n',
    (config, dir) => {
      const read = readConfig({ config, listen: '127.0.0.1:9' }, { XDG_STATE_HOME: '/state' });
      assert.equal(read.listen.port, 9);
      assert.equal(read.opsListen.port, 2);
      assert.deepEqual(read.kubeconfigs, [join(dir, 'k.yaml')]);
      assert.equal(read.tokenAuthFile, join(dir, 't.csv'));
      assert.equal(read.dataDir, '/state/portcullis');
      assert.equal(read.shutdownGraceMs, 3000);
      assert.equal(read.identity, 'impersonate');
    },
  );
});

test('every fault is reported at once', () => {
  const message = faultsOf({ listen: 'nonsense', identity: 'other', tlsCertFile: '/c', clusterDomain: '-x' });
  assert.match(message, /--identity: must be "impersonate" or "self"/);
  for (const flag of ['--listen', '--kubeconfig', '--identity', '--tls-cert-file', '--cluster-domain']) {
    assert.ok(message.includes(flag), `${flag} in ${message}`);
  }
});

test('faults of the file name file, line and key', () => {
  withFile('listen: 127.0.0.1:1\nlogLevel: loud\n', (config) => {
    assert.match(faultsOf({ ...minimal, config }), /portcullis\.yaml:2:\d+: logLevel: /);
  });
  withFile('listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n', (config) => {
    assert.match(faultsOf({ ...minimal, config }), /portcullis\.yaml:2:1: /);
  });
  withFile('lisen: 127.0.0.1:1\n', (config) => assert.match(faultsOf({ ...minimal, config }), /lisen/));
  assert.match(
    faultsOf({ ...minimal, config: '/does/not/exist.yaml' }),
    /\/does\/not\/exist\.yaml: cannot be read: ENOENT/,
  );
});

test('a gateway nobody could log in to is refused', () => {
  assert.match(faultsOf({ kubeconfig: ['/k'] }), /nobody could log in/);
});

test('identity self is refused on other addresses and beside other ways to log in', () => {
  const self = { kubeconfig: ['/k'], identity: 'self' } as const;
  assert.equal(faultsOf(self), '');
  assert.equal(faultsOf({ ...self, listen: '[::1]:1' }), '');
  for (const listen of ['0.0.0.0:8443', '192.0.2.1:8443', '[::]:8443', 'example.com:8443', '127.0.0.1.example.com:1']) {
    assert.match(faultsOf({ ...self, listen }), /loopback/, listen);
  }
  assert.match(faultsOf({ ...self, tokenAuthFile: '/t' }), /--token-auth-file/);
  assert.match(faultsOf({ ...self, clientCaFile: '/c' }), /--client-ca-file/);
});

test('plugins of a hub are allowed by whole command lines, and a list of commands is refused with how to write it (ATT-48)', () => {
  const hub = { hubKubeconfig: '/h' };
  const lines = ['aws eks get-token --cluster-name * --region *', 'gke-gcloud-auth-plugin'];
  const read = readConfig({ ...hub, allowExec: lines, allowExecEnv: 'CORP_TENANT, CORP_ZONE' }, {}, false);
  assert.deepEqual(read.hub?.allowExec, lines);
  assert.deepEqual(read.hub?.allowExecEnv, ['CORP_TENANT', 'CORP_ZONE']);
  withFile(`allowExec: ${JSON.stringify(lines)}\nhubKubeconfig: /h\n`, (config) =>
    assert.deepEqual(readConfig({ config }, {}, false).hub?.allowExec, lines),
  );
  withFile('allowExec: aws eks get-token\nhubKubeconfig: /h\n', (config) =>
    assert.deepEqual(readConfig({ config }, {}, false).hub?.allowExec, ['aws eks get-token']),
  );
  const example =
    /--allow-exec: "aws, ?gcloud" lists commands: .* whole command line, given once for each, as in "aws eks/;
  for (const allowExec of [['aws,gcloud'], ['aws, gcloud']]) assert.match(faultsOf({ ...hub, allowExec }), example);
  withFile('allowExec: aws,gcloud\nhubKubeconfig: /h\n', (config) => assert.match(faultsOf({ config }), example));
  assert.match(faultsOf({ ...hub, allowExec: ['* get-token'] }), /the command itself cannot be a pattern/);
  assert.match(faultsOf({ ...hub, allowExec: ['aws --x=*:*'] }), /one \* at most, "--x=\*:\*" has more/);
  assert.match(faultsOf({ ...hub, allowExec: [' '] }), /holds no command/);
  assert.match(faultsOf({ ...hub, allowExecEnv: 'A=B' }), /--allow-exec-env: "A=B" is no name/);
});

test('a shared serving certificate needs its names and a hub, and no certificate files beside it', () => {
  const shared = { hubKubeconfig: '/h', servingSecret: 'gate/serving', servingNames: 'portcullis.gate.svc,portcullis' };
  const read = readConfig({ ...shared, apiServices: 'v1alpha1.gateway.portcullis.io' }, {}, false);
  assert.deepEqual(read.hub?.serving, {
    namespace: 'gate',
    secretName: 'serving',
    names: ['portcullis.gate.svc', 'portcullis'],
    apiServices: ['v1alpha1.gateway.portcullis.io'],
  });
  assert.match(faultsOf({ ...shared, servingSecret: 'serving' }), /--serving-secret: "serving" is not NAMESPACE\/NAME/);
  assert.match(faultsOf({ ...shared, servingNames: '' }), /--serving-names/);
  assert.match(faultsOf({ hubKubeconfig: '/h', servingNames: 'a' }), /--serving-names: needs --serving-secret/);
  assert.match(
    faultsOf({ ...shared, tlsCertFile: '/c', tlsPrivateKeyFile: '/k' }),
    /cannot be used with --tls-cert-file/,
  );
  assert.match(faultsOf({ ...minimal, servingSecret: 'gate/serving' }), /--serving-secret: needs a hub/);
});

test('a kubeconfig that no source would read is refused, not ignored', () => {
  const behindHub = { hubKubeconfig: '/h', kubeconfig: ['/k'] };
  assert.match(
    faultsOf({ ...behindHub, sources: 'ocm,karmada' }),
    /--kubeconfig: would be ignored: --sources does not/,
  );
  for (const sources of [undefined, 'kubeconfig', 'ocm,kubeconfig']) {
    assert.equal(faultsOf(sources === undefined ? behindHub : { ...behindHub, sources }), '');
  }
});

test('--forward-reserved takes whole reserved names, and none whose way out is decided elsewhere (ATT-45)', () => {
  const reserved = (forwardReserved: string) => readConfig({ ...minimal, forwardReserved }).outgoing;
  const listed = reserved('system:authenticated:oauth, kubeadm:cluster-admins');
  assert.deepEqual(listed.forwardReserved, ['system:authenticated:oauth', 'kubeadm:cluster-admins']);
  assert.equal(listed.forwardSystemMasters, false);
  assert.equal(reserved('system:masters').forwardSystemMasters, true);
  for (const name of [
    'ops',
    'system',
    'system:nodes',
    'system:node:n1',
    'system:kube-scheduler',
    'system:bootstrappers:x',
    'system:serviceaccount:a:b',
    'system:serviceaccounts:a',
    'system:authenticated',
  ]) {
    assert.match(
      faultsOf({ ...minimal, forwardReserved: `system:ok,${name}` }),
      /--forward-reserved: ".*" cannot be listed/,
    );
  }
});

test("--karmada-search needs Karmada's clusters and an index, which it starts at once", () => {
  const hub = { ...minimal, hubKubeconfig: '/h' };
  const beside = readConfig({ ...hub, karmadaSearch: 'beside' }, {}, false);
  assert.equal(beside.hub?.karmadaSearch, 'beside');
  assert.equal(beside.index?.startsAtOnce, true);
  assert.equal(readConfig(hub, {}, false).hub?.karmadaSearch, undefined);
  assert.match(faultsOf({ ...hub, karmadaSearch: 'instead' }), /--karmada-search: must be "beside" or "replace"/);
  assert.match(faultsOf({ ...hub, karmadaSearch: 'replace', sources: 'ocm' }), /--karmada-search: needs the source/);
  assert.match(faultsOf({ ...hub, karmadaSearch: 'replace', indexResources: ['none'] }), /needs an index; remove/);
  assert.match(faultsOf({ ...minimal, karmadaSearch: 'replace' }), /--karmada-search/);
});

test('--hub-origins takes origins, and names that every pod of the hub has are there without it (ATT-52)', () => {
  const hub = { ...minimal, hubKubeconfig: '/h' };
  const environment = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
  const { origins } = readConfig({ ...hub, hubOrigins: 'https://Hub.example:6443, https://hub:443' }, environment).hub!;
  for (const origin of [
    'https://hub.example:6443',
    'https://hub',
    'https://kubernetes.default.svc',
    'https://10.96.0.1',
  ]) {
    assert.ok(origins!.includes(origin), origin);
  }
  for (const odd of [
    'hub.example',
    'http://hub.example',
    'https://hub.example/',
    'https://a@b',
    'null',
    'https://*.b',
  ]) {
    assert.match(faultsOf({ ...hub, hubOrigins: odd }), /--hub-origins: ".*" is not an origin/, odd);
  }
  assert.match(faultsOf({ ...minimal, hubOrigins: 'https://hub' }), /--hub-origins: needs a hub/);
});

test('YAML that cannot become fields is a fault of the file, never a crash, and is not quoted', () => {
  for (const [text, expected] of [
    ['listen: *SECRET\n', /portcullis\.yaml:1:9: an alias has no anchor/],
    ['? [SECRET]\n: a\n', /portcullis\.yaml:1:3: a key must be a text/],
    ['listen: "\\USECRET00"\n', /portcullis\.yaml:1:\d+: Invalid escape sequence/],
  ] as const) {
    withFile(text, (config) => {
      const reported = faultsOf({ ...minimal, config });
      assert.match(reported, expected);
      assert.doesNotMatch(reported, /SECRET/);
    });
  }
});

test("cluster-gateway's names of flags are accepted beside ours, but not with another value", () => {
  const hub = { hubKubeconfig: '/h' };
  const read = readConfig({ ...hub, clusterGatewayProxyConfig: '/rules', authorizeProxySubpath: true }, {}, false);
  assert.equal(read.outgoing.exchangeFile, '/rules');
  assert.equal(read.hub?.subpathAuthorization, true);
  const both = { ...hub, clusterGatewayProxyConfig: '/rules', identityExchange: '/others' };
  assert.match(faultsOf(both), /--identity-exchange: --cluster-gateway-proxy-config is another name of this flag/);
  assert.match(faultsOf({ ...minimal, authorizeProxySubpath: true }), /--subpath-authorization: needs a hub/);
});

test('a switch is true without a value, true or false with one, and nothing else', () => {
  const limits = (endExpiredStreams: unknown) => readConfig({ ...minimal, endExpiredStreams }, {}).limits;
  for (const [written, expected] of [
    [undefined, true],
    [true, true],
    ['true', true],
    ['false', false],
    [false, false],
  ] as const)
    assert.equal(limits(written).endExpiredStreams, expected, String(written));
  for (const written of ['', 'yes', '0'])
    assert.match(faultsOf({ ...minimal, endExpiredStreams: written }), /--end-expired-streams: must be "true" or/);
});

test('an empty value is a fault where it could not be meant, of flags and of the file', () => {
  for (const name of ['authorizationRules', 'clientCaFile', 'authenticationConfig', 'tracingConfigFile'] as const) {
    assert.match(faultsOf({ ...minimal, [name]: '' }), /is empty/, name);
    withFile(`${name}: ""\n`, (config) => assert.match(faultsOf({ ...minimal, config }), new RegExp(name), name));
    withFile(`${name}: null\n`, (config) => assert.match(faultsOf({ ...minimal, config }), new RegExp(name), name));
  }
});
