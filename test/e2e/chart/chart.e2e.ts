// The Helm chart with real Helm on a real hub: linted, rendered as its goldens say, taken by the API server, installed,
// upgraded, and put in cluster-gateway's place and back. `PORTCULLIS_WRITE_GOLDENS=1` writes the goldens anew; read the
// difference before committing it.
// Landing tier: the chart installs, upgrades and is removed.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { chartFolder, helm, objectsOf, release, template, valueSets } from '../../chart/helm.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { CommandResult, ControlPlane, Member } from '../../controlplane/fixture.ts';
import { until } from '../../controlplane/member.ts';
import { runCommand } from '../../controlplane/processes.ts';

const ownApi = 'v1alpha1.gateway.portcullis.io';
const gatewayApi = 'v1alpha1.cluster.core.oam.dev';
const namespaces = [
  'argocd',
  'clusterpedia-system',
  'clusters',
  'joining',
  'karmada-cluster',
  'karmada-clusters',
  'monitoring',
  'open-cluster-management-credentials',
  release,
  'vela-system',
];
const ca = readFileSync(join(import.meta.dirname, '../../chart/values/7-own-certificate-direct.yaml'), 'utf8');
const caBundle = Buffer.from(/-----BEGIN[\s\S]+END CERTIFICATE-----/.exec(ca)![0].replaceAll(/^ +/gm, '')).toString(
  'base64',
);

let plane: ControlPlane;
let hub: Member;

