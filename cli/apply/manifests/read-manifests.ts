// Reads manifests from files, folders, standard input and kustomize. Easy to get wrong: kubectl reads YAML 1.1, where
// `0644` is an octal number and `yes` is true. A parser for YAML 1.2 would read another number, for example for the
// mode of a mounted file.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { Composer, LineCounter, Parser } from 'yaml';
import type { Document, Tags } from 'yaml';
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import { Failure, usageFailure } from '../../failure.ts';
import { identityOf, objectName, phaseOf } from './manifest.ts';
import type { Manifest } from './manifest.ts';
import { isSecret } from './secret-values.ts';

/** Where manifests are read from, as the flags say. */
export interface ManifestSources {
  /** Files and folders; `-` is standard input. */
  readonly filename?: readonly string[];
  /** True to read subfolders as well. */
  readonly recursive?: boolean;
  /** A folder with a kustomization, which `kubectl kustomize` reads. */
  readonly kustomize?: string;
}

/** The objects to apply in a run. */
export interface Manifests {
  /** The objects in the order in which they are applied. */
  readonly objects: readonly Manifest[];
  /** SHA-256 over all objects, in hexadecimal; it changes when any object changes. */
  readonly hash: string;
}

/**
 * Reads everything that the sources name, expands objects of kind List, and orders the objects.
 * @param labels labels to put on every object
 * @throws Failure (rejects) when something cannot be read, is no Kubernetes object, or occurs twice
 */
export async function readManifests(
  sources: ManifestSources,
  labels: Readonly<Record<string, string>>,
): Promise<Manifests> {
  const objects: Manifest[] = [];
  for (const { text, source } of await textsOf(sources)) {
    for (const object of objectsIn(text, source)) objects.push(toManifest(object, source, labels));
  }
  if (objects.length === 0) {
    throw usageFailure('there is no object in what -f or -k names', 'Check the path; -R reads the folders below, too.');
  }
  refuseTwins(objects);
  const ordered = objects.toSorted((one, other) => phaseOf(one) - phaseOf(other));
  const hash = createHash('sha256');
  for (const { body } of ordered) hash.update(body).update('\n');
  return { objects: ordered, hash: hash.digest('hex') };
}

interface SourceText {
  readonly text: string;
  readonly source: string;
}

async function textsOf({
  filename = [],
  recursive = false,
  kustomize,
}: ManifestSources): Promise<Iterable<SourceText>> {
  if ((filename.length === 0) === (kustomize === undefined)) {
    throw usageFailure('say what to apply with either -f or -k', 'For example: portcullis apply -f DIR --all-clusters');
  }
  if (kustomize !== undefined) return [{ text: await runKustomize(kustomize), source: kustomize }];
  const input = filename.includes('-') ? await readStandardInput() : '';
  return filename.flatMap((path) =>
    path === '-' ? [{ text: input, source: 'standard input' }] : filesOf(path, recursive).map(readSource),
  );
}

async function readStandardInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk);
  return text;
}

function readSource(source: string): SourceText {
  return { text: attempt(source, () => readFileSync(source, 'utf8')), source };
}

/**
 * Returns the files at a path: the file itself, or as with kubectl a folder's .yaml, .yml and .json files, ordered by
 * name.
 */
function filesOf(path: string, recursive: boolean): readonly string[] {
  return attempt(path, () => {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { withFileTypes: true })
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .flatMap((entry) => {
        const child = join(path, entry.name);
        if (statSync(child).isDirectory()) return recursive ? filesOf(child, true) : [];
        return ['.yaml', '.yml', '.json'].includes(extname(entry.name)) ? [child] : [];
      });
  });
}

function attempt<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const isUrl = /^https?:\/\//.test(path);
    throw usageFailure(
      `cannot read ${path}: ${code}`,
      isUrl ? `Addresses are not read. Use: curl -fsSL ${path} | portcullis apply -f -` : 'Check the path after -f.',
      error,
    );
  }
}

async function runKustomize(folder: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('kubectl', ['kustomize', folder], { maxBuffer: 256 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw usageFailure(
        '-k runs "kubectl kustomize", and there is no kubectl on the PATH',
        `Install kubectl, or use: kustomize build ${folder} | portcullis apply -f -`,
        error,
      );
    }
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw usageFailure(`kubectl kustomize ${folder} failed: ${said}`, 'Mend the kustomization.', error);
  }
}

