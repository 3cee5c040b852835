// The source that makes one cluster of each context of the operator's kubeconfig files and folders. It watches these
// files and all files that they refer to. At start, a file that the operator named and that cannot be parsed makes the
// start fail; a file found in a folder is only reported as a problem. A context that cannot be used is listed with its
// problem and does not affect the others, because a kubeconfig often has old contexts. While the gateway runs, a
// context that becomes faulty keeps its last usable spec, and an unchanged context keeps the same spec instance.
import { resolve } from 'node:path';
import { ConfigurationError, faultText } from '../../../lib/configuration-error.ts';
import { watchFiles, type FileWatch, type FileWatchOptions } from '../../../lib/file-watch.ts';
import type { ClusterSpec, CredentialSource } from '../../../model/records.ts';
import { sameSpec } from '../../../model/store.ts';
import { maxCredentialBytes, readAll, textOf, type FileReading } from './file-reading.ts';
import { digest, draftClusters, referencedFiles, type ClusterDraft } from './kubeconfig-cluster.ts';
import { credentialOfPlan, type ExecSettings } from './kubeconfig-credential.ts';
import { maxKubeconfigBytes, parseKubeconfig, type Kubeconfig } from './kubeconfig-file.ts';
import { listKubeconfigs, lookAtEither, type Listing } from './kubeconfig-folder.ts';
import {
  createProblemBook,
  type ClusterSink,
  type ClusterSourceHandle,
  type ProblemBook,
  type SourceProblem,
  type SourceReports,
} from '../source.ts';

/** The kubeconfig files to read, and where their clusters go. */
export interface KubeconfigSourceOptions extends SourceReports {
  /**
   * Files, and folders whose regular files are all read, in the order of the flags. Relative paths start at the working
   * directory. When two contexts of the first reading have the same name, the first context gets it.
   */
  readonly files: readonly string[];
  readonly store: ClusterSink;
  /** Settings for exec plugins: environment, clock, time limit. */
  readonly exec?: ExecSettings;
  readonly watch?: Omit<FileWatchOptions, 'onChange'>;
  /**
   * How often, in milliseconds, all files are read again even when no change was noticed, as client-go does with token
   * files. Default one minute.
   */
  readonly rereadMs?: number;
}

const sourceName = 'kubeconfig';

/** The results of reading all files once. The next reading reuses what did not change. */
interface Loaded {
  /** The last text of each file that could be parsed, and the kubeconfig parsed from it, by path. */
  readonly files: ReadonlyMap<string, { readonly text: string; readonly kubeconfig: Kubeconfig }>;
  readonly drafts: ReadonlyMap<string, ClusterDraft>;
  readonly specs: ReadonlyMap<string, ClusterSpec>;
  /**
   * The credential sources by digest of their CredentialPlan. Contexts with the same user share one CredentialSource,
   * so that an exec plugin runs once for all of them.
   */
  readonly credentials: ReadonlyMap<string, CredentialSource>;
}

/**
 * Reads the files and puts their clusters into the cluster store. Until `close()`, every change of the files updates
 * the store.
 * @throws ConfigurationError when a file that the operator named cannot be read or parsed at start; it has the faults
 * of all such files
 */
export async function startKubeconfigSource(options: KubeconfigSourceOptions): Promise<ClusterSourceHandle> {
  const source = new KubeconfigSource(options);
  await source.start();
  return source;
}

class KubeconfigSource implements ClusterSourceHandle {
  readonly #options: KubeconfigSourceOptions;
  readonly #paths: readonly string[];
  readonly #problems: ProblemBook;
  readonly #stopping = new AbortController();
  readonly #watch: FileWatch;
  #reread: NodeJS.Timeout | undefined;
  #loaded: Loaded = { files: new Map(), drafts: new Map(), specs: new Map(), credentials: new Map() };
  #listing: Listing | undefined;
  #started = false;
  #work: Promise<void> = Promise.resolve();

  constructor(options: KubeconfigSourceOptions) {
    this.#options = options;
    this.#paths = [...new Set(options.files.map((file) => resolve(file)))];
    this.#problems = createProblemBook(options);
    this.#watch = watchFiles({ look: lookAtEither, ...options.watch, onChange: () => this.reload() });
  }

  /**
   * Loads everything for the first time.
   * @throws ConfigurationError when a file that the operator named is faulty; then no file is watched
   */
  async start(): Promise<void> {
    try {
      await this.#queueLoad();
    } catch (error) {
      this.#watch.close();
      throw error;
    }
    this.#started = true;
    this.#reread = setInterval(() => void this.reload(), this.#options.rereadMs ?? 60_000).unref();
  }

  problems(): readonly SourceProblem[] {
    return this.#problems.list();
  }

  async reload(): Promise<void> {
    try {
      await this.#queueLoad();
    } catch (error) {
      // Only a bug leads here, since faults in files do not reject the promise. The cluster store is unchanged. The bug
      // is reported as a problem, and the files are still watched.
      const message = error instanceof Error ? error.message : 'unknown';
      this.#problems.set([problemOf(this.#paths[0] ?? '', `reload failed: ${message}`, true)]);
    }
  }

