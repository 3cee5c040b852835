// Reads kubeconfig files as kubectl does, and finds the cluster and user of one context. With several files in
// KUBECONFIG, the first file that has an entry of a name wins. Easy to get wrong: a relative path in a file is relative
// to the folder of that file, not to the working directory.
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { LineCounter } from 'yaml';
import { usageFailure } from '../terminal/failure.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { plainValue, YamlFault } from '../../lib/yaml/go-yaml.ts';
import { kubeconfigDocument } from '../../lib/yaml/kubeconfig-yaml.ts';

/** One named entry of a kubeconfig, and the file it comes from. */
export interface KubeconfigEntry {
  readonly value: JsonObject;
  readonly file: string;
}

/** The entries of one or several kubeconfig files, merged. */
export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, KubeconfigEntry>;
  readonly contexts: ReadonlyMap<string, KubeconfigEntry>;
  readonly users: ReadonlyMap<string, KubeconfigEntry>;
}

/** The cluster and user of one context. */
export interface ResolvedContext {
  readonly name: string;
  readonly cluster: KubeconfigEntry;
  /** The user entry; undefined when the context names none. */
  readonly user: KubeconfigEntry | undefined;
}

const giveKubeconfig = 'Give one with --kubeconfig, or say where the gateway is with --server and --token.';

/**
 * Reads the files that kubectl would read: that of `--kubeconfig`, otherwise those in KUBECONFIG that exist, otherwise
 * `~/.kube/config`.
 * @throws Failure (usage) when a file cannot be read or is no kubeconfig, or when there is none
 */
export function loadKubeconfig(
  explicitFile: string | undefined,
  terminal: Pick<Terminal, 'env' | 'homeDir'>,
): Kubeconfig {
  const listed = explicitFile === undefined ? (terminal.env['KUBECONFIG'] ?? '').split(delimiter) : [explicitFile];
  const named = listed.filter((file) => file !== '');
  const candidates = named.length > 0 ? named : [join(terminal.homeDir, '.kube', 'config')];
  const parsed: ParsedFile[] = [];
  for (const file of candidates) {
    const text = readText(file, explicitFile === undefined);
    if (text !== undefined) parsed.push(parseFile(resolve(file), text));
  }
  if (parsed.length === 0)
    throw usageFailure(`no kubeconfig found: ${candidates.join(', ')} does not exist`, giveKubeconfig);
  return {
    files: parsed.map(({ file }) => file),
    currentContext: parsed.map(({ currentContext }) => currentContext).find((name) => name !== undefined),
    clusters: firstWins(parsed, 'clusters'),
    contexts: firstWins(parsed, 'contexts'),
    users: firstWins(parsed, 'users'),
  };
}

/**
 * Returns the context called `wanted`, or else the current context, with its cluster and user.
 * @param needsUser false when the credential comes from a flag; then the user may be missing
 * @throws Failure (usage) that lists the existing contexts
 */
export function resolveContext(config: Kubeconfig, wanted: string | undefined, needsUser: boolean): ResolvedContext {
  const where = config.files.join(', ');
  const known = `Contexts there: ${[...config.contexts.keys()].join(', ') || 'none'}.`;
  const name = wanted ?? config.currentContext;
  if (name === undefined)
    throw usageFailure(`no current context is set in ${where}`, `Choose one with --context. ${known}`);
  const context = config.contexts.get(name);
  if (context === undefined) throw usageFailure(`there is no context "${name}" in ${where}`, known);
  const clusterName = textOf(context.value, 'cluster');
  const cluster = clusterName === undefined ? undefined : config.clusters.get(clusterName);
  if (cluster === undefined) {
    throw usageFailure(
      `context "${name}" names the cluster "${clusterName ?? ''}", which is not in ${where}`,
      'Repair the file, or choose another context with --context.',
    );
  }
  const userName = textOf(context.value, 'user');
  const user = userName === undefined ? undefined : config.users.get(userName);
  if (needsUser && userName !== undefined && user === undefined) {
    throw usageFailure(
      `context "${name}" names the user "${userName}", which is not in ${where}`,
      'Repair the file, or give --token.',
    );
  }
  return { name, cluster, user };
}

