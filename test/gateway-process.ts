// Starts a real `portcullis serve` for a test and stops it by pid: what users run is what is tested. Waiting for a port
// instead of the line the process prints when it serves; and leaving it running when the test fails.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './pretend/temp-dir.ts';

const root = new URL('..', import.meta.url).pathname;

/** A user of the token file. */
export interface TestUser {
  readonly token: string;
  readonly name: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
}

export interface GatewayOptions {
  /** Kubeconfig files of members. */
  readonly kubeconfigs: readonly string[];
  /** Users of the token file; [] gives no --token-auth-file. */
  readonly users: readonly TestUser[];
  /** Further flags of `serve`. */
  readonly args?: readonly string[];
  /** Keys of the configuration file that have no flag (`logLevel`, `shutdownGraceSeconds`, …). */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Keeps state over restarts; default a fresh folder that stop() removes. */
  readonly dataDir?: string;
  /** Default 0: a free port. */
  readonly port?: number;
  /** Flags of node itself. */
  readonly nodeArgs?: readonly string[];
  /** A kubeconfig's exec plugins and `$HOME` see this. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running gateway process. */
export interface GatewayProcess {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly opsUrl: string;
  readonly caFile: string;
  readonly caPem: string;
  readonly dataDir: string;
  readonly tokenFile: string;
  readonly pid: number;
  readonly child: ChildProcess;
  /** Everything on standard error so far: JSON lines of the log. */
  log(): string;
  /** Sends the signal (default SIGTERM) and resolves with the exit code, or the signal that killed it. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** One line of kube-apiserver's token CSV. */
export function tokenLine({ token, name, uid = '', groups = [] }: TestUser): string {
  return [token, name, uid, `"${groups.join(',')}"`].join(',');
}

/** Starts a gateway and waits until it serves; rejects with its output when it exits instead. */
export async function startGatewayProcess(options: GatewayOptions): Promise<GatewayProcess> {
  const dataDir = options.dataDir ?? tempDir('data');
  const tokenFile = join(dataDir, 'tokens.csv');
  const configFile = join(dataDir, 'config.yaml');
  if (options.users.length > 0)
    writeFileSync(tokenFile, `${options.users.map(tokenLine).join('\n')}\n`, { mode: 0o600 });
  writeFileSync(configFile, JSON.stringify({ shutdownDelaySeconds: 0, shutdownGraceSeconds: 5, ...options.config }));
  const args = [
    ...(options.nodeArgs ?? []),
    join(root, 'bin', 'portcullis.mjs'),
    'serve',
    ...[
      '--config',
      configFile,
      '--listen',
      `127.0.0.1:${options.port ?? 0}`,
      '--ops-listen',
      '127.0.0.1:0',
      '--data-dir',
      dataDir,
    ],
    ...options.kubeconfigs.flatMap((file) => ['--kubeconfig', file]),
    ...(options.users.length > 0 ? ['--token-auth-file', tokenFile] : []),
    ...(options.args ?? []),
  ];
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  let output = '';
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = new Promise<number | string>((resolve) =>
    child.on('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')),
  );
  const banner = new Promise<RegExpExecArray>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const found = /at (https:\/\/\S+:(\d+)) \(metrics: (http:\/\/\S+)\/metrics\)/.exec(output);
      if (found !== null) resolve(found);
    });
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return await exited;
  };
  const first = await Promise.race([banner, exited]);
  if (!Array.isArray(first)) {
    throw new Error(`the gateway ended with ${String(first)} instead of serving:\n${output}${log}`);
  }
  const caFile = join(dataDir, 'ca.crt');
  const owned = (options.args ?? []).includes('--tls-cert-file');
  return {
    url: first[1]!,
    port: Number(first[2]),
    opsUrl: first[3]!,
    caFile,
    caPem: owned ? '' : readFileSync(caFile, 'utf8'),
    dataDir,
    tokenFile,
    pid: child.pid!,
    child,
    log: () => log,
    stop,
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL');
    },
  };
}
