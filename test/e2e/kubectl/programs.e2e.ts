// Clients other than kubectl do their work through the gateway, on a real member: a controller-runtime manager, an
// older kubectl, Helm, and the JavaScript client. Each gets a kubeconfig whose server is the cluster's address at the
// gateway.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { CoreV1Api, Exec, KubeConfig, Watch } from '@kubernetes/client-node';
import { ensureBinaries } from '../../controlplane/build.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { kubeconfigOf } from '../../pretend/kubeconfig.ts';

const run = promisify(execFile);
const carol = { token: 'carol-at-the-gateway', name: 'carol', uid: 'carol-uid', groups: [] };
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
let binaries: Readonly<Record<string, string>>;
let kubeconfig: string;

before(async () => {
  binaries = await ensureBinaries(['manager', 'kubectl-old', 'helm']);
  plane = await startControlPlane({ members: ['m1'], controllerManager: true, kwok: true, kubelet: true });
  member = plane.member('m1');
  gateway = await startGatewayProcess({ kubeconfigs: [plane.gatewayKubeconfig], users: [carol] });
  kubeconfig = join(plane.dir, 'carol.kubeconfig');
  const cluster = { server: `${gateway.url}/clusters/m1/proxy`, 'certificate-authority': gateway.caFile };
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(cluster, { token: carol.token })));
  await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'programs' } });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

/** Runs a program with carol's kubeconfig; rejects with its output when it fails. */
async function client(program: string, ...args: string[]): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: plane.dir, KUBECONFIG: kubeconfig };
  const { stdout, stderr } = await run(program, args, { env, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 });
  return stdout + stderr;
}

test('a controller-runtime manager with leader election, protobuf and WatchList reconciles through the gateway', async () => {
  const mark = await member.auditMark();
  const names = Array.from({ length: 10 }, (_, i) => `reconciled-${i}`);
  await member.apply(
    ...names.map((name) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'programs', labels: { 'portcullis.test/reconcile': 'true' } },
      data: { value: 'x' },
    })),
  );
  await client(
    binaries['manager']!,
    '--kubeconfig',
    kubeconfig,
    '--namespace',
    'programs',
    '--count',
    '10',
    '--timeout',
    '60s',
  );
  const events = (await member.audit(mark)).filter((event) => event.impersonatedUser?.username === 'carol');
  assert.ok(
    events.some(({ objectRef, verb }) => objectRef?.resource === 'leases' && verb === 'create'),
    'it took the lease as carol',
  );
  assert.ok(
    events.some(({ requestURI }) => requestURI.includes('sendInitialEvents=true')),
    'its informer used WatchList',
  );
  assert.equal(
    events.filter(({ verb, objectRef }) => /^(?:update|patch)$/.test(verb) && objectRef?.resource === 'configmaps')
      .length >= 10,
    true,
  );
});

test('kubectl three minors older works through the gateway', async () => {
  const kubectl = (...args: string[]): Promise<string> => client(binaries['kubectl-old']!, ...args);
  assert.match(await kubectl('version'), /Client Version: v1\.33\.[\s\S]*Server Version: v1\.36\./);
  await kubectl('create', 'configmap', 'old', '-n', 'programs', '--from-literal=k=v');
  assert.match(await kubectl('get', 'configmap', 'old', '-n', 'programs', '-o', 'yaml'), /k: v/);
  await kubectl('patch', 'configmap', 'old', '-n', 'programs', '-p', '{"data":{"k":"w"}}');
  assert.match(await kubectl('get', 'pods', '-A'), /No resources found|NAME/);
  assert.match(await kubectl('auth', 'whoami'), /carol/);
  await kubectl('delete', 'configmap', 'old', '-n', 'programs', '--wait=true');
});

test('Helm installs, upgrades, rolls back and uninstalls through the gateway', async () => {
  const chart = join(plane.dir, 'chart');
  mkdirSync(join(chart, 'templates'), { recursive: true });
  writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: small\nversion: 0.1.0\n');
  writeFileSync(join(chart, 'values.yaml'), 'replicas: 1\nword: first\n');
  writeFileSync(
    join(chart, 'templates', 'all.yaml'),
    `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {word: "{{ .Values.word }}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec: {containers: [{name: main, image: "nginx:1.27"}]}
`,
  );
  const helm = (...args: string[]): Promise<string> => client(binaries['helm']!, ...args, '--namespace', 'programs');
  const word = async (): Promise<unknown> => {
    const { body } = await member.request('GET', '/api/v1/namespaces/programs/configmaps/small');
    return (JSON.parse(body) as { data?: { word?: string } }).data?.word;
  };
  assert.match(await helm('install', 'small', chart, '--wait', '--timeout', '60s'), /STATUS: deployed/);
  assert.equal(await word(), 'first');
  await helm('upgrade', 'small', chart, '--set', 'word=second,replicas=2', '--wait', '--timeout', '60s');
  assert.equal(await word(), 'second');
  await helm('rollback', 'small', '1', '--wait', '--timeout', '60s');
  assert.equal(await word(), 'first');
  assert.match(await helm('history', 'small'), /Rollback to 1/);
  assert.match(await helm('get', 'manifest', 'small'), /kind: Deployment/);
  assert.match(await helm('uninstall', 'small', '--wait', '--timeout', '60s'), /uninstalled/);
  assert.equal((await member.request('GET', '/api/v1/namespaces/programs/configmaps/small')).status, 404);
});