before(async () => {
  plane = await startControlPlane({ members: ['hub'], bare: ['hub'] });
  hub = plane.member('hub');
  for (const file of ['certificates', 'servicemonitors', 'prometheusrules']) {
    const text = readFileSync(join(import.meta.dirname, `../../chart/crds/${file}.yaml`), 'utf8');
    await hub.apply(...parseAllDocuments(text).map((document) => document.toJS() as object));
  }
  await hub.apply(...namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
  for (const path of [
    'cert-manager.io/v1/issuers',
    'cert-manager.io/v1/certificates',
    'monitoring.coreos.com/v1/servicemonitors',
    'monitoring.coreos.com/v1/prometheusrules',
  ])
    await until(path, async () => (await hub.request('GET', `/apis/${path}`)).status === 200);
});
after(() => plane?.stop());

/** Helm on the hub; rejects with its words when it fails. */
async function onHub(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await tryOnHub(...args);
  if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}${stdout}`);
  return stdout;
}

function tryOnHub(...args: readonly string[]): Promise<CommandResult> {
  return helm(args, hub.adminKubeconfig);
}

async function apiService(name: string): Promise<ApiService | undefined> {
  const { status, body } = await hub.request('GET', `/apis/apiregistration.k8s.io/v1/apiservices/${name}`);
  return status === 404 ? undefined : (JSON.parse(body) as ApiService);
}

interface ApiService {
  readonly metadata: { readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly service: { readonly name: string; readonly namespace: string };
    readonly caBundle?: string;
    readonly insecureSkipTLSVerify?: boolean;
    readonly groupPriorityMinimum: number;
  };
}

test('helm lint finds nothing, with every value set', async () => {
  for (const { name, values } of valueSets()) {
    const { code, stdout } = await helm(['lint', '--strict', chartFolder, '--kube-version', 'v1.36.3', '-f', values]);
    assert.equal(code, 0, `${name}: ${stdout}`);
    assert.match(stdout, /1 chart\(s\) linted, 0 chart\(s\) failed/);
    assert.doesNotMatch(stdout, /\[(?:ERROR|WARNING)\]/);
  }
});

test('the fourteen value sets render as their goldens say', async () => {
  assert.equal(valueSets().length, 14);
  for (const { name, values, golden } of valueSets()) {
    const { code, stdout, stderr } = await template('-f', values);
    assert.equal(code, 0, `${name}: ${stderr}`);
    if (process.env['PORTCULLIS_WRITE_GOLDENS'] === '1') writeFileSync(golden, stdout);
    assert.equal(
      stdout,
      readFileSync(golden, 'utf8'),
      `${name} renders otherwise; PORTCULLIS_WRITE_GOLDENS=1 writes it anew`,
    );
  }
});

test("Argo CD's Secrets are read in its own namespace unless others are named", async () => {
  for (const [more, namespaces] of [
    [[], ['argocd']],
    [['--set', 'secretNamespaces={gitops}'], ['gitops']],
  ] as const) {
    const { code, stdout, stderr } = await template('--set', 'sources={argocd}', ...more);
    assert.equal(code, 0, stderr);
    const roles = objectsOf(stdout).filter(
      ({ kind, metadata }) => kind === 'Role' && metadata.name.endsWith('-sources'),
    );
    assert.deepEqual(
      roles.map(({ metadata }) => metadata.namespace),
      namespaces,
    );
  }
});

test('the API server takes every golden, and would not take a misspelt field', async () => {
  const dryRun = (text: string): Promise<CommandResult> =>
    hub.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { stdin: text });
  for (const { name, golden } of valueSets()) {
    const text = readFileSync(golden, 'utf8');
    const { code, stdout, stderr } = await dryRun(text);
    assert.equal(code, 0, `${name}: ${stderr}`);
    assert.doesNotMatch(stderr, /Warning/, name);
    assert.equal(stdout.trim().split('\n').length, objectsOf(text).length, name);
  }
  const monitored = readFileSync(valueSets()[5]!.golden, 'utf8');
  for (const [field, typo] of [
    ['readOnlyRootFilesystem', 'readonlyRootFilesystem'],
    ['scrapeTimeout', 'scrapeTimout'],
    ['rotationPolicy', 'rotatePolicy'],
  ] as const) {
    assert.ok(monitored.includes(field));
    assert.notEqual((await dryRun(monitored.replace(field, typo))).code, 0, typo);
  }
});

test('the schema refuses typing mistakes and impossible values, and templates refuse what does not go together', async () => {
  const refused: readonly (readonly [sets: readonly string[], reason: RegExp])[] = [
    [['replica=3'], /additional properties 'replica' not allowed/i],
    [['clusterGateway.apiservice=true'], /additional properties 'apiservice' not allowed/i],
    [['metrics.serviceMonitor.enable=true'], /additional properties 'enable' not allowed/i],
    [['replicas=0'], /replicas/],
    [['replicas=two'], /replicas/],
    [['sources={ocm,cluster-gatway}'], /sources/],
    [['sources={ocm,ocm}'], /sources/],
    [['servingCertificate.mode=own'], /servingCertificate/],
    [['identity.serviceAccounts=forward'], /serviceAccounts/],
    [['authorization.authorizedTtl=10'], /authorizedTtl/],
    [['service.type=ExternalName'], /type/],
    [['extraArgs={identity self}'], /extraArgs/],
    [['settings.worksHistry=20'], /additional properties 'worksHistry' not allowed/i],
    // Set by the chart itself, whose command line would win.
    [['settings.executeWorks=true'], /additional properties 'executeWorks' not allowed/i],
    [['limits.maxStrems=1'], /additional properties 'maxStrems' not allowed/i],
    [['sources={vcluster}'], /need secretNamespaces/],
    [['sources={kubeconfig}'], /source kubeconfig needs kubeconfigSecrets/],
    [['kubeconfigSecrets[0].name=a,kubeconfigSecrets[0].key=b'], /sources does not list kubeconfig/],
    [['index.resources=pods'], /index\.resources needs room: set state\.sizeLimit/],
    [['index.apiService=true,replicas=1'], /need index\.resources/],
    [
      ['index.apiService=true,index.resources=pods,state.sizeLimit=1Gi'],
      /need replicas=1 or index\.store=postgres: in SQLite each replica/,
    ],
    [['karmada.search=instead'], /search/],
    [['karmada.search=replace'], /karmada\.search needs the source karmada/],
    [['karmada.search=replace', 'sources={karmada}'], /karmada\.search needs an index/],
    [['karmada.searchApiService=true'], /searchApiService=true needs karmada\.search=replace/],
    [['index.store=postgres'], /index\.store=postgres needs index\.resources/],
    [['index.store=postgres,index.resources=pods'], /needs index\.postgres\.host/],
    [['index.store=postgres,index.resources=pods,index.postgres.host=db'], /needs index\.postgres\.existingSecret/],
    [['index.store=postgres,index.postgres.sslmode=prefer'], /sslmode/],
    [['index.store=postgres,index.postgres.user=a:b'], /user/],
    [['audit.webhook.kubeconfigSecret=a'], /audit\.webhook need audit\.policy/],
    [['audit.policy=a,audit.log.path='], /audit\.policy needs audit\.log\.path/],
    [['limits.maxUserRequestInflight=1'], /maxUserRequestInflight/],
    [['servingCertificate.mode=secret', 'servingCertificate.secretName=tls'], /needs servingCertificate.caBundle/],
    [['servingCertificate.mode=secret', 'apiService.create=false'], /servingCertificate.secretName is needed/],
    [['clusterGateway.updateHealth=true'], /needs the source cluster-gateway/],
    [['identity.allowPrivileged=true'], /needs identity.privilegedUser/],
    [['clusterGateway.api=false', 'clusterGateway.apiService=true'], /needs clusterGateway.api=true/],
    [['serviceAccount.create=false'], /serviceAccount.name is needed/],
  ];
  for (const [sets, reason] of refused) {
    const { code, stderr } = await template(...sets.flatMap((set) => ['--set', set]));
    assert.notEqual(code, 0, sets.join());
    assert.match(stderr, reason);
  }
});

test('install, upgrade, rollback and uninstall keep the shared certificate and leave nothing behind', async () => {
  const notes = await onHub('install', release, chartFolder, '-n', release);
  assert.match(notes, /kubectl -n portcullis rollout status deployment\/portcullis/);
  assert.match(notes, /kubectl get clusters\.gateway\.portcullis\.io/);
  assert.doesNotMatch(notes, /WARNING/);
  // What the gateway does once it runs.
  const secret = '/api/v1/namespaces/portcullis/secrets/portcullis-serving';
  const patch = { 'content-type': 'application/merge-patch+json' };
  assert.equal((await hub.request('PATCH', secret, { data: { 'tls.crt': 'c2hhcmVk' } }, patch)).status, 200);
  const ownPath = `/apis/apiregistration.k8s.io/v1/apiservices/${ownApi}`;
  assert.equal((await hub.request('PATCH', ownPath, { spec: { caBundle } }, patch)).status, 200);
  const unchanged = async (): Promise<void> => {
    const { data } = JSON.parse((await hub.request('GET', secret)).body) as { data?: Record<string, string> };
    assert.deepEqual(data, { 'tls.crt': 'c2hhcmVk' });
    assert.equal((await apiService(ownApi))?.spec.caBundle, caBundle);
  };
  const replicas = async (): Promise<number> => {
    const { body } = await hub.request('GET', '/apis/apps/v1/namespaces/portcullis/deployments/portcullis');
    return (JSON.parse(body) as { spec: { replicas: number } }).spec.replicas;
  };
  await onHub('upgrade', release, chartFolder, '-n', release, '--set', 'replicas=3,sources={ocm,cluster-gateway}');
  assert.equal(await replicas(), 3);
  await unchanged();
  const role =
    '/apis/rbac.authorization.k8s.io/v1/namespaces/open-cluster-management-credentials/roles/portcullis-sources';
  assert.equal((await hub.request('GET', role)).status, 200);
  await onHub('rollback', release, '1', '-n', release);
  assert.equal(await replicas(), 2);
  assert.equal((await hub.request('GET', role)).status, 404, 'the right of the source that is off is gone');
  await unchanged();
  await onHub('uninstall', release, '-n', release);
  const kinds =
    'deployments,services,secrets,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,apiservices,pdb';
  const left = await hub.kubectl(['get', kinds, '-A', '-l', 'app.kubernetes.io/instance=portcullis', '-o', 'name']);
  assert.equal(left.stdout, '');
});

test('clusterWideSecrets is told after the installation', async () => {
  const notes = await onHub(
    'install',
    'wide',
    chartFolder,
    '-n',
    release,
    '--dry-run=client',
    '--set',
    'clusterWideSecrets=true',
  );
  assert.match(
    notes,
    /WARNING: clusterWideSecrets=true\. ServiceAccount portcullis\/wide-portcullis can read EVERY Secret/,
  );
});

test("cluster-gateway's APIService is taken over without a gap, and given back without a gap", async () => {
  const chart = join(plane.dir, 'cluster-gateway');
  mkdirSync(join(chart, 'templates'), { recursive: true });
  writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: cluster-gateway\nversion: 1.4.0\n');
  // The one object both charts have, as cluster-gateway's chart 1.4 writes it.
  writeFileSync(
    join(chart, 'templates', 'apiservice.yaml'),
    `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata:
  name: ${gatewayApi}
  labels: {api: cluster-extension-apiserver, apiserver: "true"}
spec:
  version: v1alpha1
  group: cluster.core.oam.dev
  groupPriorityMinimum: 2000
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {name: gateway-service, namespace: "{{ .Release.Namespace }}", port: 9443}
`,
  );
  await onHub('install', 'cluster-gateway', chart, '-n', 'vela-system');
  const uid = (await apiService(gatewayApi))!.metadata.uid;

  // Side by side.
  const beside = ['--set', 'sources={ocm,cluster-gateway},clusterGateway.secretNamespace=vela-system'];
  await onHub('install', release, chartFolder, '-n', release, ...beside);
  assert.equal((await apiService(gatewayApi))!.spec.service.name, 'gateway-service');

  // Taking over needs to be said.
  const upgrade = ['upgrade', release, chartFolder, '-n', release, '--reuse-values'];
  const careless = await tryOnHub(...upgrade, '--set', 'clusterGateway.apiService=true');
  assert.notEqual(careless.code, 0);
  assert.match(careless.stderr, /invalid ownership metadata/);
  assert.equal((await apiService(gatewayApi))!.spec.service.name, 'gateway-service');
  const notes = await onHub(...upgrade, '--set', 'clusterGateway.apiService=true', '--take-ownership');
  assert.equal((await apiService(gatewayApi))!.spec.service.name, 'gateway-service', 'nothing is cut while pods roll');
  const ownPath = `/apis/apiregistration.k8s.io/v1/apiservices/${ownApi}`;
  const merge = { 'content-type': 'application/merge-patch+json' };
  assert.equal((await hub.request('PATCH', ownPath, { spec: { caBundle } }, merge)).status, 200);
  await shell(/^ +(kubectl patch apiservice .*)$/m.exec(notes)![1]!);
  const taken = (await apiService(gatewayApi))!;
  assert.equal(taken.metadata.uid, uid, 'the same object: there was no moment without it');
  assert.deepEqual(taken.spec.service, { name: 'portcullis', namespace: 'portcullis', port: 443 });
  assert.ok(taken.spec.insecureSkipTLSVerify !== true);
  assert.equal(taken.spec.caBundle, caBundle, 'trusted in the same moment');

  // And back, by the commands of the page.
  const page = readFileSync(join(import.meta.dirname, '../../../docs/how-to/migrate/from-cluster-gateway.md'), 'utf8');
  const wayBack = /## The way back[\s\S]*?```sh\n([\s\S]*?)```/.exec(page)![1]!;
  const [switchBack = '', keep = '', ...rest] = wayBack.split('\n').filter((line) => !/^(?:#.*)?$/.test(line));
  await shell(switchBack);
  const back = (await apiService(gatewayApi))!;
  assert.deepEqual(back.spec.service, { name: 'gateway-service', namespace: 'vela-system', port: 9443 });
  assert.equal(back.spec.insecureSkipTLSVerify, true);
  assert.equal(back.spec.caBundle, undefined);
  await shell(keep);
  assert.equal(rest.length, 2);
  assert.match(rest[0]!, /^helm upgrade portcullis .*clusterGateway\.apiService=false/);
  await onHub(...upgrade, '--set', 'clusterGateway.apiService=false');
  await shell(rest[1]!);
  assert.equal((await apiService(gatewayApi))?.metadata.uid, uid, 'kept');
  await onHub('upgrade', 'cluster-gateway', chart, '-n', 'vela-system');
  await onHub('uninstall', release, '-n', release);
  assert.equal((await apiService(gatewayApi))?.spec.service.name, 'gateway-service', 'what was given back stays');
});

test('after cluster-gateway is uninstalled, one upgrade brings the APIService it took along', async () => {
  const values = [
    '--set',
    'sources={cluster-gateway},clusterGateway.secretNamespace=vela-system,clusterGateway.apiService=true',
  ];
  await onHub('install', release, chartFolder, '-n', release, ...values, '--take-ownership');
  await onHub('uninstall', 'cluster-gateway', '-n', 'vela-system');
  assert.equal(await apiService(gatewayApi), undefined);
  await onHub('upgrade', release, chartFolder, '-n', release, '--reuse-values');
  assert.deepEqual((await apiService(gatewayApi))!.spec.service, {
    name: 'portcullis',
    namespace: 'portcullis',
    port: 443,
  });
  await onHub('uninstall', release, '-n', release);
});

/** A command as a person would paste it, as the hub's administrator. */
async function shell(command: string): Promise<void> {
  const bin = join(plane.dir, 'bin');
  mkdirSync(bin, { recursive: true });
  if (!existsSync(join(bin, 'kubectl'))) symlinkSync(plane.binaries['kubectl']!, join(bin, 'kubectl'));
  const { code, stderr } = await runCommand('sh', ['-c', command], {
    env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, KUBECONFIG: hub.adminKubeconfig },
  });
  if (code !== 0) throw new Error(`${command}: ${stderr}`);
}
