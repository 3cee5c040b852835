// Reads the hub's address and the gateway's credential for it, from a kubeconfig file or from the ServiceAccount of the
// pod, and reads them again when the files change. Kubernetes replaces a ServiceAccount token on disk about every hour,
// so callers must call `current()` for every request. When a changed file cannot be used, the last usable address and
// credential are kept.
import type { HubAccess, HubConnection } from '../../kube/client/connection.ts';
import type { Environment } from '../../lib/environment-proxy.ts';
import { resolve } from 'node:path';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { watchFiles, type FileWatch, type FileWatchOptions } from '../../lib/file-watch.ts';
import {
  maxCredentialBytes,
  readAll,
  readWhole,
  textOf,
  type FileReading,
} from '../sources/kubeconfig/file-reading.ts';
import { digest, draftClusters, referencedFiles, type ClusterDraft } from '../sources/kubeconfig/kubeconfig-cluster.ts';
import { credentialOfPlan, type ExecSettings } from '../sources/kubeconfig/kubeconfig-credential.ts';
import { maxKubeconfigBytes, parseKubeconfig, type Kubeconfig } from '../sources/kubeconfig/kubeconfig-file.ts';
import { bareUser } from '../sources/kubeconfig/kubeconfig-user.ts';

/** How often the files of a connection are read again, and what is called when they cannot be used. */
export interface HubConnectionOptions {
  /** Called with a message when changed files cannot be used, and with undefined when they can be used again. */
  readonly onProblem?: (problem: string | undefined) => void;
  /** Settings for exec credential plugins, such as environment, clock and time limit. */
  readonly exec?: ExecSettings;
  readonly watch?: Omit<FileWatchOptions, 'onChange'>;
  /**
   * How often, in milliseconds, all files are read again even when no change was noticed, as client-go does with token
   * files. Default one minute.
   */
  readonly rereadMs?: number;
}

/** The folder where a pod finds its ServiceAccount files (Kubernetes docs, "Accessing the API from a Pod"). */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * A connection to the cluster of the kubeconfig's current context. Exec plugins may run, because the operator wrote the
 * file.
 * @throws ConfigurationError when the file cannot be used at start
 */
export function readHubKubeconfig(file: string, options: HubConnectionOptions = {}): Promise<HubConnection> {
  return startConnection(resolve(file), options, () => readCurrentContext(resolve(file)), hubFault);
}

/**
 * Reads a kubeconfig for a webhook, as kube-apiserver does. Unlike a hub's kubeconfig, it may lack a credential and use
 * plain http.
 * @throws ConfigurationError when the file cannot be used at start
 */
export function readWebhookKubeconfig(file: string, options: HubConnectionOptions = {}): Promise<HubConnection> {
  return startConnection(resolve(file), options, () => readCurrentContext(resolve(file)), webhookFault);
}

async function readCurrentContext(path: string): Promise<Read> {
  const reading = await readWhole(path, maxKubeconfigBytes);
  if ('fault' in reading) throw new ConfigurationError([{ file: path, message: reading.fault }]);
  const kubeconfig = parseKubeconfig(path, reading.text);
  const named = kubeconfig.contexts.find(({ name }) => name === kubeconfig.currentContext);
  if (kubeconfig.currentContext === '' || named === undefined) {
    const message =
      kubeconfig.currentContext === ''
        ? 'has no current-context; choose the hub with "kubectl config use-context"'
        : `its current-context "${kubeconfig.currentContext}" is not among its contexts`;
    throw new ConfigurationError([{ file: path, path: 'current-context', message }]);
  }
  const origin = `${path} context "${named.name}"`;
  return { kubeconfig: only(kubeconfig, named), origin, readings: new Map([[path, reading]]) };
}

/**
 * A connection as the ServiceAccount of the pod that this process runs in (client-go `rest.InClusterConfig`). Returns
 * undefined when the process does not run in a pod.
 * @throws ConfigurationError when the ServiceAccount files of the pod cannot be used
 */
export async function inClusterConnection(
  environment: Readonly<Record<string, string | undefined>>,
  options: HubConnectionOptions & { readonly folder?: string } = {},
): Promise<HubConnection | undefined> {
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '';
  if (host === '' || port === '') return undefined;
  const folder = options.folder ?? serviceAccountFolder;
  const kubeconfig: Kubeconfig = {
    clusters: new Map([
      [
        'in-cluster',
        {
          name: 'in-cluster',
          server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
          caFile: `${folder}/ca.crt`,
          caData: '',
          insecure: false,
          serverName: '',
          proxyUrl: '',
          extensions: [],
        },
      ],
    ]),
    users: new Map([['in-cluster', { ...bareUser, name: 'in-cluster', tokenFile: `${folder}/token` }]]),
    contexts: [{ name: 'hub', cluster: 'in-cluster', user: 'in-cluster', namespace: '', extensions: [] }],
    currentContext: 'hub',
  };
  const read = { kubeconfig, origin: 'in-cluster', readings: new Map<string, FileReading>(), environment: {} };
  return startConnection(folder, options, () => Promise.resolve(read), hubFault);
}

/**
 * Returns the kubeconfig with `context` as its only context, renamed `hub`. The rename is needed because names of
 * clusters have stricter rules than names of contexts.
 */
function only(kubeconfig: Kubeconfig, context: Kubeconfig['contexts'][number]): Kubeconfig {
  return { ...kubeconfig, contexts: [{ ...context, name: 'hub', extensions: [] }] };
}

