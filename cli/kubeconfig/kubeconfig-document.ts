// Writes entries for a gateway into the text of a kubeconfig and keeps everything else unchanged, including comments.
// Easy to get wrong: an entry whose name fits may still belong to somebody else. Only entries whose `server` is this
// gateway may be changed or removed. Names of contexts and clusters are decided here: `<prefix>-<cluster>`.
import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { Document, Node, ParsedNode, YAMLMap, YAMLSeq } from 'yaml';
import { usageFailure } from '../terminal/failure.ts';
import { clusterServer, gatewayRoot, indexServer } from '../connection/gateway-url.ts';
import { isJsonObject, listAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { goYaml, plainValue, YamlFault } from '../../lib/yaml/go-yaml.ts';

/** The entries (clusters, contexts and a user) that a kubeconfig should have for one gateway. */
export interface GatewayEntries {
  /** Clusters and contexts are called `<prefix>-<cluster>`; the only user is called `<prefix>`. */
  readonly prefix: string;
  /** URL of the gateway's root, as {@link gatewayRoot} returns it. */
  readonly root: string;
  /** CA certificate as PEM, written into the file; undefined when kubectl should trust the system's CAs. */
  readonly ca: string | undefined;
  readonly token: string | undefined;
  /** Certificate and key as PEM, written into the file. */
  readonly clientCertificate: { readonly cert: string; readonly key: string } | undefined;
  /** Names of the clusters for which entries are written, in this order. */
  readonly clusters: readonly string[];
  /**
   * True to write also an entry for the index, which answers for all clusters, and one for the gateway itself. Their
   * names are `<prefix>-all` and `<prefix>`.
   */
  readonly index?: boolean;
}

/** Name that stands in place of a cluster's name in the entry for the index: `<prefix>-all`. */
export const indexEntry = 'all';

/** The new text of the kubeconfig and what was changed. */
export interface MergedKubeconfig {
  readonly text: string;
  /** Names of the contexts that were written, in the order of the clusters. */
  readonly contexts: readonly string[];
  /** Names of the contexts that were removed because their cluster no longer exists. */
  readonly removed: readonly string[];
  /** `current-context` of the new text; undefined when there is none. */
  readonly currentContext: string | undefined;
}

/**
 * Writes the entries for a gateway into a kubeconfig.
 * @param text the present content of the file; '' when the file does not exist
 * @param options `file` is the path for messages; with `removeGone`, entries of this gateway are removed whose cluster
 * is not among `entries.clusters`
 * @throws Failure (usage) when the text is no kubeconfig, or when a needed name belongs to another server
 */
export function mergeKubeconfig(
  text: string,
  entries: GatewayEntries,
  options: { readonly file: string; readonly removeGone: boolean },
): MergedKubeconfig {
  const [body, end] = withoutEnd(text);
  const document = parseKubeconfig(body, options.file);
  const clusters = section(document, 'clusters', options.file);
  const contexts = section(document, 'contexts', options.file);
  const users = section(document, 'users', options.file);
  refuseConflicts({ clusters, contexts }, entries, options.file);

  const targets = targetsOf(entries);
  for (const { name, server } of targets) {
    const cluster = entryValue(document, clusters, name, 'cluster');
    setAll(cluster, {
      server,
      'certificate-authority-data': toBase64(entries.ca),
      'certificate-authority': undefined,
      'insecure-skip-tls-verify': undefined,
    });
    setAll(entryValue(document, contexts, name, 'context'), { cluster: name, user: entries.prefix });
  }
  if (targets.length > 0) writeUser(document, users, entries);
  const removed = options.removeGone ? removeGone(clusters, contexts, entries) : [];

  const written = targets.map(({ name }) => name);
  // The YAML library prints an empty list in block style as invalid YAML, so an empty list is printed as `[]`.
  for (const list of [clusters, contexts, users]) if (list.items.length === 0) list.flow = true;
  const current: unknown = document.get('current-context');
  const first = written[0];
  if ((typeof current !== 'string' || current === '') && first !== undefined) document.set('current-context', first);
  const currentContext: unknown = document.get('current-context');
  return {
    text: print(document, body) + end,
    contexts: written,
    removed,
    currentContext: typeof currentContext === 'string' && currentContext !== '' ? currentContext : undefined,
  };
}

/** The entries to write, by their names in the kubeconfig. */
function targetsOf({
  prefix,
  root,
  clusters,
  index,
}: GatewayEntries): readonly { readonly name: string; readonly server: string }[] {
  const targets = clusters.map((name) => ({ name: `${prefix}-${name}`, server: clusterServer(root, name) }));
  if (index !== true) return targets;
  if (clusters.includes(indexEntry)) {
    throw usageFailure(
      `a cluster is named "${indexEntry}", and so is the entry of --index`,
      'Leave out --index, or choose clusters with --cluster NAME.',
    );
  }
  const own = { name: prefix, server: root };
  return [...targets, own, { name: `${prefix}-${indexEntry}`, server: indexServer(root) }];
}

/**
 * Whether a kubeconfig has entries that {@link mergeKubeconfig} with this prefix would not write.
 * @throws Failure (usage) when the text is no kubeconfig
 */
export function hasForeignEntries(text: string, prefix: string, file: string): boolean {
  const document = parseKubeconfig(withoutEnd(text)[0], file);
  const names = (['clusters', 'contexts', 'users'] as const).flatMap((key) =>
    section(document, key, file).items.map(nameOf),
  );
  return names.some((name) => name !== prefix && name?.startsWith(`${prefix}-`) !== true);
}

/**
 * The credential fields of a user entry. All of them are removed when a credential is written; otherwise client-go
 * would prefer an old field to the new credential, or combine the two.
 */
const credentialFields = {
  token: undefined,
  tokenFile: undefined,
  'client-certificate': undefined,
  'client-certificate-data': undefined,
  'client-key': undefined,
  'client-key-data': undefined,
  username: undefined,
  password: undefined,
  exec: undefined,
  'auth-provider': undefined,
} as const;

function writeUser(document: Document, users: YAMLSeq, entries: GatewayEntries): void {
  setAll(entryValue(document, users, entries.prefix, 'user'), {
    ...credentialFields,
    token: entries.token,
    'client-certificate-data': toBase64(entries.clientCertificate?.cert),
    'client-key-data': toBase64(entries.clientCertificate?.key),
  });
}

interface Sections {
  readonly clusters: YAMLSeq;
  readonly contexts: YAMLSeq;
}

/**
 * Refuses to overwrite an entry that belongs to the person or to another gateway, because kubectl would then send
 * requests to another server than before.
 * @throws Failure (usage) with the name of the entry
 */
function refuseConflicts({ clusters, contexts }: Sections, entries: GatewayEntries, file: string): void {
  const remedy =
    'Choose other names with --prefix NAME, write another file with --output FILE, or remove the existing entry with kubectl config.';
  const wanted = new Set(targetsOf(entries).map(({ name }) => name));
  const elsewhere = new Map<string, string>();
  for (const item of clusters.items) {
    const server = textAt(item, 'cluster', 'server');
    const name = nameOf(item);
    if (name === undefined || server === undefined || rootOf(server) === entries.root) continue;
    elsewhere.set(name, server);
    if (wanted.has(name))
      throw usageFailure(`the cluster "${name}" in ${file} is at ${server}, not at this gateway`, remedy);
  }
  for (const item of contexts.items) {
    const name = nameOf(item) ?? '';
    const cluster = textAt(item, 'context', 'cluster') ?? name;
    if (wanted.has(name) && cluster !== name) {
      throw usageFailure(`the context "${name}" in ${file} is for the cluster "${cluster}"`, remedy);
    }
    if (textAt(item, 'context', 'user') === entries.prefix && elsewhere.has(cluster)) {
      throw usageFailure(
        `the user "${entries.prefix}" in ${file} is also used at ${elsewhere.get(cluster)} (context "${name}")`,
        remedy,
      );
    }
  }
}

/**
 * Removes entries of this gateway whose cluster no longer exists, and returns the names of the removed contexts. A
 * cluster entry is kept while a context that the person made refers to it.
 */
function removeGone(clusters: YAMLSeq, contexts: YAMLSeq, entries: GatewayEntries): readonly string[] {
  const kept = new Set(entries.clusters.map((name) => `${entries.prefix}-${name}`));
  const all = indexServer(entries.root);
  const gone = new Set(
    clusters.items
      .filter((item) => rootOf(textAt(item, 'cluster', 'server')) === entries.root)
      // The index is not a cluster, so its entry is never removed.
      .filter((item) => textAt(item, 'cluster', 'server') !== all)
      .map(nameOf)
      .filter((name) => name?.startsWith(`${entries.prefix}-`) === true && !kept.has(name)),
  );
  const removed = contexts.items.map(nameOf).filter((name) => name !== undefined && gone.has(name));
  contexts.items = contexts.items.filter((item) => !gone.has(nameOf(item)));
  const used = new Set(contexts.items.map((item) => textAt(item, 'context', 'cluster')));
  clusters.items = clusters.items.filter((item) => !gone.has(nameOf(item)) || used.has(nameOf(item)));
  return removed as readonly string[];
}

/** Splits off document separators (`---`) at the end of the text, behind which there is no further YAML document. */
function withoutEnd(text: string): readonly [body: string, end: string] {
  const end = /(?<=\n)(?:---[ \t]*\r?\n?\s*)+$/.exec(text);
  return end === null ? [text, ''] : [text.slice(0, end.index), end[0]];
}

function parseKubeconfig(text: string, file: string): Document {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...goYaml, lineCounter: lines });
  const fault = document.errors[0];
  if (fault !== undefined) {
    // Security: the error message of the YAML library quotes the text, and a kubeconfig contains secrets. So only line
    // number and error code are shown.
    throw usageFailure(`${file}, line ${lines.linePos(fault.pos[0]).line}: not valid YAML (${fault.code})`, repair);
  }
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    document.contents = document.createNode<unknown>({ apiVersion: 'v1', kind: 'Config' }) as ParsedNode;
  }
  if (!isMap(document.contents)) throw usageFailure(`${file} is not a kubeconfig`, 'Write another file with --output.');
  refuseShared(document, lines, file);
  refuseUnreadable(document, lines, file);
  return document;
}

