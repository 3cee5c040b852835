// Reads manifests from files, folders, standard input and kustomize.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { isLabel, isName } from '../../../lib/objects/api-names.ts';
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import { YamlFault } from '../../../lib/yaml/go-yaml.ts';
import { objectsIn } from '../../../lib/yaml/manifest-objects.ts';
import { Failure, usageFailure } from '../../terminal/failure.ts';
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
 * @param namespace namespace of objects that name none
 * @throws Failure (rejects) when something cannot be read, is no Kubernetes object, or occurs twice
 */
export async function readManifests(
  sources: ManifestSources,
  labels: Readonly<Record<string, string>>,
  namespace: string,
): Promise<Manifests> {
  const objects: Manifest[] = [];
  for (const file of await bytesOf(sources)) {
    for (const object of objectsOf(file)) objects.push(toManifest(object, file.source, labels));
  }
  if (objects.length === 0) {
    throw usageFailure('there is no object in what -f or -k names', 'Check the path; -R reads the folders below, too.');
  }
  refuseTwins(objects, namespace);
  const ordered = objects.toSorted((one, other) => phaseOf(one) - phaseOf(other));
  const hash = createHash('sha256');
  for (const { body } of ordered) hash.update(body).update('\n');
  return { objects: ordered, hash: hash.digest('hex') };
}

interface SourceBytes {
  readonly bytes: Buffer;
  readonly source: string;
}

async function bytesOf({
  filename = [],
  recursive = false,
  kustomize,
}: ManifestSources): Promise<Iterable<SourceBytes>> {
  if ((filename.length === 0) === (kustomize === undefined)) {
    throw usageFailure('say what to apply with either -f or -k', 'For example: portcullis apply -f DIR --all-clusters');
  }
  if (kustomize !== undefined) return [{ bytes: await runKustomize(kustomize), source: kustomize }];
  const input = filename.includes('-') ? await buffer(process.stdin) : Buffer.alloc(0);
  return filename.flatMap((path) =>
    path === '-' ? [{ bytes: input, source: 'standard input' }] : filesOf(path, recursive).map(readSource),
  );
}

function readSource(source: string): SourceBytes {
  return { bytes: attempt(source, () => readFileSync(source)), source };
}

/**
 * Returns the files at a path: the file itself, or as with kubectl a folder's .yaml, .yml and .json files, ordered by
 * name. As with kubectl, a link below the path is read when it leads to a file, but it is not followed into a folder:
 * that may hold objects of another environment, or the link itself.
 */
function filesOf(path: string, recursive: boolean): readonly string[] {
  return attempt(path, () => {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { withFileTypes: true })
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .flatMap((entry) => {
        const child = join(path, entry.name);
        if (entry.isDirectory()) return recursive ? filesOf(child, true) : [];
        if (!['.yaml', '.yml', '.json'].includes(extname(entry.name))) return [];
        return entry.isSymbolicLink() && attempt(child, () => statSync(child)).isDirectory() ? [] : [child];
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

async function runKustomize(folder: string): Promise<Buffer> {
  try {
    const { stdout } = await promisify(execFile)('kubectl', ['kustomize', folder], {
      maxBuffer: 256 * 1024 * 1024,
      encoding: 'buffer',
    });
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

/** @throws Failure (usage) */
function* objectsOf({ bytes, source }: SourceBytes): Iterable<JsonObject> {
  try {
    for (const { object } of objectsIn(bytes)) yield object;
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw usageFailure(`${source}, line ${error.line}: ${error.message}`, 'Mend the file.', error);
  }
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
  // A name with characters such as `/` would make the request path name another object.
  if (!isName(name)) throw usageFailure(`${source}: ${JSON.stringify(name)} cannot be a name`, 'Mend metadata.name.');
  if (typeof namespace === 'string' && namespace !== '' && !isLabel(namespace)) {
    const said = `${source}: ${JSON.stringify(namespace)} cannot be a namespace`;
    throw usageFailure(said, 'Mend metadata.namespace.');
  }
  const plain = isSecret(object) ? withoutStringData(object) : object;
  const body = Object.keys(labels).length === 0 ? plain : withLabels(plain, labels, source);
  return {
    apiVersion: String(apiVersion),
    kind: String(kind),
    name,
    namespace: typeof namespace === 'string' ? namespace : '',
    body: JSON.stringify(body),
    source,
  };
}

function withLabels(object: JsonObject, labels: Readonly<Record<string, string>>, source: string): JsonObject {
  const metadata = object['metadata'] as JsonObject;
  const own = metadata['labels'] ?? {};
  if (!isJsonObject(own))
    throw usageFailure(`${source}: metadata.labels of a ${String(object['kind'])} is no mapping`, 'Mend the file.');
  return { ...object, metadata: { ...metadata, labels: { ...own, ...labels } } };
}

/**
 * Moves the texts of a Secret from `stringData` to `data`. A server stores the texts in `data` anyway, but with
 * server-side apply the server would not notice that a text was removed from `stringData`, and would report a change in
 * each run. A value that is no text stays where it is, so that the server refuses it; null is an empty text to it.
 */
function withoutStringData(object: JsonObject): JsonObject {
  const { stringData, ...rest } = object;
  const data = rest['data'] ?? {};
  if (!isJsonObject(stringData) || !isJsonObject(data)) return object;
  const values = Object.entries(stringData).map(([key, value]) => [key, value ?? ''] as const);
  if (!values.every(([, value]) => typeof value === 'string')) return object;
  const encoded = values.map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')]);
  return { ...rest, data: { ...data, ...Object.fromEntries(encoded) } };
}

function refuseTwins(objects: readonly Manifest[], namespace: string): void {
  const sources = new Map<string, string>();
  for (const object of objects) {
    const identity = identityOf(object, object.namespace || namespace);
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
