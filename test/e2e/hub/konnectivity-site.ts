// A real konnectivity tunnel (apiserver-network-proxy): proxy-server in HTTP-CONNECT mode on mutual TLS, on plain
// server TLS or on a Unix socket, and the agent that calls it from the member's side. The server takes CONNECTs before
// an agent is there and refuses them, so a site is up when the agent says that it is connected.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ProxyAddress } from '../../../model/records.ts';
import { ensureBinaries } from '../../controlplane/build.ts';
import { createAuthority } from '../../pretend/certificates.ts';
import type { Authority, KeyPair } from '../../pretend/certificates.ts';
import { freePort, startChild } from '../../controlplane/processes.ts';
import type { Child } from '../../controlplane/processes.ts';
import { eventually } from '../../site/polling.ts';

/** How clients reach the proxy server. */
export type FrontEnd = 'mtls' | 'tls' | 'unix';

/** One proxy server and its agent. */
export interface Tunnel {
  readonly address: ProxyAddress;
  /** Authority of the server's certificate, and of the clients it lets in. */
  readonly authority: Authority;
  /** CONNECTs the server got so far. */
  readonly asked: () => number;
  readonly stopAgent: () => Promise<void>;
  readonly startAgent: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Starts it; files go to `dir`. */
export async function startTunnel(dir: string, frontEnd: FrontEnd): Promise<Tunnel> {
  const programs = await ensureBinaries(['konnectivity']);
  const authority = await createAuthority(`konnectivity ${frontEnd}`);
  const loopback = { dnsNames: ['konnectivity.internal'], ipAddresses: ['127.0.0.1'] } as const;
  const server = await authority.issue({ commonName: 'proxy-server', ...loopback, usage: 'server' });
  const client = await authority.issue({ commonName: 'gateway', usage: 'client' });
  const agent = await authority.issue({ commonName: 'agent', usage: 'client' });
  const file = (name: string, text: string): string => {
    const path = join(dir, `konnectivity-${frontEnd}-${name}`);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const pair = (name: string, { certPem, keyPem }: KeyPair): readonly [cert: string, key: string] => [
    file(`${name}.crt`, certPem),
    file(`${name}.key`, keyPem),
  ];
  const ca = file('ca.crt', authority.certPem);
  const [serverCert, serverKey] = pair('server', server);
  const [agentCert, agentKey] = pair('agent', agent);
  const [port, agentPort, adminPort, healthPort] = await Promise.all([1, 2, 3, 4].map(() => freePort()));
  const socketPath = join(dir, `konnectivity-${frontEnd}.sock`);
  const front: Readonly<Record<FrontEnd, readonly string[]>> = {
    unix: [`--uds-name=${socketPath}`, '--server-port=0'],
    tls: [`--server-port=${port}`, `--server-cert=${serverCert}`, `--server-key=${serverKey}`],
    mtls: [
      `--server-port=${port}`,
      `--server-cert=${serverCert}`,
      `--server-key=${serverKey}`,
      `--server-ca-cert=${ca}`,
    ],
  };
  const child = (name: string, args: readonly string[]): Child =>
    startChild({ name, command: programs[name]!, args, logFile: join(dir, `${name}-${frontEnd}.log`), cwd: dir });
  const proxyServer = child('proxy-server', [
    '--mode=http-connect',
    ...front[frontEnd],
    '--server-bind-address=127.0.0.1',
    `--agent-port=${agentPort}`,
    '--agent-bind-address=127.0.0.1',
    `--cluster-cert=${serverCert}`,
    `--cluster-key=${serverKey}`,
    `--cluster-ca-cert=${ca}`,
    `--admin-port=${adminPort}`,
    `--health-port=${healthPort}`,
    '--health-bind-address=127.0.0.1',
    '--v=2',
  ]);
  const serverLog = (): string => readFileSync(proxyServer.logFile, 'utf8');
  let running: Child | undefined;
  const startAgent = async (): Promise<void> => {
    const [health, admin] = [await freePort(), await freePort()];
    running = child('proxy-agent', [
      '--proxy-server-host=127.0.0.1',
      `--proxy-server-port=${agentPort}`,
      `--ca-cert=${ca}`,
      `--agent-cert=${agentCert}`,
      `--agent-key=${agentKey}`,
      '--health-server-host=127.0.0.1',
      `--health-server-port=${health}`,
      '--admin-bind-address=127.0.0.1',
      `--admin-server-port=${admin}`,
      '--sync-interval=500ms',
      '--v=2',
    ]);
    const ready = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${health}/readyz`)).ok;
    await eventually('the agent is connected', ready, { timeoutMs: 30_000, everyMs: 100 });
  };
  const tunnel: Tunnel = {
    authority,
    address:
      frontEnd === 'unix'
        ? { scheme: 'unix', host: '', port: 0, userinfo: undefined, socketPath }
        : {
            scheme: 'https',
            host: '127.0.0.1',
            port: port!,
            userinfo: undefined,
            tls: {
              ca: authority.certPem,
              cert: client.certPem,
              key: client.keyPem,
              serverName: 'konnectivity.internal',
            },
          },
    asked: () => serverLog().split('Received request for host').length - 1,
    stopAgent: async () => {
      await running?.stop();
    },
    startAgent,
    async stop() {
      await running?.stop();
      await proxyServer.stop();
    },
  };
  try {
    await startAgent();
  } catch (error) {
    const said = `${await proxyServer.tail()}\n${await running?.tail()}`;
    await tunnel.stop();
    throw new Error(`konnectivity (${frontEnd}) does not start:\n${said}`, { cause: error });
  }
  return tunnel;
}
