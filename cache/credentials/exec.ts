// A credential from an exec plugin: run when needed, kept until shortly before it expires, one run at a time whoever
// asks. Easy to get wrong: a plugin may open a browser window or cost seconds, so neither a burst of requests, nor a
// failing plugin, nor a member that answers 401 to everything may start it again and again.
import { basename } from 'node:path';
import { GatewayError } from '../model/errors.ts';
import type { Credential, CredentialSource } from '../model/records.ts';
import { readExecCredential } from './exec-output.ts';
import { runExec, type ExecResult, type ExecRun } from './exec-run.ts';
import type { KeyPair } from './pem.ts';
import { lastLineRedacted } from './redact.ts';

/** How to run a credential plugin, all paths resolved. */
export interface ExecPlan {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  /** Absolute when the kubeconfig wrote it with a slash, otherwise looked up in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** What the kubeconfig tells people whose machine lacks the plugin. */
  readonly installHint: string;
  /** Pass `spec.cluster` in KUBERNETES_EXEC_INFO. */
  readonly provideClusterInfo: boolean;
}

export interface ExecCredentialOptions {
  readonly plan: ExecPlan;
  /** `spec.cluster` of KUBERNETES_EXEC_INFO; undefined when the plan does not ask for it. */
  readonly clusterInfo?: Readonly<Record<string, unknown>> | undefined;
  /** A certificate of the kubeconfig: wins over one of the plugin, as in client-go. */
  readonly clientCertificate?: KeyPair | undefined;
  /** Environment the plugin inherits, as kubectl's. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Kills a running plugin when the gateway stops. */
  readonly signal?: AbortSignal | undefined;
  readonly now?: () => number;
  /** Longest run, 30 s by default. */
  readonly timeoutMs?: number;
  readonly run?: (run: ExecRun) => Promise<ExecResult>;
}

const maxStdoutBytes = 1024 * 1024;
/**
 * Asked anew this long before it expires (a tenth of its life when that is shorter), while the old one still serves.
 */
const refreshMarginMs = 60_000;
/** After a failure: 1 s, doubled each time, at most 30 s, during which the error is repeated. */
const firstBackoffMs = 1_000;
const maxBackoffMs = 30_000;
/** A member that answers 401 to everything makes us run the plugin once in this time. */
const minRerunMs = 10_000;

interface Held {
  readonly credential: Credential;
  readonly obtainedAtMs: number;
  readonly refreshAtMs: number;
}

