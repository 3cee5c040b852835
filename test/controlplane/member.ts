// One kube-apiserver with its controller manager, scheduler, kwok and kubelet stand-in. Only kube-apiserver is killed,
// paused and restarted by tests; the others must live through that and find it again on the same port.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { waitFor } from '../site/polling.ts';
import { auditMark, readAudit, waitForAudit } from './audit.ts';
import { kubeletNode, type ControlPlaneOptions, type Member } from './fixture-types.ts';
import { kubeletNodeIp, type MemberFiles } from './member-files.ts';
import { freePort, runCommand, startChild, type Child } from './processes.ts';
import { adminRequest, applyObject, sumMetric } from './requests.ts';

const readyTimeoutMs = 60_000;
const pollMs = 50;

/** What a member is started with. */
export interface MemberSetup {
  readonly files: MemberFiles;
  readonly etcdUrl: string;
  readonly options: ControlPlaneOptions;
  readonly binaries: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly kubeletPort?: number;
}

/** A member and the children that belong to it. */
export interface RunningMember {
  readonly member: Member;
  readonly apiserver: () => Child;
}

/** Command line of a member's kube-apiserver. */
export function apiserverArgs(setup: MemberSetup): readonly string[] {
  const { files, options } = setup;
  const audit = [
    `--audit-policy-file=${files.file('audit-policy.yaml')}`,
    `--audit-log-path=${files.auditLog}`,
    '--audit-log-maxsize=8192',
  ];
  const kubelet = [
    `--kubelet-certificate-authority=${files.caFile}`,
    `--kubelet-client-certificate=${files.file('kubelet-client.crt')}`,
    `--kubelet-client-key=${files.file('kubelet-client.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
  ];
  return [
    `--etcd-servers=${setup.etcdUrl}`,
    `--etcd-prefix=/${files.name}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${files.port}`,
    `--tls-cert-file=${files.file('server.crt')}`,
    `--tls-private-key-file=${files.file('server.key')}`,
    `--client-ca-file=${files.caFile}`,
    `--token-auth-file=${files.file('tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${files.file('sa.key')}`,
    `--service-account-key-file=${files.file('sa.pub')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--endpoint-reconciler-type=none',
    `--requestheader-client-ca-file=${files.file('front-proxy-ca.crt')}`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    '--requestheader-uid-headers=X-Remote-Uid',
    `--proxy-client-cert-file=${files.file('front-proxy-client.crt')}`,
    `--proxy-client-key-file=${files.file('front-proxy-client.key')}`,
    '--profiling=false',
    '--allow-privileged=true',
    ...kubelet,
    ...(options.kubelet === true ? [`--egress-selector-config-file=${files.file('egress.yaml')}`] : []),
    ...(options.controllerManager === true ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ...(options.audit === false ? [] : audit),
    ...(options.apiserverArgs ?? []),
  ];
}

/** Starts the member's kube-apiserver; the returned member is usable once `waitReady` has resolved. */
export function startMember(setup: MemberSetup): RunningMember {
  const { files, binaries } = setup;
  const start = (): Child =>
    startChild({
      name: `${files.name}/kube-apiserver`,
      command: binaries['kube-apiserver'] ?? '',
      args: apiserverArgs(setup),
      logFile: setup.logFile,
      cwd: files.dir,
    });
  let apiserver = start();
  const access = { url: files.url, caPem: files.caPem, admin: files.admin };
  const metrics = async (): Promise<string> => (await adminRequest(access, 'GET', '/metrics')).body;
  const kill = async (): Promise<void> => {
    apiserver.signal('SIGKILL');
    await apiserver.ended;
  };
  const member: Member = {
    name: files.name,
    url: files.url,
    caPem: files.caPem,
    caFile: files.caFile,
    dir: files.dir,
    adminKubeconfig: files.adminKubeconfig,
    adminCertPem: files.admin.certPem,
    adminKeyPem: files.admin.keyPem,
    gatewayToken: files.gatewayToken,
    gatewayKubeconfig: files.gatewayKubeconfig,
    users: files.users,
    auditLog: setup.options.audit === false ? '' : files.auditLog,
    get pid() {
      return apiserver.pid;
    },
    ...(setup.kubeletPort === undefined ? {} : { kubeletPort: setup.kubeletPort }),
    audit: (mark) => readAudit(files.auditLog, mark),
    auditMark: () => auditMark(files.auditLog),
    waitForAudit: (match, options) => waitForAudit(files.auditLog, match, options),
    metrics,
    metric: async (name, labels) => sumMetric(await metrics(), name, labels),
    request: (method, target, body, headers) => adminRequest(access, method, target, body, headers),
    apply: async (...objects) => {
      for (const object of objects) await applyObject(access, object);
    },
    kubectl: (args, options) =>
      runCommand(binaries['kubectl'] ?? '', [`--kubeconfig=${files.adminKubeconfig}`, ...args], options),
    cpuUs: () => cpuUs(apiserver.pid),
    kill,
    restart: async () => {
      if (apiserver.running()) await kill();
      apiserver = start();
      await waitReady(member, () => apiserver);
    },
    pauseProcess: () => apiserver.signal('SIGSTOP'),
    resumeProcess: () => apiserver.signal('SIGCONT'),
  };
  return { member, apiserver: () => apiserver };
}

/** Resolves when `/readyz` says ok; throws when the process ends first or time is up. */
export async function waitReady(member: Member, apiserver: () => Child): Promise<void> {
  await until(`${member.name} ready`, async () => {
    if (!apiserver().running()) throw new Error(`${member.name}: kube-apiserver ended while starting`);
    const answer = await member.request('GET', '/readyz').catch(() => undefined);
    return answer?.status === 200;
  });
}

/** Polls until `check` is true; throws naming `what` after a minute, and at once what `check` throws. */
export async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  await waitFor(async () => {
    if (await check()) return true;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${readyTimeoutMs / 1000} s`);
    return false;
  }, pollMs);
}

