// Starts real control planes on this machine for e2e tests and bench: one etcd, a kube-apiserver a member, and what
// else is asked for. Easy to get wrong: always `stop()` (or `await using`), else processes and a temp folder stay until
// the test run itself ends.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { ensureBinaries } from './build.ts';
import { kubeletNode, kwokNode, type ControlPlane, type ControlPlaneOptions, type Member } from './fixture-types.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { createMemberFiles, type MemberFiles } from './member-files.ts';
import { startCompanions, startMember, until, waitReady, wantsScheduler, type MemberSetup } from './member.ts';
import { accessObjects, kwokNodeObject } from './objects.ts';
import { freePort, startChild, type Child } from './processes.ts';

export * from './fixture-types.ts';

/**
 * Starts the control planes and resolves when every member is ready, its users have their rights and its nodes are
 * Ready. Builds missing binaries first (minutes, once). Throws with the tails of all logs when something does not
 * start.
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const progress = options.progress ?? ((line: string) => process.stderr.write(`${line}\n`));
  const binaries = await ensureBinaries(neededPrograms(options), { progress });
  const dir = await mkdtemp(path.join(tmpdir(), 'portcullis-cp-'));
  await mkdir(path.join(dir, 'logs'));
  const children: (() => Child)[] = [];
  const logFile = (owner: string, name: string): string => path.join(dir, 'logs', `${owner}-${name}.log`);
  const killAll = (): void => {
    for (const child of children) child().signal('SIGKILL');
  };
  process.once('exit', killAll);

  const logs = async (): Promise<string> => {
    const tails = await Promise.all(
      children.map(async (child) => {
        const { name, running, tail } = child();
        return `----- ${name} (${running() ? 'running' : 'ended'})\n${await tail()}`;
      }),
    );
    return tails.join('\n');
  };
  const stop = async (): Promise<void> => {
    process.removeListener('exit', killAll);
    const [etcd, ...others] = children.splice(0).map((child) => child());
    for (const child of others) child.signal(child.name.endsWith('/kubelet') ? 'SIGTERM' : 'SIGKILL');
    await Promise.all(others.map((child) => child.stop()));
    etcd?.signal('SIGKILL');
    await etcd?.ended;
    if (process.env['PORTCULLIS_KEEP'] === '1') progress(`control plane files kept in ${dir}`);
    else await rm(dir, { recursive: true, force: true });
  };

  try {
    const etcdUrl = await startEtcd(dir, binaries, logFile('etcd', 'etcd'), children);
    const setups = await Promise.all(
      options.members.map(async (name): Promise<MemberSetup> => {
        const files = await createMemberFiles(dir, name, await freePort());
        const log = logFile(name, 'kube-apiserver');
        const own = options.bare?.includes(name) === true ? { ...options, ...apiserverOnly } : options;
        const kubelet = own.kubelet === true ? { kubeletPort: await freePort() } : {};
        return { files, etcdUrl, options: own, binaries, logFile: log, ...kubelet };
      }),
    );
    const members = await Promise.all(
      setups.map((setup) => bringUp(setup, children, (name) => logFile(setup.files.name, name))),
    );
    return assemble(members, setups, { dir, binaries, logs, stop });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const text = await logs();
    await stop();
    throw new Error(`control plane did not start: ${message}\n${text}`, { cause: error });
  }
}

/** Options of a bare member. */
const apiserverOnly = { kwok: false, kubelet: false, controllerManager: false, scheduler: false } as const;

function neededPrograms(options: ControlPlaneOptions): string[] {
  const named: Record<string, boolean> = {
    'kube-controller-manager': options.controllerManager === true,
    'kube-scheduler': wantsScheduler(options),
    kwok: options.kwok === true,
    kubelet: options.kubelet === true,
    tether: options.kwok === true && !process.env['KUBEBUILDER_ASSETS'],
  };
  return ['etcd', 'kube-apiserver', 'kubectl', ...Object.keys(named).filter((name) => named[name])];
}

async function startEtcd(
  dir: string,
  binaries: Readonly<Record<string, string>>,
  logFile: string,
  children: (() => Child)[],
): Promise<string> {
  const port = await freePort();
  const clientUrl = `http://127.0.0.1:${port}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const etcd = startChild({
    name: 'etcd',
    command: binaries['etcd'] ?? '',
    args: [
      `--data-dir=${path.join(dir, 'etcd')}`,
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      '--unsafe-no-fsync',
      '--log-level=error',
      `--quota-backend-bytes=${4 * 1024 ** 3}`,
    ],
    logFile,
    cwd: dir,
  });
  children.push(() => etcd);
  await until('etcd', async () => {
    if (!etcd.running()) throw new Error('etcd ended while starting');
    return await canConnect(port);
  });
  return clientUrl;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function bringUp(
  setup: MemberSetup,
  children: (() => Child)[],
  logFile: (name: string) => string,
): Promise<Member> {
  const { member, apiserver } = startMember(setup);
  children.push(apiserver);
  await waitReady(member, apiserver);
  for (const child of await startCompanions(setup, logFile)) children.push(() => child);
  await member.apply(...accessObjects());
  if (setup.options.controllerManager === true) {
    for (const namespace of ['default', 'team-a']) {
      const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
      await until(`${member.name} ${account}`, async () => (await member.request('GET', account)).status === 200);
    }
  }
  if (setup.options.kwok === true) {
    await member.apply(kwokNodeObject());
    await waitForNode(member, kwokNode, setup.options);
  }
  if (setup.options.kubelet === true) await waitForNode(member, kubeletNode, setup.options);
  return member;
}

/**
 * Ready, and (with a controller manager, who takes it away) without the taint that keeps the scheduler off a new node.
 */
async function waitForNode(member: Member, node: string, options: ControlPlaneOptions): Promise<void> {
  await until(`${member.name} ${node} Ready`, async () => {
    const answer = await member.request('GET', `/api/v1/nodes/${node}`);
    if (answer.status !== 200) return false;
    const object = JSON.parse(answer.body) as NodeObject;
    const ready = object.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
    const tainted = object.spec?.taints?.some((taint) => taint.key === 'node.kubernetes.io/not-ready') ?? false;
    return ready && !(tainted && options.controllerManager === true);
  });
}

interface NodeObject {
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function assemble(
  members: readonly Member[],
  setups: readonly { readonly files: MemberFiles }[],
  rest: Pick<ControlPlane, 'dir' | 'binaries' | 'logs' | 'stop'>,
): Promise<ControlPlane> {
  const entries = setups.map((setup) => setup.files.gatewayEntry);
  const gatewayKubeconfig = await writeKubeconfig(path.join(rest.dir, 'gateway.kubeconfig'), entries);
  return {
    members,
    member: (name) => {
      const found = members.find((member) => member.name === name);
      if (found === undefined) throw new Error(`no member ${name}; there are ${members.map((m) => m.name).join(', ')}`);
      return found;
    },
    gatewayKubeconfig,
    ...rest,
    [Symbol.asyncDispose]: rest.stop,
  };
}
