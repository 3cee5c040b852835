// The command `portcullis demo`: starts simulated clusters and a gateway in one process, writes a kubeconfig, and
// prints commands to try.
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import type { Config } from '../config/configuration.ts';
import { defaultDataDir } from '../config/process-config.ts';
import { readIdentityConfig } from '../config/sections/identity-config.ts';
import { startGateway } from '../gateway/start/gateway.ts';
import type { Gateway } from '../gateway/start/gateway.ts';
import { memberAccessObjects } from '../cli/member-access/member-access.ts';
import { parseHostPort } from '../lib/text/host-port.ts';
import type { HostPort } from '../lib/text/host-port.ts';
import { readLimitsConfig } from '../config/sections/limits-config.ts';
import { flagsAlone } from '../config/settings/settings.ts';
import { makeLog } from '../lib/log.ts';
import { nextSignal, portcullisVersion } from '../gateway/workers/serve.ts';
import { writeWhole } from '../gateway/certificates/serving-certificate.ts';
import { startSimulator } from '../sim/server.ts';
import type { Simulator } from '../sim/server.ts';
import { tellStory } from '../sim/workloads/demo-story.ts';
import { demoUsers, liveWorkloads, seedWorkloads } from '../sim/workloads/workloads.ts';
import { demoCommands } from './demo-commands.ts';
import { makeDemoLogins } from './demo-logins.ts';
import type { DemoLogins, DemoUserToken } from './demo-logins.ts';
import { demoClusterName } from './demo-names.ts';
import { refuseTakenPorts } from './demo-ports.ts';
import type { DemoOptions } from './verbs.ts';

const account = { namespace: 'portcullis', name: 'gateway' };

/**
 * The objects that grant the gateway its rights in a simulated cluster: the same ones that `generate member-access`
 * prints for a real cluster.
 */
const memberAccess = memberAccessObjects({
  account,
  constrained: false,
  readable: undefined,
  usernameOnly: false,
  extra: ['*'],
  index: ['*'],
});

/**
 * Runs the demo until Ctrl-C.
 * @returns the exit code
 * @throws Failure or AddressError (rejects) that names the flag when a port is in use; Error when an address is
 * malformed
 */
export async function demo(options: DemoOptions): Promise<number> {
  const listen = address('--listen', options.listen);
  const opsListen = address('--ops-listen', options.opsListen);
  await refuseTakenPorts({ '--listen': listen, '--ops-listen': opsListen });
  const dataDir = join(defaultDataDir(process.env), 'demo');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const closers: (() => void | Promise<void>)[] = [];
  try {
    // Each run of the demo has a folder of its own for its files. Otherwise a second demo, which then finds its port in
    // use, would overwrite the tokens of the first.
    const runDir = mkdtempSync(join(dataDir, 'run-'));
    closers.push(() => rmSync(runDir, { recursive: true, force: true }));
    const members = await startMembers(options.clusters, closers);
    const simulators = members.map(({ simulator }) => simulator);
    const story = tellStory(simulators);
    closers.push(() => story.close());
    const membersFile = join(runDir, 'members.kubeconfig');
    writeWhole(membersFile, membersKubeconfig(members), 0o600);
    const users = demoUsers.map(({ name, groups }) => ({ name, groups, token: secret() }));
    const tokenFile = join(runDir, 'tokens.csv');
    writeWhole(
      tokenFile,
      users.map(({ token, name, groups }) => `${token},${name},demo-${name},"${groups.join(',')}"\n`).join(''),
      0o600,
    );
    let linkOf = (_user: DemoUserToken): string => '';
    const logins = makeDemoLogins((user) =>
      process.stdout.write(`\nThat link is used up. The next one for ${user.name}:\n  ${linkOf(user)}\n`),
    );
    const config = gatewayConfig({ listen, opsListen, dataDir, runDir, membersFile, tokenFile, logins });
    const gateway = await startGateway(config, makeLog('error'), portcullisVersion());
    const kubeconfig = resolve(options.kubeconfigOut ?? join(dataDir, 'kubeconfig'));
    writeWhole(kubeconfig, usersKubeconfig(gateway, simulators, users), 0o600);
    linkOf = (user) => `${gateway.url}/console/#login=${logins.issue(user)}`;
    const links = users.map((user) => ({ name: user.name, link: linkOf(user) }));
    process.stdout.write(demoCommands({ gateway, simulators, links, kubeconfig, program: process.argv[1]! }));
    await nextSignal();
    process.stdout.write('\nStopping.\n');
    await gateway.drain();
    return 0;
  } finally {
    await Promise.all(closers.toReversed().map((close) => close()));
  }
}

interface Member {
  readonly simulator: Simulator;
  /** The token with which the gateway authenticates to this simulated cluster. */
  readonly token: string;
}

/**
 * Starts the simulated clusters and creates objects in them. Functions that stop the clusters are added to `closers`.
 */