/** The children beside kube-apiserver that `options` ask for. */
export async function startCompanions(setup: MemberSetup, logFile: (name: string) => string): Promise<Child[]> {
  const { files, options, binaries } = setup;
  const children: Child[] = [];
  const add = (name: string, command: string | undefined, args: readonly string[], cwd = files.dir): void => {
    const tether = binaries['tether'];
    const outside = name === 'kwok' && tether !== undefined;
    children.push(
      startChild({
        name: `${files.name}/${name}`,
        command: (outside ? tether : command) ?? '',
        args: outside ? [command ?? '', ...args] : args,
        logFile: logFile(name),
        cwd,
      }),
    );
  };
  if (options.controllerManager === true) {
    add('kube-controller-manager', binaries['kube-controller-manager'], await controllerManagerArgs(files));
  }
  if (options.kwok === true) add('kwok', binaries['kwok'], await kwokArgs(files));
  if (setup.kubeletPort !== undefined) {
    add('kubelet', binaries['kubelet'], await kubeletArgs(files, setup.kubeletPort, options));
  }
  if (wantsScheduler(options)) {
    add('kube-scheduler', binaries['kube-scheduler'], await schedulerArgs(files));
  }
  return children;
}

/** The scheduler runs where pods without a node can be made and a node exists. */
export function wantsScheduler(options: ControlPlaneOptions): boolean {
  return (
    options.scheduler ?? (options.controllerManager === true && (options.kwok === true || options.kubelet === true))
  );
}

async function controllerManagerArgs(files: MemberFiles): Promise<readonly string[]> {
  const kubeconfig = await files.componentKubeconfig('kube-controller-manager');
  return [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--use-service-account-credentials=false',
    `--root-ca-file=${files.caFile}`,
    `--service-account-private-key-file=${files.file('sa.key')}`,
    `--cluster-signing-cert-file=${files.caFile}`,
    `--cluster-signing-key-file=${files.file('ca.key')}`,
    '--profiling=false',
  ];
}

async function schedulerArgs(files: MemberFiles): Promise<readonly string[]> {
  const kubeconfig = await files.componentKubeconfig('kube-scheduler');
  return [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    '--profiling=false',
  ];
}

async function kwokArgs(files: MemberFiles): Promise<readonly string[]> {
  const port = await freePort();
  return [
    `--config=${path.join(import.meta.dirname, 'kwok', 'kwok.yaml')}`,
    `--kubeconfig=${await files.componentKubeconfig('kwok')}`,
    `--server-address=127.0.0.1:${port}`,
    '--node-ip=127.0.0.1',
    `--node-port=${port}`,
    `--tls-cert-file=${files.file('kubelet.crt')}`,
    `--tls-private-key-file=${files.file('kubelet.key')}`,
  ];
}

async function kubeletArgs(files: MemberFiles, port: number, options: ControlPlaneOptions): Promise<readonly string[]> {
  return [
    `--kubeconfig=${await files.componentKubeconfig('kubelet')}`,
    `--node-name=${kubeletNode}`,
    `--node-ip=${kubeletNodeIp}`,
    `--port=${port}`,
    `--tls-cert-file=${files.file('kubelet.crt')}`,
    `--tls-private-key-file=${files.file('kubelet.key')}`,
    `--client-ca-file=${files.caFile}`,
    `--root-dir=${files.file('pods')}`,
    `--egress-socket=${files.egressSocket}`,
    `--taint=${options.kwok === true}`,
  ];
}

const microsecondsPerTick = 10_000;

/** CPU time of a process from `/proc` (ticks of 10 ms). */
async function cpuUs(pid: number): Promise<number> {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) throw new Error(`no ${file}: the process ended, or this is not Linux`);
  const text = await readFile(file, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * microsecondsPerTick;
}
