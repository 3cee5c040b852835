// Where the hub is and as whom we ask it, from a kubeconfig file or from the pod we run in, kept fresh while its files
// change. A ServiceAccount token is replaced on disk every hour, so callers read `current()` for every request. After a
// bad edit the last good state stays in use.
import { resolve } from 'node:path';
import { ConfigurationError } from '../../lib/configuration-error.ts';
import { watchFiles, type FileWatch, type FileWatchOptions } from '../../lib/file-watch.ts';
import type { CredentialSource, Endpoint, TlsTrust } from '../model/records.ts';
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

/** Everything one request to the hub needs. Frozen; the same object until something of it changes. */
export interface HubAccess {
  readonly endpoint: Endpoint;
  readonly tls: TlsTrust;
  readonly credential: CredentialSource;
  /** Equal keys mean that connections may be kept: endpoint and trust. */
  readonly transportKey: string;
}

/** The hub as its client sees it. */
export interface HubConnection {
  /** For people: the kubeconfig file and context, or `in-cluster`. */
  readonly origin: string;
  /** Read it once per request. */
  current(): HubAccess;
  /** Why the last edit could not be used, undefined when the files are good. Holds no secret. */
  problem(): string | undefined;
  /** Reads the files again now (the hub answered 401). Never rejects. */
  reload(): Promise<void>;
  /** Ends the watch of the files and running plugins. */
  close(): void;
}

export interface HubConnectionOptions {
  /** Called when an edit cannot be used, and with undefined when that is mended. */
  readonly onProblem?: (problem: string | undefined) => void;
  /** For plugins. */
  readonly exec?: ExecSettings;
  readonly watch?: Omit<FileWatchOptions, 'onChange'>;
  /** All files are read again this often even when no change was seen, as client-go does with token files. */
  readonly rereadMs?: number;
}

/** Where a pod finds its ServiceAccount (Kubernetes docs, "Accessing the API from a Pod"). */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * The current context of a kubeconfig. Exec plugins are allowed: the file is the operator's own.
 * @throws ConfigurationError when the file cannot be used at start
 */
export function readHubKubeconfig(file: string, options: HubConnectionOptions = {}): Promise<HubConnection> {
  return startConnection(resolve(file), options, () => readCurrentContext(resolve(file)), hubFault);
}

/** The same for a webhook, which may have no credential and speak plain HTTP, as kube-apiserver reads such files. */
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
 * The ServiceAccount of the pod this process runs in (client-go `rest.InClusterConfig`); undefined when it runs in
 * none.
 * @throws ConfigurationError when it runs in a pod whose ServiceAccount files cannot be used
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
  const read = { kubeconfig, origin: 'in-cluster', readings: new Map<string, FileReading>() };
  return startConnection(folder, options, () => Promise.resolve(read), hubFault);
}

/** The kubeconfig with that one context, renamed `hub`: a hub's context may have any name. */
function only(kubeconfig: Kubeconfig, context: Kubeconfig['contexts'][number]): Kubeconfig {
  return { ...kubeconfig, contexts: [{ ...context, name: 'hub', extensions: [] }] };
}

interface Read {
  readonly kubeconfig: Kubeconfig;
  readonly origin: string;
  /** The files that were read for it. */
  readonly readings: ReadonlyMap<string, FileReading>;
}

/**
 * @param file for messages, and relative paths start beside it
 * @param faultOf what a hub or webhook may not have in it
 */
async function startConnection(
  file: string,
  options: HubConnectionOptions,
  read: () => Promise<Read>,
  faultOf: (draft: ClusterDraft) => string | undefined,
): Promise<HubConnection> {
  const connection = new WatchedConnection(file, options, read, faultOf);
  await connection.start();
  return {
    get origin() {
      return connection.origin;
    },
    current: () => connection.current(),
    problem: () => connection.problem,
    reload: () => connection.reload(),
    close: () => connection.close(),
  };
}

/** What was read last, and the watch that reads it again. */
class WatchedConnection {
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
  origin: string;
  problem: string | undefined;

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

  /** @throws ConfigurationError when the files cannot be used; nothing is watched then */
  async start(): Promise<void> {
    try {
      await this.#load();
    } catch (error) {
      this.#watch.close();
      throw error;
    }
    this.#reread = setInterval(() => void this.reload(), this.#options.rereadMs ?? 60_000).unref();
  }

  current(): HubAccess {
    if (this.#access === undefined) throw new Error(`${this.#file}: nothing was loaded`);
    return this.#access.value;
  }

  async reload(): Promise<void> {
    this.#work = this.#work
      .then(() => this.#load())
      .then(
        () => this.#setProblem(undefined),
        // Only errors of ours have words that may be shown.
        (error: unknown) =>
          this.#setProblem(error instanceof ConfigurationError ? error.message : `${this.#file}: cannot be read again`),
      );
    await this.#work;
  }

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
    const [draft] = draftClusters(this.#file, found.kubeconfig, (one) => textOf(contents, one), this.#drafts);
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
    if (problem === this.problem) return;
    this.problem = problem;
    this.#options.onProblem?.(problem);
  }
}

/** What is allowed in the kubeconfig of a cluster but not in that of the hub. */
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
