// Two ways to the same kind of cluster: directly, impersonating with the gateway's own credential, and through a
// gateway. A scenario runs once on each and every command's output is compared. Normalising too much hides real
// differences, so only times, ids, server URLs, temporary paths, local ports and member names are replaced.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { kubeconfigOf } from '../../pretend/kubeconfig.ts';

/** Who runs the commands: the same on both sides. */
export interface ScenarioUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /** Token in the gateway's token file. */
  readonly token: string;
}

/** One finished command. */
export interface Outcome {
  readonly command: string;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly stdin?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Another kubectl than the side's. */
  readonly binary?: string;
  /** Kept out of the comparison (a command that only prepares). */
  readonly silent?: boolean;
}

/** A command that goes on: watches, port-forward, proxy. */
export interface Running {
  readonly child: ChildProcess;
  /** Resolves with the output so far as soon as it matches; rejects when the process ends before or after 30 s. */
  until(pattern: RegExp): Promise<string>;
  /** Ends it with SIGINT and records its output under the command. */
  stop(): Promise<Outcome>;
  /** Waits until it has ended by itself and records its output; kills it after 30 s. */
  finish(): Promise<Outcome>;
}

/** One way to a cluster. */
export interface Side {
  readonly name: 'direct' | 'gateway';
  readonly member: Member;
  readonly kubeconfig: string;
  readonly dir: string;
  readonly outcomes: Outcome[];
  run(args: readonly string[], options?: RunOptions): Promise<Outcome>;
  start(args: readonly string[], options?: RunOptions): Running;
  /** Kills every command that still runs, so that a failed test does not keep the run going. */
  end(): void;
  /** Writes a file both sides call by the same relative name. */
  file(name: string, text: string | Buffer): string;
}

/** Where a side that is not direct sends its requests. */
export type Endpoint = Pick<GatewayProcess, 'url' | 'caFile'> & {
  /** Below which the member is; default `/clusters/<member>/proxy`. */
  readonly path?: string;
  /** `user` of the kubeconfig; default the user's token. */
  readonly credential?: object;
};

/** Makes a side. `kubectl` is the program to run. */
export function makeSide(
  name: Side['name'],
  kubectl: string,
  member: Member,
  user: ScenarioUser,
  parent: string,
  gateway: Endpoint | undefined,
): Side {
  const dir = join(parent, name);
  mkdirSync(join(dir, 'home'), { recursive: true });
  const kubeconfig = join(dir, 'kubeconfig');
  const server = gateway === undefined ? member.url : gateway.url + (gateway.path ?? `/clusters/${member.name}/proxy`);
  const direct = {
    token: member.gatewayToken,
    as: user.name,
    'as-uid': user.uid,
    'as-groups': user.groups,
    ...(user.extra && { 'as-user-extra': user.extra }),
  };
  writeFileSync(
    kubeconfig,
    stringify(
      kubeconfigOf(
        { server, 'certificate-authority': gateway === undefined ? member.caFile : gateway.caFile },
        gateway === undefined ? direct : (gateway.credential ?? { token: user.token }),
      ),
    ),
  );
  const outcomes: Outcome[] = [];
  const alive = new Set<ChildProcess>();
  const launch = (args: readonly string[], options: RunOptions): ChildProcess => {
    const child = spawn(options.binary ?? kubectl, args, {
      cwd: dir,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: join(dir, 'home'),
        KUBECONFIG: kubeconfig,
        TERM: 'xterm',
        ...options.env,
      },
    });
    alive.add(child);
    child.on('exit', () => alive.delete(child));
    return child;
  };
  const watchOutput = (
    child: ChildProcess,
  ): { stdout: string; stderr: string; readonly ended: Promise<number | null> } => {
    const output = {
      stdout: '',
      stderr: '',
      ended: new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code))),
    };
    child.stdout!.on('data', (chunk: Buffer) => (output.stdout += chunk.toString('utf8')));
    child.stderr!.on('data', (chunk: Buffer) => (output.stderr += chunk.toString('utf8')));
    child.stdin!.on('error', () => undefined);
    return output;
  };
  return {
    name,
    member,
    kubeconfig,
    dir,
    outcomes,
    async run(args, options = {}) {
      const child = launch(args, options);
      const output = watchOutput(child);
      child.stdin!.end(options.stdin);
      const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 60_000);
      const code = await output.ended;
      clearTimeout(timer);
      const outcome = { command: args.join(' '), code, stdout: output.stdout, stderr: output.stderr };
      if (options.silent !== true) outcomes.push(outcome);
      return outcome;
    },
    start(args, options = {}) {
      const child = launch(args, options);
      const output = watchOutput(child);
      if (options.stdin !== undefined) child.stdin!.write(options.stdin);
      const endWithin = async (limitMs: number): Promise<Outcome> => {
        const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
        const code = await output.ended;
        clearTimeout(timer);
        const outcome = { command: args.join(' '), code, stdout: output.stdout, stderr: output.stderr };
        if (options.silent !== true) outcomes.push(outcome);
        return outcome;
      };
      return {
        child,
        until(pattern) {
          const { promise, resolve, reject } = Promise.withResolvers<string>();
          const fail = (why: string): void =>
            reject(new Error(`${name}: ${args.join(' ')} ${why}:\n${output.stdout}\n${output.stderr}`));
          const timer = setTimeout(() => fail(`printed nothing like ${String(pattern)} in 30 s`), 30_000);
          const check = (): void => {
            const texts = [output.stdout, output.stderr].map(wholeLines);
            if (texts.some((text) => pattern.test(text))) resolve(output.stdout + output.stderr);
          };
          child.stdout!.on('data', check);
          child.stderr!.on('data', check);
          void output.ended.then(() => fail(`ended before it printed ${String(pattern)}`));
          check();
          return promise.finally(() => clearTimeout(timer));
        },
        stop() {
          child.kill('SIGINT');
          return endWithin(10_000);
        },
        finish: () => endWithin(30_000),
      };
    },
    end() {
      for (const child of alive) {
        child.kill('SIGKILL');
        child.stdout!.destroy();
        child.stderr!.destroy();
      }
    },
    file(fileName, text) {
      writeFileSync(join(dir, fileName), text);
      return fileName;
    },
  };
}

