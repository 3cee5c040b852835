// The source of clusters that reads kubeconfig files, named ones and all of a folder: one cluster a context, watched
// for change, files it refers to included. A named file that cannot be parsed refuses start-up, one in a folder does
// not; a single context that cannot be used is listed with a problem and the others work, because laptops are full of
// stale contexts and kubectl, too, fails only when one of them is used. Easy to get wrong: while running, whatever
// broke keeps its last good state, and what did not change keeps its very objects.
import { resolve } from 'node:path';
import { ConfigurationError, faultText } from '../../../lib/configuration-error.ts';
import { watchFiles, type FileWatchOptions } from '../../../lib/file-watch.ts';
import type { ClusterSpec, CredentialSource } from '../../model/records.ts';
import { sameSpec } from '../../model/store.ts';
import { readWhole, textOf, type FileReading } from './file-reading.ts';
import { digest, draftClusters, referencedFiles, type ClusterDraft } from './kubeconfig-cluster.ts';
import { credentialOfDraft, type ExecSurroundings } from './kubeconfig-credential.ts';
import { maxKubeconfigBytes, parseKubeconfig, type Kubeconfig } from './kubeconfig-file.ts';
import { listKubeconfigs, lookAtEither, type Listing } from './kubeconfig-folder.ts';
import {
  createProblemBook,
  type ClusterSink,
  type ClusterSourceHandle,
  type SourceProblem,
  type SourceReports,
} from '../source.ts';

export interface KubeconfigSourceOptions extends SourceReports {
  /**
   * Files, or folders that stand for every regular file in them, in the order of the flags; relative ones start at the
   * working directory. The order decides who keeps a name.
   */
  readonly files: readonly string[];
  readonly store: ClusterSink;
  /** For plugins: their environment, clock, limits. */
  readonly exec?: ExecSurroundings;
  readonly watch?: Omit<FileWatchOptions, 'onChange'>;
  /** Everything is read again this often although no change was seen, as client-go does with token files. */
  readonly rereadMs?: number;
}

const sourceName = 'kubeconfig';
const maxCredentialBytes = 10 * 1024 * 1024;

/** What is kept of one load for the next. */
interface Loaded {
  /** Last text that parsed, and what it said, by file. */
  readonly files: ReadonlyMap<string, { readonly text: string; readonly kubeconfig: Kubeconfig }>;
  readonly drafts: ReadonlyMap<string, ClusterDraft>;
  readonly specs: ReadonlyMap<string, ClusterSpec>;
  /** By digest of the plan: contexts of one user share a plugin's credential, as in client-go. */
  readonly credentials: ReadonlyMap<string, CredentialSource>;
}

/**
 * Reads the files, puts their clusters into the store and keeps them fresh until `close()`.
 * @throws ConfigurationError when a file cannot be read or parsed at start, with every fault of every file
 */
export async function startKubeconfigSource(options: KubeconfigSourceOptions): Promise<ClusterSourceHandle> {
  const paths = [...new Set(options.files.map((file) => resolve(file)))];
  const problems = createProblemBook(options);
  const stopping = new AbortController();
  let loaded: Loaded = { files: new Map(), drafts: new Map(), specs: new Map(), credentials: new Map() };
  let listing: Listing | undefined;
  let started = false;
  let work: Promise<void> = Promise.resolve();

  async function load(): Promise<void> {
    const listed = await listKubeconfigs(paths, listing);
    const readings = await readAll(listed.files, maxKubeconfigBytes);
    const parsed = parseAll(listed.files, readings, loaded);
    const faults = [...listed.faults, ...parsed.faults];
    const fatal = started ? [] : faults.filter(({ file }) => !listed.found.has(file));
    if (fatal.length > 0) throw new ConfigurationError(fatal);
    listing = listed;
    const found = fileProblems(faults, (file) => parsed.files.has(file) || listed.folders.has(file));
    const others = [...parsed.files].flatMap(([file, { kubeconfig }]) => referencedFiles(file, kubeconfig));
    const contents = await readAll(others, maxCredentialBytes);
    if (stopping.signal.aborted) return;

    const drafts = new Map<string, ClusterDraft>();
    for (const [file, { kubeconfig }] of parsed.files) {
      for (const draft of draftClusters(file, kubeconfig, (path) => textOf(contents, path), loaded.drafts)) {
        const good = draft.spec.problem === undefined ? draft : loaded.drafts.get(draft.key);
        const serves = good !== undefined && good.spec.problem === undefined;
        drafts.set(draft.key, serves ? good : draft);
        if (draft.spec.problem === undefined) continue;
        const message = `context "${draft.spec.originalName}": ${draft.spec.problem.message}`;
        found.push(problemOf(file, `${file}: ${message}`, serves));
      }
    }
    loaded = { files: parsed.files, drafts, ...assemble(drafts, loaded, options, stopping.signal) };
    watch.setFiles(
      new Map([
        ...listed.folders,
        ...[...readings, ...contents].map(([file, reading]) => [file, reading.signature] as const),
      ]),
    );
    options.store.apply(sourceName, [...loaded.specs.values()]);
    problems.set(found);
  }

  /** One load after the other, however they were asked for. */
  function reload(): Promise<void> {
    const next = work.then(load);
    work = next.catch(() => undefined);
    return next;
  }

  async function reloadRunning(): Promise<void> {
    try {
      await reload();
    } catch (error) {
      // Nothing was swapped. Only a fault of ours comes here; it must be seen and must not end the watch.
      const message = error instanceof Error ? error.message : 'unknown';
      problems.set([problemOf(paths[0] ?? '', `reload failed: ${message}`, true)]);
    }
  }

  const watch = watchFiles({ look: lookAtEither, ...options.watch, onChange: reloadRunning });
  try {
    await reload();
  } catch (error) {
    watch.close();
    throw error;
  }
  started = true;
  const reread = setInterval(() => void reloadRunning(), options.rereadMs ?? 60_000).unref();

  return {
    problems: problems.list,
    reload: reloadRunning,
    close() {
      stopping.abort();
      clearInterval(reread);
      watch.close();
    },
  };
}

async function readAll(files: readonly string[], maxBytes: number): Promise<ReadonlyMap<string, FileReading>> {
  const unique = [...new Set(files)];
  return new Map(await Promise.all(unique.map(async (file) => [file, await readWhole(file, maxBytes)] as const)));
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

/** Specs with their credential sources; equal plans and equal specs keep the instances of the load before. */
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
        credentials.get(planKey) ?? before.credentials.get(planKey) ?? credentialOfDraft(draft, options.exec, signal);
      credentials.set(planKey, credential);
    }
    const spec: ClusterSpec = { ...draft.spec, credential };
    const last = before.specs.get(key);
    specs.set(key, last !== undefined && sameSpec(last, spec) ? last : spec);
  }
  return { specs, credentials };
}

/** One problem a file: of one broken bracket a parser makes many faults, and the first says it. */
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
