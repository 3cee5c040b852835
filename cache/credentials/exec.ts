// A credential from an exec plugin, which runs when needed and once at a time. The credential is kept until shortly
// before it expires. A plugin may open a browser window or take seconds, so a burst of requests, a failing plugin or a
// member that answers 401 to everything must not start it again and again.
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
/** The plugin runs again this long before the expiry (a tenth of the life when that is shorter); the old one serves. */
const refreshMarginMs = 60_000;
/** After a failure: 1 s, doubled each time, at most 30 s, during which the error is repeated. */
const firstBackoffMs = 1_000;
const maxBackoffMs = 30_000;
/** A member that answers 401 to everything makes the plugin run at most once in this time. */
const minRerunMs = 10_000;

interface Held {
  readonly credential: Credential;
  readonly obtainedAtMs: number;
  readonly refreshAtMs: number;
}

/** A {@link CredentialSource} that runs the plugin. */
export function execCredential(options: ExecCredentialOptions): CredentialSource {
  const held = new ExecHolder(options);
  return Object.freeze({
    kind: 'exec' as const,
    current: () => held.current(),
    invalidate: () => held.invalidate(),
  });
}

/** The credential of one plugin, and when it may run again. */
class ExecHolder {
  readonly #options: ExecCredentialOptions;
  /** Unix milliseconds, for expiry. */
  readonly #now: () => number;
  /** For waits: a step of the wall clock must not put a run off. */
  readonly #elapsed: () => number;
  #held: Held | undefined;
  #running: Promise<Credential> | undefined;
  /**
   * The member answered 401 to the held credential. That may not be its fault: an API server also passes on the 401 of
   * a kubelet or of another API server behind it.
   */
  #isRefused = false;
  #failure: { readonly error: GatewayError; readonly retryAtMs: number; readonly backoffMs: number } | undefined;

  constructor(options: ExecCredentialOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#elapsed = options.now ?? (() => performance.now());
  }

  current(): Credential | Promise<Credential> {
    const nowMs = this.#now();
    const held = this.#held !== undefined && this.#lasts(this.#held.credential) ? this.#held : undefined;
    if (held !== undefined && nowMs < held.refreshAtMs && !this.#isRefused) return held.credential;
    const failure = this.#failure;
    const mayRun = failure === undefined || this.#elapsed() >= failure.retryAtMs;
    if (held === undefined) {
      if (this.#running !== undefined || mayRun) return this.#start();
      return Promise.reject(failure.error);
    }
    if (this.#isRefused && failure === undefined) return this.#startOr(held.credential);
    // Nobody waits for this run. When it fails, callers after the expiry get the error.
    if (mayRun) void this.#start().catch(() => undefined);
    return held.credential;
  }

  invalidate(): void {
    // For a younger credential, the 401 was for its predecessor, or the member refuses everything the plugin gives.
    const held = this.#held;
    if (held !== undefined && this.#elapsed() - held.obtainedAtMs >= minRerunMs) this.#isRefused = true;
  }

  /** The credential of a new run; `old` when the run fails and `old` still lasts. */
  async #startOr(old: Credential): Promise<Credential> {
    try {
      return await this.#start();
    } catch (error) {
      if (this.#lasts(old)) return old;
      throw error;
    }
  }

  #start(): Promise<Credential> {
    this.#running ??= this.#obtain().then(
      (credential) => {
        this.#running = undefined;
        this.#failure = undefined;
        this.#isRefused = false;
        const nowMs = this.#now();
        const lifeMs = (credential.expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs;
        const refreshAtMs = nowMs + lifeMs - Math.min(refreshMarginMs, lifeMs / 10);
        this.#held = { credential, obtainedAtMs: this.#elapsed(), refreshAtMs };
        return credential;
      },
      (error: GatewayError) => {
        this.#running = undefined;
        const backoffMs = Math.min((this.#failure?.backoffMs ?? firstBackoffMs / 2) * 2, maxBackoffMs);
        this.#failure = { error, retryAtMs: this.#elapsed() + backoffMs, backoffMs };
        throw error;
      },
    );
    return this.#running;
  }

  async #obtain(): Promise<Credential> {
    const { plan, timeoutMs, signal, run } = this.#options;
    const result = await (run ?? runExec)({
      command: plan.command,
      args: plan.args,
      env: environmentOf(this.#options),
      timeoutMs: timeoutMs ?? 30_000,
      maxStdoutBytes,
      signal,
    });
    return credentialOf(this.#options, result, this.#now());
  }

  #lasts({ expiresAtMs }: Credential): boolean {
    return this.#now() < (expiresAtMs ?? Number.POSITIVE_INFINITY);
  }
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
 * Values under a name that sounds secret. They are cut from what the plugin prints, since some print their settings.
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
