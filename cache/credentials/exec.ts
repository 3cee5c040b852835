// A credential from an exec plugin. The plugin runs when a credential is needed, never twice at the same time, and its
// result is cached until shortly before it expires. A plugin may open a browser window or take seconds. So neither a
// burst of requests, nor a failing plugin, nor a member that always answers 401 may start it over and over.
import { basename } from 'node:path';
import { GatewayError } from '../../model/errors.ts';
import type { Credential, CredentialSource } from '../../model/records.ts';
import { readExecCredential } from './exec-output.ts';
import { runExec, type ExecResult, type ExecRun } from './exec-run.ts';
import type { KeyPair } from './pem.ts';
import { lastLineRedacted } from './redact.ts';

/** How to run a credential plugin, with all paths resolved. */
export interface ExecPlan {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  /** An absolute path if the kubeconfig has a path with a slash, otherwise a name to look up in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** The kubeconfig's advice on how to install the plugin, for the error when it is missing. */
  readonly installHint: string;
  /** Whether to pass `spec.cluster` in KUBERNETES_EXEC_INFO. */
  readonly provideClusterInfo: boolean;
}

/** The plugin of one credential, what it is given, and its limits. */
export interface ExecCredentialOptions {
  readonly plan: ExecPlan;
  /** Value of `spec.cluster` in KUBERNETES_EXEC_INFO; undefined leaves it out. */
  readonly clusterInfo?: Readonly<Record<string, unknown>> | undefined;
  /** Client certificate from the kubeconfig. It takes precedence over one that the plugin returns, as in client-go. */
  readonly clientCertificate?: KeyPair | undefined;
  /** Environment variables that the plugin inherits, as with kubectl. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted when the gateway stops; a running plugin is then killed. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The current time in Unix milliseconds, for tests. Default: the system time for expiry, a monotonic clock for waits.
   */
  readonly now?: () => number;
  /** Maximum time in milliseconds for one run; default 30,000. */
  readonly timeoutMs?: number;
  /** Runs the plugin; default {@link runExec}. Tests replace it. */
  readonly run?: (run: ExecRun) => Promise<ExecResult>;
}

/** Maximum number of bytes of stdout. A plugin that prints more is killed, and callers get an error. */
const maxStdoutBytes = 1024 * 1024;
/**
 * How many milliseconds before its expiry a credential is renewed, or a tenth of its lifetime if a tenth is shorter.
 * The old credential is used until the plugin has returned a new one.
 */
const refreshMarginMs = 60_000;
/**
 * After a failed run, callers get the same error for this many milliseconds, and the plugin does not run again. The
 * time doubles with each further failure, up to `maxBackoffMs`.
 */
const firstBackoffMs = 1_000;
const maxBackoffMs = 30_000;
/** For this many milliseconds after a successful run, a 401 from the member does not make the plugin run again. */
const minRerunMs = 10_000;

/** The cached credential. `obtainedAtMs` is on the clock `#elapsed`, `refreshAtMs` in Unix milliseconds. */
interface Held {
  readonly credential: Credential;
  readonly obtainedAtMs: number;
  readonly refreshAtMs: number;
}

/** Makes a {@link CredentialSource} that runs the plugin. */
export function execCredential(options: ExecCredentialOptions): CredentialSource {
  const held = new ExecHolder(options);
  return Object.freeze({
    kind: 'exec' as const,
    current: () => held.current(),
    invalidate: () => held.invalidate(),
  });
}

/** Caches the credential of one plugin and decides when to run it again. */
class ExecHolder {
  readonly #options: ExecCredentialOptions;
  /** Returns Unix milliseconds, to compare with expiry times. */
  readonly #now: () => number;
  /** A monotonic clock for waits, so that a change of the system time cannot delay a run. */
  readonly #elapsed: () => number;
  #held: Held | undefined;
  #running: Promise<Credential> | undefined;
  /**
   * Whether the member answered 401 to the cached credential. The credential may still be good: an API server also
   * passes on a 401 of a kubelet or of another API server.
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
    // The plugin runs in the background. If it fails, callers get the error only after the old credential has expired.
    if (mayRun) void this.#start().catch(() => undefined);
    return held.credential;
  }

  invalidate(): void {
    // The 401 is ignored when the credential is younger than minRerunMs: it was an answer to the previous credential,
    // or the member refuses every credential of this plugin.
    const held = this.#held;
    if (held !== undefined && this.#elapsed() - held.obtainedAtMs >= minRerunMs) this.#isRefused = true;
  }

  /** Runs the plugin and returns the new credential; returns `old` if the run fails and `old` has not expired. */
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

/**
 * The credential from a finished run.
 * @throws GatewayError MEMBER_CREDENTIAL with the plugin's name, how it ended and its last line of stderr
 */
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
    throw fail(
      error instanceof GatewayError
        ? error.message
        : 'printed an ExecCredential that the gateway could not read; run the plugin by hand and look at its output',
    );
  }
  if (credential.expiresAtMs !== undefined && credential.expiresAtMs <= nowMs) {
    throw fail('returned a credential that has expired already');
  }
  if (options.clientCertificate === undefined) return credential;
  return Object.freeze({ ...credential, clientCertificate: options.clientCertificate });
}

/**
 * Values in the plugin's configuration whose names suggest a secret. They are removed from its output, since some
 * plugins print their settings.
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