const repair = 'Repair it, or write another file with --output.';

/**
 * Refuses aliases and merge keys. Security: a change at one place would change the other ones too, which may be another
 * server's. The gateway's token would go there.
 * @throws Failure (usage) with the line
 */
function refuseShared(document: Document, lines: LineCounter, file: string): void {
  const refuse = (what: string, node: Node | null): never => {
    const { line } = lines.linePos(node?.range?.[0] ?? 0);
    const remedy = 'Write the values out, or write another file with --output.';
    throw usageFailure(
      `${file}, line ${line}: ${what} gives several places one value, which cannot be changed`,
      remedy,
    );
  };
  visit(document, {
    Alias: (_, alias) => refuse(`the alias *${alias.source}`, alias),
    Pair: (_, { key }) => (isScalar(key) && key.value === '<<' ? refuse('the merge key <<', key) : undefined),
  });
}

/**
 * Refuses what kubectl does not load: repeated keys and names, and names and addresses that are no texts.
 * @throws Failure (usage) that quotes no value
 */
function refuseUnreadable(document: Document, lines: LineCounter, file: string): void {
  const config = readPlain(document, lines, file);
  refuseOtherThanText(config, ['current-context'], file);
  for (const [list, key] of [
    ['clusters', 'cluster'],
    ['contexts', 'context'],
    ['users', 'user'],
  ] as const) {
    const names = new Set<unknown>();
    for (const [index, item] of listAt(config, list).entries()) {
      const where = `${file}: entry ${index + 1} of ${list}`;
      if (!isJsonObject(item)) throw usageFailure(`${where} is not a mapping`, repair);
      refuseOtherThanText(item, ['name'], where);
      const value = item[key] ?? {};
      if (!isJsonObject(value)) throw usageFailure(`${where} has a ${key} that is not a mapping`, repair);
      refuseOtherThanText(value, ['server', 'cluster', 'user'], where);
      if (names.has(item['name'])) throw usageFailure(`${where} has a name that an entry before it has`, repair);
      names.add(item['name']);
    }
  }
}