/** A {@link CredentialSource} that runs the plugin. */
export function execCredential(options: ExecCredentialOptions): CredentialSource {
  const now = options.now ?? Date.now;
  // When to run again is a matter of time gone by; a step of the wall clock must not put it off.
  const elapsed = options.now ?? (() => performance.now());
  const run = options.run ?? runExec;
  let held: Held | undefined;
  let running: Promise<Credential> | undefined;
  /**
   * The member refused what is held. It may be wrong: an API server also passes on the 401 of a kubelet or of another
   * API server behind it.
   */
  let isRefused = false;
  let failure: { readonly error: GatewayError; readonly retryAtMs: number; readonly backoffMs: number } | undefined;

  async function obtain(): Promise<Credential> {
    const result = await run({
      command: options.plan.command,
      args: options.plan.args,
      env: environmentOf(options),
      timeoutMs: options.timeoutMs ?? 30_000,
      maxStdoutBytes,
      signal: options.signal,
    });
    return credentialOf(options, result, now());
  }

  function start(): Promise<Credential> {
    running ??= obtain().then(
      (credential) => {
        running = undefined;
        failure = undefined;
        isRefused = false;
        const nowMs = now();
        const lifeMs = (credential.expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs;
        const refreshAtMs = nowMs + lifeMs - Math.min(refreshMarginMs, lifeMs / 10);
        held = { credential, obtainedAtMs: elapsed(), refreshAtMs };
        return credential;
      },
      (error: GatewayError) => {
        running = undefined;
        const backoffMs = Math.min((failure?.backoffMs ?? firstBackoffMs / 2) * 2, maxBackoffMs);
        failure = { error, retryAtMs: elapsed() + backoffMs, backoffMs };
        throw error;
      },
    );
    return running;
  }

  const lasts = ({ expiresAtMs }: Credential): boolean => now() < (expiresAtMs ?? Number.POSITIVE_INFINITY);

  function current(): Credential | Promise<Credential> {
    const nowMs = now();
    const valid = held !== undefined && lasts(held.credential);
    if (held !== undefined && valid && nowMs < held.refreshAtMs && !isRefused) return held.credential;
    const mayRun = failure === undefined || elapsed() >= failure.retryAtMs;
    if (held !== undefined && valid) {
      const { credential } = held;
      if (isRefused && failure === undefined) {
        return start().catch((error: unknown) => {
          if (lasts(credential)) return credential;
          throw error;
        });
      }
      // Nobody waits for this run; if it fails, whoever comes after the expiry hears of it.
      if (mayRun) void start().catch(() => undefined);
      return credential;
    }
    if (running !== undefined || mayRun) return start();
    return Promise.reject(failure?.error ?? new GatewayError('INTERNAL', 'a plugin neither ran nor failed'));
  }

  return Object.freeze({
    kind: 'exec' as const,
    current,
    invalidate() {
      // Younger than that, the 401 was for its predecessor, or the member refuses whatever the plugin gives.
      if (held !== undefined && elapsed() - held.obtainedAtMs >= minRerunMs) isRefused = true;
    },
  });
}

function environmentOf(options: ExecCredentialOptions): Record<string, string | undefined> {
  const spec = { ...(options.clusterInfo === undefined ? {} : { cluster: options.clusterInfo }), interactive: false };
  const info = { kind: 'ExecCredential', apiVersion: options.plan.apiVersion, spec };
  return {
    ...options.environment,
    ...Object.fromEntries(options.plan.env.map((item) => [item.name, item.value])),
    KUBERNETES_EXEC_INFO: JSON.stringify(info),
  };
}

/** @throws GatewayError MEMBER_CREDENTIAL naming the plugin, how it ended and the last thing it said */
function credentialOf(options: ExecCredentialOptions, result: ExecResult, nowMs: number): Credential {
  const name = basename(options.plan.command);
  const fail = (reason: string): GatewayError => {
    const said = 'stderr' in result ? lastLineRedacted(result.stderr, secretsOf(options.plan)) : '';
    const hint =
      result.kind === 'not-started' ? options.plan.installHint.trim().replaceAll(/\s+/g, ' ').slice(0, 400) : '';
    const details = [said, hint].filter((part) => part !== '').map((part) => `: ${part}`);
    return new GatewayError('MEMBER_CREDENTIAL', `credential plugin ${name}: ${reason}${details.join('')}`);
  };
  if (result.kind === 'not-started') {
    throw fail(
      result.code === 'ENOENT' ? 'was not found; install it or correct the PATH' : `cannot be run (${result.code})`,
    );
  }
  if (result.kind === 'timeout') throw fail(`did not end within ${(options.timeoutMs ?? 30_000) / 1000} s`);
  if (result.kind === 'too-large') throw fail('printed more than 1 MiB');
  if (result.kind === 'aborted') throw fail('was ended because the gateway stops');
  if (result.kind === 'killed') throw fail(`was killed by ${result.signal}`);
  if (result.code !== 0) throw fail(`exited with code ${result.code}`);
  let credential: Credential;
  try {
    credential = readExecCredential(result.stdout, options.plan.apiVersion);
  } catch (error) {
    throw fail(error instanceof GatewayError ? error.message : 'printed something unreadable');
  }
  if (credential.expiresAtMs !== undefined && credential.expiresAtMs <= nowMs) {
    throw fail('returned a credential that has expired already');
  }
  if (options.clientCertificate === undefined) return credential;
  return Object.freeze({ ...credential, clientCertificate: options.clientCertificate });
}

/**
 * Values the kubeconfig gives the plugin under a name that sounds secret: a plugin that prints its settings must not
 * print these.
 */
function secretsOf(plan: ExecPlan): readonly string[] {
  const secretName = /token|secret|password|passwd|credential|key/i;
  const fromEnv = plan.env.filter((item) => secretName.test(item.name)).map((item) => item.value);
  const fromArgs = plan.args.flatMap((arg, index) => {
    const flag = /^--?([^=]+)(?:=(.*))?$/s.exec(arg);
    if (flag === null || !secretName.test(flag[1] ?? '')) return [];
    return [flag[2] ?? plan.args[index + 1] ?? ''];
  });
  return [...fromEnv, ...fromArgs];
}
