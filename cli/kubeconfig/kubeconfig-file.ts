// Reads kubeconfig files the way kubectl does and finds the connection of one context. In a KUBECONFIG list the
// first file wins for every name, and relative paths are relative to the file that holds them, not to the working
// directory.
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { usageFailure } from '../failure.ts';
import { isJsonObject } from '../connection/http.ts';
import type { JsonObject } from '../connection/http.ts';
import type { Terminal } from '../terminal.ts';

/** One named entry and the file it came from. */
export interface KubeconfigEntry {
  readonly value: JsonObject;
  readonly file: string;
}

/** Several kubeconfig files as one. */
export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, KubeconfigEntry>;
  readonly contexts: ReadonlyMap<string, KubeconfigEntry>;
  readonly users: ReadonlyMap<string, KubeconfigEntry>;
}

/** What one context points at. */
export interface ResolvedContext {
  readonly name: string;
  readonly cluster: KubeconfigEntry;
  /** Undefined when the context names no user. */
  readonly user: KubeconfigEntry | undefined;
}

const giveKubeconfig = 'Give one with --kubeconfig, or say where the gateway is with --server and --token.';

/**
 * The files kubectl would read: `--kubeconfig`, else those of KUBECONFIG that exist, else `~/.kube/config`.
 * @throws Failure (usage) when a file cannot be read or is no kubeconfig, or when none exists
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
 * The context of that name, or the current one, with its cluster and user.
 * @param needsUser false when the credential comes from elsewhere; a user that is missing is then no fault
 * @throws Failure (usage) that lists what there is
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

/** A non-empty text field, or undefined. */
export function textOf(value: JsonObject, key: string): string | undefined {
  const found = value[key];
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/**
 * PEM (or token) of an entry, from `<key>-data` in base64 or the file `<key>` names; data wins, as in client-go.
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

/** Reads a file the user named. @throws Failure (usage) with the reason; undefined only when `mayBeAbsent` and it is */
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
  const document = parseDocument(text);
  const fault = document.errors[0];
  if (fault !== undefined) {
    // The message of the YAML library quotes the source, and the source of a kubeconfig is secret.
    const line = fault.linePos?.[0].line;
    throw usageFailure(
      `${file}${line === undefined ? '' : `, line ${line}`}: not valid YAML (${fault.code})`,
      'Repair it, or give another file with --kubeconfig.',
    );
  }
  const content: unknown = document.toJS() ?? {};
  if (!isJsonObject(content)) throw usageFailure(`${file} is not a kubeconfig`, 'Give another file with --kubeconfig.');
  return { file, currentContext: textOf(content, 'current-context'), content };
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