/**
 * Tags of YAML 1.1 types that kubectl does not know in a manifest. Base-60 numbers (format TIME), which kubectl does
 * not know either, have no tag of their own and are filtered out below.
 */
const unknownTags = /:(?:timestamp|set|omap|pairs|binary)$/;

const yamlOptions = {
  version: '1.1',
  intAsBigInt: true,
  prettyErrors: false,
  customTags: (tags: Tags): Tags =>
    tags.filter((tag) => typeof tag === 'string' || (!unknownTags.test(tag.tag) && tagFormat(tag) !== 'TIME')),
} as const;

function tagFormat(tag: object): unknown {
  return 'format' in tag ? tag.format : undefined;
}

/**
 * Yields the objects of one text. YAML documents are read one after the other, so that a long file needs little memory.
 */
function* objectsIn(text: string, source: string): Iterable<JsonObject> {
  const lines = new LineCounter();
  const documents = new Composer(yamlOptions).compose(new Parser(lines.addNewLine).parse(text));
  for (const document of documents) {
    const value = valueOf(document as Document, source, lines);
    if (value === null || value === undefined) continue;
    yield* expand(value, source);
  }
}

function valueOf(document: Document, source: string, lines: LineCounter): unknown {
  const [fault] = document.errors;
  if (fault !== undefined) {
    const { line } = lines.linePos(fault.pos[0]);
    throw usageFailure(`${source}, line ${line}: neither YAML nor JSON (${fault.code})`, 'Mend the file.', fault);
  }
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw usageFailure(`${source}: its YAML aliases expand to too much`, 'Write the values out.', error);
  }
}

function* expand(value: unknown, source: string): Iterable<JsonObject> {
  if (!isJsonObject(value) || typeof value['kind'] !== 'string' || typeof value['apiVersion'] !== 'string') {
    throw usageFailure(`${source}: a document without apiVersion and kind`, 'Leave out what is no Kubernetes object.');
  }
  const { items } = value;
  if (!value['kind'].endsWith('List') || !Array.isArray(items)) return yield value;
  for (const item of items) yield* expand(item, source);
}

function toManifest(object: JsonObject, source: string, labels: Readonly<Record<string, string>>): Manifest {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = isJsonObject(metadata) ? metadata : {};
  if (name !== undefined && typeof name !== 'string') {
    throw usageFailure(`${source}: metadata.name of a ${String(kind)} is no text`, 'Write it in quotes.');
  }
  if (name === undefined || name === '') {
    throw usageFailure(
      `${source}: a ${String(kind)} without metadata.name`,
      'Apply needs a name; generateName is none.',
    );
  }
  const own = metadata as JsonObject;
  const labelled = { ...own, labels: { ...(own['labels'] as object | undefined), ...labels } };
  const plain = isSecret(object) ? withoutStringData(object) : object;
  const body = Object.keys(labels).length === 0 ? plain : { ...plain, metadata: labelled };
  return {
    apiVersion: String(apiVersion),
    kind: String(kind),
    name,
    namespace: typeof namespace === 'string' ? namespace : '',
    body: JSON.stringify(body, writeInteger),
    source,
  };
}

/**
 * Moves the texts of a Secret from `stringData` to `data`. A server stores the texts in `data` anyway, but with
 * server-side apply the server would not notice that a text was removed from `stringData`, and would report a change in
 * each run.
 */
function withoutStringData({ stringData, ...rest }: JsonObject): JsonObject {
  if (!isJsonObject(stringData)) return rest;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')]);
  return { ...rest, data: { ...(rest['data'] as object | undefined), ...Object.fromEntries(encoded) } };
}

/**
 * A replacer for JSON.stringify that writes integers with all their digits. An int64 may not fit into a JavaScript
 * number.
 */
function writeInteger(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? (JSON as unknown as RawJson).rawJSON(String(value)) : value;
}

/** `JSON.rawJSON` of ECMAScript 2026, which the compiler's library does not have yet. */
interface RawJson {
  rawJSON(text: string): unknown;
}

function refuseTwins(objects: readonly Manifest[]): void {
  const sources = new Map<string, string>();
  for (const object of objects) {
    const identity = identityOf(object, object.namespace);
    const earlier = sources.get(identity);
    if (earlier !== undefined) {
      throw usageFailure(
        `${objectName(object)} comes twice: in ${earlier} and in ${object.source}`,
        'Leave one out; else each run would change the object twice.',
      );
    }
    sources.set(identity, object.source);
  }
}
