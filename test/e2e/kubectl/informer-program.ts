// The Go program of `test/controlplane/clients/informer`, for a test: informers of client-go, each with an address of
// its own. What it was asked to run is its first line; every further line is a question for all stores.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** One informer; see `Spec` of the program. */
export interface InformerSpec {
  readonly name: string;
  readonly server: string;
  /** `shared`: SharedIndexInformer. `reflector`: keyed by namespace and name. `uid`: keyed by uid. */
  readonly kind: 'shared' | 'reflector' | 'uid';
  readonly labelSelector?: string;
  readonly partial?: string;
  /** Declares not to support WatchList. */
  readonly lists?: boolean;
}

/** What one has, and how often it asked. */
export interface InformerState {
  readonly lists: number;
  readonly watches: number;
  readonly watchLists: number;
  readonly objects: readonly KubernetesObject[];
}

/** What the tests read of an object. */
export interface KubernetesObject {
  readonly metadata: {
    readonly uid: string;
    readonly name: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

/** A running one. */
export interface InformerProgram {
  /** By name. Rejects when the program has ended. */
  states(): Promise<Readonly<Record<string, InformerState>>>;
  stop(): Promise<void>;
}

/** Starts it. */
export function startInformers(
  binary: string,
  watchList: boolean,
  input: {
    readonly token: string;
    readonly caFile: string;
    readonly namespace: string;
    readonly informers: readonly InformerSpec[];
  },
): InformerProgram {
  const env = { PATH: process.env['PATH'] ?? '', KUBE_FEATURE_WatchListClient: String(watchList) };
  const child = spawn(binary, [], { stdio: ['pipe', 'pipe', 'pipe'], env });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-10_000)));
  child.stdin.on('error', () => undefined);
  const gone = once(child, 'close');
  const waiting: { resolve(line: string): void; reject(error: Error): void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(line));
  let hasEnded = false;
  void gone.then(() => {
    hasEnded = true;
    for (const { reject } of waiting.splice(0)) reject(new Error(`the informers ended:\n${said}`));
  });
  child.stdin.write(`${JSON.stringify(input)}\n`);
  return {
    async states() {
      if (hasEnded) throw new Error(`the informers ended:\n${said}`);
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      waiting.push({ resolve, reject });
      child.stdin.write('\n');
      return JSON.parse(await promise) as Readonly<Record<string, InformerState>>;
    },
    async stop() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