/** The value of a field that is a non-empty text; otherwise undefined. */
export function textOf(value: JsonObject, key: string): string | undefined {
  const found = value[key];
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/**
 * Refuses a user of a kubeconfig that acts as another one. Security: commands do not impersonate. With the credential
 * alone they would act as the user's own identity, which may do more than the one that the kubeconfig names.
 * @throws Failure (usage) when the user has a field such as `as`
 */
export function refuseImpersonation({ value }: KubeconfigEntry, context: string, nextStep: string): void {
  const isEmpty = (field: unknown): boolean =>
    field === undefined ||
    field === null ||
    field === '' ||
    (typeof field === 'object' && Object.keys(field).length === 0);
  if (impersonation.every((key) => isEmpty(value[key]))) return;
  throw usageFailure(`the user of context "${context}" impersonates (${impersonation.join(', ')})`, nextStep);
}

const impersonation = ['as', 'as-uid', 'as-groups', 'as-user-extra'];

/**
 * Returns the PEM text of a field such as `client-key`: from `<key>-data` in base64, or else from the file that `<key>`
 * names, as client-go does; undefined when neither is there.
 * @throws Failure (usage) when the file cannot be read
 */
export function dataOrFile(entry: KubeconfigEntry, key: string): string | undefined {
  const data = textOf(entry.value, `${key}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const path = textOf(entry.value, key);
  if (path === undefined) return undefined;
  const text = readText(resolve(dirname(entry.file), path), false, ` (${key} in ${entry.file})`);
  return text === '' ? undefined : text;
}

/**
 * Reads a file that the user named; undefined when the file does not exist and `mayBeAbsent` is true.
 * @param where text that follows the path in messages
 * @throws Failure (usage) with the reason
 */
export function readText(path: string, mayBeAbsent: boolean, where = ''): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    if (code === 'ENOENT' && mayBeAbsent) return undefined;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such file',
      EACCES: 'permission denied',
      EISDIR: 'it is a directory',
    };
    throw usageFailure(
      `cannot read ${path}${where}: ${reasons[code] ?? code}`,
      'Check the path and who may read it.',
      error,
    );
  }
}

interface ParsedFile {
  readonly file: string;
  readonly currentContext: string | undefined;
  readonly content: JsonObject;
}

function parseFile(file: string, text: string): ParsedFile {
  const content = contentOf(file, text);
  if (!isJsonObject(content)) throw usageFailure(`${file} is not a kubeconfig`, 'Give another file with --kubeconfig.');
  return { file, currentContext: textOf(content, 'current-context'), content };
}

function contentOf(file: string, text: string): unknown {
  const lines = new LineCounter();
  try {
    const document = kubeconfigDocument(text, lines);
    return document === undefined ? {} : plainValue(document, lines);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw usageFailure(
      `${file}, line ${error.line}: not valid YAML: ${error.message}`,
      'Repair it, or give another file with --kubeconfig.',
    );
  }
}

function firstWins(
  parsed: readonly ParsedFile[],
  section: 'clusters' | 'contexts' | 'users',
): ReadonlyMap<string, KubeconfigEntry> {
  const entries = new Map<string, KubeconfigEntry>();
  for (const { file, content } of parsed) {
    const list: unknown = content[section] ?? [];
    if (!Array.isArray(list)) throw usageFailure(`${section} in ${file} is not a list`, 'Repair the file.');
    for (const item of list as readonly unknown[]) {
      if (!isJsonObject(item)) continue;
      const name = textOf(item, 'name');
      const value = item[section.slice(0, -1)];
      if (name !== undefined && isJsonObject(value) && !entries.has(name)) entries.set(name, { value, file });
    }
  }
  return entries;
}