function readPlain(document: Document, lines: LineCounter, file: string): JsonObject {
  try {
    return plainValue(document, lines) as JsonObject;
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw usageFailure(`${file}, line ${error.line}: ${error.message}`, repair);
  }
}

function refuseOtherThanText(value: JsonObject, fields: readonly string[], where: string): void {
  for (const field of fields) {
    const found = value[field] ?? '';
    if (typeof found !== 'string')
      throw usageFailure(
        `${where} has a ${field} that is not a text`,
        'Write it in quotes, or write another file with --output.',
      );
  }
}

function section(document: Document, key: 'clusters' | 'contexts' | 'users', file: string): YAMLSeq {
  const found: unknown = document.get(key);
  if (isSeq(found)) {
    // An empty list `[]` is in YAML's flow style. It is changed to block style, because otherwise all entries would be
    // printed on one endless line.
    if (found.items.length === 0 && isMap(document.contents) && document.contents.flow !== true) found.flow = false;
    return found;
  }
  if (found !== undefined && found !== null) throw usageFailure(`${key} in ${file} is not a list`, 'Repair the file.');
  const made = document.createNode([]) as YAMLSeq;
  made.flow = isMap(document.contents) && document.contents.flow === true;
  document.set(key, made);
  return made;
}

/** Returns the map below `key` in the list entry called `name`. Entry and map are created when they are missing. */
function entryValue(document: Document, list: YAMLSeq, name: string, key: 'cluster' | 'context' | 'user'): YAMLMap {
  let entry = list.items.find((item) => nameOf(item) === name);
  if (entry === undefined) {
    entry = document.createNode({ name, [key]: {} });
    list.items.push(entry);
  }
  const value: unknown = isMap(entry) ? entry.get(key) : undefined;
  if (isMap(value)) {
    if (value.items.length === 0 && list.flow !== true) value.flow = false;
    return value;
  }
  const made = document.createNode({}) as YAMLMap;
  made.flow = list.flow === true;
  if (isMap(entry)) entry.set(key, made);
  return made;
}

