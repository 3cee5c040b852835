// A hub on which the chart was installed by Helm, and the process of its pods started as a kubelet would: the
// arguments, files and ServiceAccount that were rendered, nothing else. Any right or flag added here for comfort hides
// one that the chart lacks.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startControlPlane } from '../controlplane/fixture.ts';
import type { ControlPlane, ControlPlaneOptions, Member } from '../controlplane/fixture.ts';
import { writeKubeconfig } from '../controlplane/kubeconfig.ts';
import { until } from '../controlplane/member.ts';
import { freePort } from '../controlplane/processes.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { applyCustomResources } from '../hub/site.ts';
import { argumentsOf, chartFolder, helm, objectsOf, release } from './helm.ts';

/** What to start. */
export interface ChartSiteOptions extends Pick<ControlPlaneOptions, 'controllerManager' | 'kwok' | 'kubelet'> {
  /** The hub is no member. */
  readonly members: readonly string[];
  readonly namespaces: readonly string[];
  /** `--set` of the installation. */
  readonly sets: readonly string[];
}

/** The hub, its members, and the first pod. */
export interface ChartSite {
  readonly plane: ControlPlane;
  readonly hub: Member;
  readonly gateway: GatewayProcess;
  /** What was installed, as Helm has it. */
  readonly manifest: string;
  /** One pod more. */
  startPod(): Promise<GatewayProcess>;
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, '../..');
const apiService = '/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.gateway.portcullis.io';

/** Installs the chart and resolves when the hub's aggregator has verified and reached the first pod. */
export async function startChartSite(options: ChartSiteOptions): Promise<ChartSite> {
  const { members, namespaces, sets, ...rest } = options;
  const plane = await startControlPlane({ ...rest, members: ['hub', ...members], bare: ['hub'] });
  const pods: GatewayProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const pod of pods) await pod.stop('SIGKILL');
    await plane.stop();
  };
  try {
    const hub = plane.member('hub');
    await applyCustomResources(hub);
    await hub.apply(
      ...[release, ...namespaces].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    );
    const port = await freePort();
    const values = [...sets, `service.port=${port}`].flatMap((set) => ['--set', set]);
    await onHub(hub, 'install', release, chartFolder, '-n', release, ...values);
    const manifest = await onHub(hub, 'get', 'manifest', release, '-n', release);
    await pointServiceHere(hub, port);
    const kubeconfig = await podKubeconfig(hub, join(plane.dir, 'pod.kubeconfig'));
    const startPod = async (at?: number): Promise<GatewayProcess> => {
      const folder = join(plane.dir, `pod-${pods.length + 1}`);
      const pod = await runPod(manifest, kubeconfig, folder, at ?? (await freePort()));
      pods.push(pod);
      return pod;
    };
    const gateway = await startPod(port);
    await until('the APIService of the chart', async () => {
      const { status } = JSON.parse((await hub.request('GET', apiService)).body) as ApiService;
      return status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True') ?? false;
    });
    const path = '/apis/gateway.portcullis.io/v1alpha1';
    await until('its discovery', async () => (await hub.request('GET', path)).status === 200);
    return { plane, hub, gateway, manifest, startPod: () => startPod(), stop };
  } catch (error) {
    const text = pods.map((pod) => pod.log()).join('\n');
    await stop();
    throw new Error(`the chart's site did not start: ${String(error)}\n${text.slice(-4000)}`, { cause: error });
  }
}

interface ApiService {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function onHub(hub: Member, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await helm(args, hub.adminKubeconfig);
  if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}${stdout}`);
  return stdout;
}

/** There is no pod network here: the Service keeps its name and leads to this machine. */
export async function pointServiceHere(hub: Member, port: number): Promise<void> {
  const path = `/api/v1/namespaces/${release}/services/portcullis`;
  await hub.request('DELETE', path);
  await hub.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'portcullis', namespace: release },
    spec: { type: 'ExternalName', externalName: '127.0.0.1', ports: [{ name: 'https', port, protocol: 'TCP' }] },
  });
}

/** What the pod has in /var/run/secrets/kubernetes.io/serviceaccount, as a kubeconfig. */
export async function podKubeconfig(hub: Member, file: string): Promise<string> {
  const made = await hub.kubectl(['create', 'token', 'portcullis', '-n', release, '--duration=24h']);
  if (made.code !== 0) throw new Error(made.stderr);
  const credential = { token: made.stdout.trim() };
  return await writeKubeconfig(file, [{ name: 'hub', server: hub.url, caPem: hub.caPem, user: 'pod', credential }]);
}

/** Starts the process of a pod of this manifest. */
export async function runPod(
  manifest: string,
  kubeconfig: string,
  folder: string,
  port: number,
): Promise<GatewayProcess> {
  const config = join(folder, 'config');
  const state = join(folder, 'state');
  for (const each of [config, state]) mkdirSync(each, { recursive: true });
  const files = objectsOf(manifest).find(({ kind }) => kind === 'ConfigMap')!['data'] as Record<string, string>;
  for (const [name, text] of Object.entries(files)) writeFileSync(join(config, name), text);
  const opsPort = await freePort();
  // A pod has an address, a file system and ports of its own; here they are others. `0.0.0.0` stands for the pod's
  // address: not loopback either.
  const args = argumentsOf(manifest).map((arg) =>
    arg
      .replace(/^--listen=.*$/, `--listen=127.0.0.1:${port}`)
      .replace(/^--ops-listen=\$\(POD_IP\):\d+$/, `--ops-listen=0.0.0.0:${opsPort}`)
      .replaceAll('/etc/portcullis/config', config)
      .replaceAll('/var/lib/portcullis', state),
  );
  const here = [`--hub-kubeconfig=${kubeconfig}`, '--allow-member-addresses=127.0.0.0/8'];
  const child = spawn(process.execPath, [join(root, 'bin/portcullis.mjs'), ...args, ...here], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '' },
  });
  let log = '';
  const exited = new Promise<number | string>((resolve) =>
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  );
  const serving = new Promise<undefined>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      if (log.includes('"msg":"serving"')) resolve(undefined);
    });
  });
  const ended = await Promise.race([serving, exited]);
  if (ended !== undefined) throw new Error(`the pod ended with ${ended} instead of serving:\n${log}`);
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return await exited;
  };
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    opsUrl: `https://127.0.0.1:${opsPort}`,
    caFile: '',
    caPem: '',
    dataDir: state,
    tokenFile: '',
    pid: child.pid!,
    child,
    log: () => log,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')),
  };
}