/** One reading of the configuration: a kubeconfig with a single context, and where it came from. */
interface Read {
  readonly kubeconfig: Kubeconfig;
  readonly origin: string;
  /** The kubeconfig file that was read, by absolute path; empty for the ServiceAccount of a pod. */
  readonly readings: ReadonlyMap<string, FileReading>;
  /** Variables that may name a proxy. The API server of the pod's own cluster is reached without one. */
  readonly environment?: Environment;
}

/**
 * Loads the files for the first time, and watches them from then on.
 * @param file the kubeconfig, or for a pod the folder of its ServiceAccount files. Messages name it, and relative paths
 * in the kubeconfig start in its folder
 * @param faultOf returns why this connection cannot be used for a hub or webhook, or undefined when it can
 */
async function startConnection(
  file: string,
  options: HubConnectionOptions,
  read: () => Promise<Read>,
  faultOf: (draft: ClusterDraft) => string | undefined,
): Promise<HubConnection> {
  const connection = new WatchedConnection(file, options, read, faultOf);
  await connection.start();
  return connection;
}

/** Holds the last usable address and credential, and reads the files again when they change. */
class WatchedConnection implements HubConnection {
  readonly #file: string;
  readonly #options: HubConnectionOptions;
  readonly #read: () => Promise<Read>;
  readonly #faultOf: (draft: ClusterDraft) => string | undefined;
  readonly #stopping = new AbortController();
  readonly #watch: FileWatch;
  #reread: NodeJS.Timeout | undefined;
  #drafts: ReadonlyMap<string, ClusterDraft> = new Map();
  #access: { readonly key: string; readonly value: HubAccess } | undefined;
  #work: Promise<void> = Promise.resolve();
  /** Where the connection was configured, for messages: the kubeconfig file and context, or `in-cluster`. */
  origin: string;
  #problem: string | undefined;

  constructor(
    file: string,
    options: HubConnectionOptions,
    read: () => Promise<Read>,
    faultOf: (draft: ClusterDraft) => string | undefined,
  ) {
    this.#file = file;
    this.#options = options;
    this.#read = read;
    this.#faultOf = faultOf;
    this.origin = file;
    this.#watch = watchFiles({ ...options.watch, onChange: () => this.reload() });
  }

  /**
   * Reads the files for the first time.
   * @throws ConfigurationError when the files cannot be used; then no file is watched
   */
  async start(): Promise<void> {
    try {
      await this.#load();
    } catch (error) {
      this.#watch.close();
      throw error;
    }
    this.#reread = setInterval(() => void this.reload(), this.#options.rereadMs ?? 60_000).unref();
  }

  /** The present address and credential. Call it for every request, since both may change. */
  current(): HubAccess {
    if (this.#access === undefined) throw new Error(`${this.#file}: nothing was loaded`);
    return this.#access.value;
  }

  /** Why the files as they are now cannot be used; undefined when they can. Contains no secret. */
  problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Reads the files again now, for example after a 401 of the hub. Never rejects; faults are reported by `problem()`.
   */
  async reload(): Promise<void> {
    this.#work = this.#work
      .then(() => this.#load())
      .then(
        () => this.#setProblem(undefined),
        // The message of any other error could quote a secret from a file, so it is not shown.
        (error: unknown) =>
          this.#setProblem(error instanceof ConfigurationError ? error.message : `${this.#file}: cannot be read again`),
      );
    await this.#work;
  }

  /** Stops watching the files and ends running exec plugins. */
  close(): void {
    this.#stopping.abort();
    clearInterval(this.#reread);
    this.#watch.close();
  }

  async #load(): Promise<void> {
    const found = await this.#read();
    const contents = await readAll(referencedFiles(this.#file, found.kubeconfig), maxCredentialBytes);
    if (this.#stopping.signal.aborted) return;
    const signatures = [...found.readings, ...contents].map(([one, reading]) => [one, reading.signature] as const);
    this.#watch.setFiles(new Map(signatures));
    const [draft] = draftClusters(
      this.#file,
      found.kubeconfig,
      (one) => textOf(contents, one),
      this.#drafts,
      found.environment,
    );
    if (draft === undefined) throw new Error('no context was left');
    const fault = draft.spec.problem?.message ?? this.#faultOf(draft);
    if (fault !== undefined) throw new ConfigurationError([{ file: this.#file, message: fault }]);
    this.#drafts = new Map([[draft.key, draft]]);
    this.origin = found.origin;
    const { endpoint, tls } = draft.spec;
    const planKey = digest([draft.plan, draft.execCluster ?? null]);
    const key = digest([endpoint, tls, planKey]);
    if (this.#access?.key === key || endpoint === undefined) return;
    const { signal } = this.#stopping;
    const credential = credentialOfPlan(draft.plan, draft.execCluster, { ...this.#options.exec, signal });
    this.#access = { key, value: Object.freeze({ endpoint, tls, credential, transportKey: digest([endpoint, tls]) }) };
  }

  #setProblem(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.onProblem?.(problem);
  }
}

/**
 * Why a context cannot be used for the hub although it would be valid for a member cluster; undefined when it can be
 * used.
 */
function hubFault(draft: ClusterDraft): string | undefined {
  if (draft.spec.endpoint?.scheme !== 'https') return 'the hub is asked over https only; correct its server';
  if (draft.spec.proxy !== undefined)
    return 'the hub cannot be asked through a proxy-url; name a server that is reached directly';
  if (draft.plan.kind === 'none') return 'the current context has no user with a credential';
  return undefined;
}

function webhookFault(draft: ClusterDraft): string | undefined {
  if (draft.spec.proxy === undefined) return undefined;
  return 'the webhook cannot be asked through a proxy-url; name a server that is reached directly';
}