  close(): void {
    this.#stopping.abort();
    clearInterval(this.#reread);
    this.#watch.close();
  }

  /** Calls #load() after the running call has ended, so that two calls never overlap. */
  #queueLoad(): Promise<void> {
    const next = this.#work.then(() => this.#load());
    this.#work = next.catch(() => undefined);
    return next;
  }

  async #load(): Promise<void> {
    const listed = await listKubeconfigs(this.#paths, this.#listing);
    const readings = await readAll(listed.files, maxKubeconfigBytes);
    const parsed = parseAll(listed.files, readings, this.#loaded);
    const faults = [...listed.faults, ...parsed.faults];
    const fatal = this.#started ? [] : faults.filter(({ file }) => !listed.found.has(file));
    if (fatal.length > 0) throw new ConfigurationError(fatal);
    this.#listing = listed;
    const others = [...parsed.files].flatMap(([file, { kubeconfig }]) => referencedFiles(file, kubeconfig));
    const contents = await readAll(others, maxCredentialBytes);
    if (this.#stopping.signal.aborted) return;

    const { drafts, problems } = draftAll(parsed.files, contents, this.#loaded.drafts);
    const assembled = assemble(drafts, this.#loaded, this.#options, this.#stopping.signal);
    this.#loaded = { files: parsed.files, drafts, ...assembled };
    this.#watch.setFiles(
      new Map([
        ...listed.folders,
        ...[...readings, ...contents].map(([file, reading]) => [file, reading.signature] as const),
      ]),
    );
    this.#options.store.apply(sourceName, [...this.#loaded.specs.values()]);
    const serves = (file: string): boolean => parsed.files.has(file) || listed.folders.has(file);
    this.#problems.set([...fileProblems(faults, serves), ...problems]);
  }
}

function parseAll(
  files: readonly string[],
  readings: ReadonlyMap<string, FileReading>,
  before: Loaded,
): { readonly files: Loaded['files']; readonly faults: ConfigurationError['faults'] } {
  const parsed = new Map<string, { readonly text: string; readonly kubeconfig: Kubeconfig }>();
  const faults: ConfigurationError['faults'][number][] = [];
  for (const file of files) {
    const last = before.files.get(file);
    const reading = readings.get(file) ?? { fault: 'was not read', signature: '' };
    if (last !== undefined) parsed.set(file, last);
    if ('fault' in reading) {
      faults.push({ file, message: reading.fault });
      continue;
    }
    if (reading.text === last?.text) continue;
    try {
      parsed.set(file, { text: reading.text, kubeconfig: parseKubeconfig(file, reading.text) });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults);
    }
  }
  return { files: parsed, faults };
}

/**
 * Makes a draft of a cluster for every context. For a context that has a problem now, the last draft without a problem
 * is returned, if there is one.
 */
function draftAll(
  files: Loaded['files'],
  contents: ReadonlyMap<string, FileReading>,
  before: Loaded['drafts'],
): { readonly drafts: Loaded['drafts']; readonly problems: readonly SourceProblem[] } {
  const drafts = new Map<string, ClusterDraft>();
  const problems: SourceProblem[] = [];
  for (const [file, { kubeconfig }] of files) {
    for (const draft of draftClusters(file, kubeconfig, (path) => textOf(contents, path), before)) {
      const { problem, originalName } = draft.spec;
      const good = problem === undefined ? draft : before.get(draft.key);
      const serves = good !== undefined && good.spec.problem === undefined;
      drafts.set(draft.key, serves ? good : draft);
      if (problem === undefined) continue;
      problems.push(problemOf(file, `${file}: context "${originalName}": ${problem.message}`, serves));
    }
  }
  return { drafts, problems };
}

/**
 * Adds credential sources to the drafts of clusters. For a context that did not change since the last reading,
 * credential source and spec are the same instances as before.
 */
function assemble(
  drafts: ReadonlyMap<string, ClusterDraft>,
  before: Loaded,
  options: KubeconfigSourceOptions,
  signal: AbortSignal,
): Pick<Loaded, 'specs' | 'credentials'> {
  const credentials = new Map<string, CredentialSource>();
  const specs = new Map<string, ClusterSpec>();
  for (const [key, draft] of drafts) {
    let credential: CredentialSource | undefined;
    if (draft.spec.problem === undefined) {
      const planKey = digest([draft.plan, draft.execCluster ?? null]);
      credential =
        credentials.get(planKey) ??
        before.credentials.get(planKey) ??
        credentialOfPlan(draft.plan, draft.execCluster, { ...options.exec, signal });
      credentials.set(planKey, credential);
    }
    const spec: ClusterSpec = { ...draft.spec, credential };
    const last = before.specs.get(key);
    specs.set(key, last !== undefined && sameSpec(last, spec) ? last : spec);
  }
  return { specs, credentials };
}

/** One problem for each file, with the text of its first fault: a single missing bracket can cause many faults. */
function fileProblems(faults: ConfigurationError['faults'], serves: (file: string) => boolean): SourceProblem[] {
  const byFile = Map.groupBy(faults, (fault) => fault.file);
  return [...byFile].flatMap(([file, [first, ...more]]) => {
    if (first === undefined) return [];
    return [problemOf(file, `${faultText(first)}${more.length > 0 ? ` (and ${more.length} more)` : ''}`, serves(file))];
  });
}

function problemOf(file: string, message: string, stale: boolean): SourceProblem {
  return { source: sourceName, file, message, stale };
}