async function startMembers(count: number, closers: (() => void | Promise<void>)[]): Promise<readonly Member[]> {
  const members: Member[] = [];
  for (let i = 0; i < count; i++) {
    const name = demoClusterName(i);
    const token = secret();
    const simulator = await startSimulator({
      name,
      tokens: { [token]: { name: `system:serviceaccount:${account.namespace}:${account.name}`, groups: [] } },
      seed: memberAccess.map((object) => ({ ...object })),
      metrics: true,
    });
    closers.push(() => simulator.close());
    const seeded = seedWorkloads(simulator.store, { name, seed: i + 1 });
    closers.push(() => seeded.close());
    const live = liveWorkloads(simulator.store, { name, seed: i + 1 });
    closers.push(() => live.close());
    members.push({ simulator, token });
  }
  return members;
}

/** Listen addresses and files of one run of the demo. */
interface RunSettings {
  readonly listen: HostPort;
  readonly opsListen: HostPort;
  readonly dataDir: string;
  readonly runDir: string;
  readonly membersFile: string;
  readonly tokenFile: string;
  readonly logins: DemoLogins;
}

function gatewayConfig({ listen, opsListen, dataDir, runDir, membersFile, tokenFile, logins }: RunSettings): Config {
  return {
    listen,
    opsListen,
    dataDir,
    kubeconfigs: [membersFile],
    tokenAuthFile: tokenFile,
    clientCaFile: undefined,
    authentication: { configFile: undefined, anonymousAuth: undefined },
    authorizationRules: undefined,
    identity: 'impersonate',
    clusterDomain: undefined,
    tls: undefined,
    logLevel: 'error',
    shutdownDelayMs: 0,
    shutdownGraceMs: 500,
    firstByteTimeoutMs: 60_000,
    probeIntervalMs: 10_000,
    timeScale: 1,
    outgoing: readIdentityConfig(flagsAlone()),
    limits: readLimitsConfig(flagsAlone()),
    audit: undefined,
    hub: undefined,
    console: { redeem: (code) => logins.redeem(code) },
    index: {
      resources: ['*'],
      clusters: undefined,
      maxBytes: Infinity,
      rightsMaxAgeMs: 600_000,
      folder: join(runDir, 'index'),
      startsAtOnce: true,
    },
  };
}

function address(flag: string, text: string): HostPort {
  const parsed = parseHostPort(text);
  if (parsed === undefined)
    throw Object.assign(new Error(`${flag}: "${text}" is not HOST:PORT, for example 127.0.0.1:8443`), { exitCode: 2 });
  return parsed;
}

function secret(): string {
  return randomBytes(24).toString('base64url');
}

/** Returns the kubeconfig that the gateway reads, with one context for each simulated cluster. */
function membersKubeconfig(members: readonly Member[]): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: members.map(({ simulator: { name, url, caPem } }) => ({
      name,
      cluster: { server: url, 'certificate-authority-data': Buffer.from(caPem).toString('base64') },
    })),
    users: members.map(({ simulator: { name }, token }) => ({ name, user: { token } })),
    contexts: members.map(({ simulator: { name } }, index) => ({
      name,
      context: {
        cluster: name,
        user: name,
        extensions: [
          {
            name: 'gateway.portcullis.io/labels',
            extension: { environment: index % 3 === 2 ? 'staging' : 'production' },
          },
        ],
      },
    })),
    'current-context': members[0]?.simulator.name ?? '',
  });
}

/**
 * Returns the kubeconfig for the person who runs the demo. Context `portcullis` is the gateway itself,
 * `portcullis-<cluster>` is a cluster with the first user's token, `<user>@portcullis-<cluster>` a cluster with another
 * user's.
 */
function usersKubeconfig(
  gateway: Gateway,
  simulators: readonly Simulator[],
  users: readonly { readonly name: string; readonly token: string }[],
): string {
  const trust = { 'certificate-authority': gateway.caFile };
  const [first, ...others] = users;
  const below = (name: string, path: string): { name: string; cluster: object } => ({
    name: `portcullis-${name}`,
    cluster: { server: gateway.url + path, ...trust },
  });
  const clusters = [
    ...simulators.map(({ name }) => below(name, `/clusters/${name}/proxy`)),
    below('all', '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy'),
  ];
  const contexts = clusters.flatMap(({ name }) => [
    { name, context: { cluster: name, user: first!.name } },
    ...others.map((user) => ({ name: `${user.name}@${name}`, context: { cluster: name, user: user.name } })),
  ]);
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'portcullis', cluster: { server: gateway.url, ...trust } }, ...clusters],
    users: users.map(({ name, token }) => ({ name, user: { token } })),
    contexts: [{ name: 'portcullis', context: { cluster: 'portcullis', user: first!.name } }, ...contexts],
    'current-context': contexts[0]?.name ?? 'portcullis',
  });
}