/** Sets fields of an existing map, so that comments beside them are kept. A field that is undefined is removed. */
function setAll(map: YAMLMap, fields: Readonly<Record<string, string | undefined>>): void {
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }
}

function nameOf(item: unknown): string | undefined {
  const name: unknown = isMap(item) ? item.get('name') : undefined;
  return typeof name === 'string' ? name : undefined;
}

function textAt(item: unknown, ...path: readonly string[]): string | undefined {
  const found: unknown = isMap(item) ? item.getIn(path) : undefined;
  return typeof found === 'string' ? found : undefined;
}

function rootOf(server: string | undefined): string | undefined {
  try {
    return server === undefined ? undefined : gatewayRoot(server, 'server');
  } catch {
    // Entries that other people wrote may hold any text. If `server` is not a valid URL, the entry does not belong to
    // this gateway.
    return undefined;
  }
}

function toBase64(pem: string | undefined): string | undefined {
  return pem === undefined ? undefined : Buffer.from(pem).toString('base64');
}

/** Prints the document with the indentation of lists that the text had before. A file that was JSON stays JSON. */
function print(document: Document, before: string): string {
  const isJson = before.trimStart().startsWith('{');
  return document.toString({
    lineWidth: 0,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
    indentSeq: /^(?:clusters|contexts|users):[^\S\n]*\n[^\S\n]+-/m.test(before),
    ...(isJson ? { defaultStringType: 'QUOTE_DOUBLE' as const, defaultKeyType: 'QUOTE_DOUBLE' as const } : {}),
  });
}