/**
 * The text up to its last line end: kubectl writes a row of a table and its line end apart, and a stop between the two
 * would cut it.
 */
function wholeLines(text: string): string {
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

/** Address of a member, straight or below one of the gateway's or the hub's prefixes. */
const memberUrl =
  /https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+(?:(?:\/apis\/[a-z.]+\/v1alpha1)?\/cluster(?:s|gateways)\/[a-z0-9-]+\/proxy)?/g;

/** Replaces what must differ between two runs on two members: nothing else. */
export function normalised(side: Side, text: string): string {
  return (
    text
      .replaceAll(side.dir, 'DIR')
      .replaceAll(memberUrl, 'SERVER')
      .replaceAll(/127\.0\.0\.1:\d+|\[::1\]:\d+/g, 'LOCAL')
      .replaceAll(/(Handling connection for|occurred forwarding) \d+/g, '$1 PORT')
      .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID')
      .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}/g, 'TIME')
      .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, 'TIME')
      .replaceAll(/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME')
      .replaceAll(/eyJ2IjoibWV0YS5rOHMuaW8v[A-Za-z0-9_-]+/g, continueText)
      .replaceAll(/(resourceVersion|resource version)("?: ?"?)\d+/g, '$1$2RV')
      // In front of ages: the end of a pod's name may look like one.
      .replaceAll(/-[0-9a-f]{8,10}-[a-z0-9]{5}\b/g, '-HASH-POD')
      .replaceAll(/\b\d+(?:s|m|ms|h)(?:\d+s)?\b/g, 'AGE')
      .replaceAll(/\b\d+(?:\.\d+)?(?:ms|µs|s)\b/g, 'AGE')
      .replaceAll(/<(?:invalid|unknown)>/g, 'AGE')
      .replaceAll(/[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+/g, 'KLOG')
      .replaceAll(/\/tmp\/[A-Za-z0-9._/-]+/g, 'TMP')
      .replaceAll(/eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g, 'JWT')
      .replaceAll(/-[0-9bcdf-hj-np-tv-z]{8,10}\b/g, '-HASH')
      .replaceAll(/ +/g, ' ')
      .replaceAll(/-{3,}/g, '---')
  );
}

/** A continue token of kube-apiserver says at which resourceVersion the list was. */
function continueText(token: string): string {
  return Buffer.from(token, 'base64url')
    .toString('utf8')
    .replace(/"rv":\d+/, '"rv":RV');
}

/** The outcome as it is compared. */
export function comparable(side: Side, outcome: Outcome): object {
  return {
    command: normalised(side, outcome.command),
    code: outcome.code,
    stdout: normalised(side, outcome.stdout).split('\n'),
    stderr: normalised(side, outcome.stderr).split('\n'),
  };
}