test('@kubernetes/client-node lists, writes, watches and execs through the gateway', async () => {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  const { items } = await core.listNamespace();
  assert.ok(items.some(({ metadata }) => metadata?.name === 'programs'));

  const seen: string[] = [];
  const { promise: both, resolve } = Promise.withResolvers<void>();
  const watch = await new Watch(config).watch(
    '/api/v1/namespaces/programs/configmaps',
    { fieldSelector: 'metadata.name=from-js' },
    (phase: string) => {
      seen.push(phase);
      if (seen.length === 2) resolve();
    },
    () => undefined,
  );
  await core.createNamespacedConfigMap({
    namespace: 'programs',
    body: { metadata: { name: 'from-js' }, data: { k: 'ü' } },
  });
  assert.equal((await core.readNamespacedConfigMap({ namespace: 'programs', name: 'from-js' })).data?.['k'], 'ü');
  await core.deleteNamespacedConfigMap({ namespace: 'programs', name: 'from-js' });
  await both;
  watch.abort();
  assert.deepEqual(seen, ['ADDED', 'DELETED']);

  await member.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'shell', namespace: 'programs' },
    spec: {
      nodeName: 'kubelet-0',
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image: 'busybox', command: ['sleep', '600'] }],
    },
  });
  await client(
    binaries['kubectl-old']!,
    'wait',
    '-n',
    'programs',
    '--for=condition=Ready',
    'pod/shell',
    '--timeout=60s',
  );
  const stdout = new PassThrough();
  let output = '';
  stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const status = await new Promise<{ status?: string | undefined }>((done, fail) => {
    new Exec(config)
      .exec('programs', 'shell', 'main', ['sh', '-c', 'echo through; exit 0'], stdout, null, null, false, done)
      .catch(fail);
  });
  assert.equal(status.status, 'Success');
  assert.equal(output, 'through\n');
});

test('the Python client lists, watches, patches, reads logs and execs over v4 through the gateway', async (context) => {
  const venv = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'portcullis', 'python-client-33');
  const python = join(venv, 'bin', 'python');
  try {
    await run(python, ['-c', 'import kubernetes'], { timeout: 60_000 });
  } catch {
    try {
      await run('python3', ['-m', 'venv', '--clear', venv], { timeout: 120_000 });
      await run(join(venv, 'bin', 'pip'), ['install', '--quiet', 'kubernetes==33.1.0'], { timeout: 300_000 });
    } catch (error) {
      context.skip(`the Python client could not be installed: ${(error as Error).message.split('\n', 1)[0]}`);
      return;
    }
  }
  const script = join(plane.dir, 'client.py');
  writeFileSync(script, pythonScript);
  assert.equal((await client(python, script)).trim().split('\n').at(-1), 'all done');
});

const pythonScript = `
from kubernetes import client, config, watch
from kubernetes.stream import stream
config.load_kube_config()
core = client.CoreV1Api()
assert "programs" in [n.metadata.name for n in core.list_namespace().items]
core.create_namespaced_config_map("programs", {"metadata": {"name": "from-python"}, "data": {"k": "v"}})
core.patch_namespaced_config_map("from-python", "programs", {"data": {"k": "w"}})
assert core.read_namespaced_config_map("from-python", "programs").data == {"k": "w"}
for event in watch.Watch().stream(core.list_namespaced_config_map, "programs", field_selector="metadata.name=from-python", timeout_seconds=20):
    if event["type"] == "ADDED":
        core.delete_namespaced_config_map("from-python", "programs")
    elif event["type"] == "DELETED":
        break
else:
    raise AssertionError("the watch ended without DELETED")
pod = {"metadata": {"name": "python-shell"}, "spec": {"nodeName": "kubelet-0", "tolerations": [{"operator": "Exists"}],
       "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", "echo started; sleep 600"]}]}}
core.create_namespaced_pod("programs", pod)
for event in watch.Watch().stream(core.list_namespaced_pod, "programs", field_selector="metadata.name=python-shell", timeout_seconds=60):
    if event["object"].status.phase == "Running":
        break
out = stream(core.connect_get_namespaced_pod_exec, "python-shell", "programs", command=["sh", "-c", "echo from exec"],
             stderr=True, stdin=False, stdout=True, tty=False)
assert out == "from exec\\n", repr(out)
for line in watch.Watch().stream(core.read_namespaced_pod_log, "python-shell", "programs"):
    assert line == "started", repr(line)
    break
print("all done")
`;
