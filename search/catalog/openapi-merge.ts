// Merges the OpenAPI documents that several clusters have for one group and version, as kube-openapi's pkg/aggregator
// does with the documents of several servers. Easy to get wrong: two schemas with equal texts are different if a schema
// that they refer to differs.
import { isJsonObject, listAt, objectAt } from '../../lib/objects/json-object.ts';
import { parseExact } from '../../lib/json/exact-json.ts';
import { isDeepStrictEqual } from 'node:util';

/**
 * A parsed JSON object. Its keys come from member clusters and may include `__proto__`, so copies must be made with
 * `Object.fromEntries`.
 */
export type Json = Readonly<Record<string, unknown>>;

/** The part of one cluster's document that goes into the merged document. */
export interface OpenapiPart {
  readonly document: Json;
  /**
   * Plural names of the resources to take from this document. A resource must be in one part only, so that its
   * description is never a mixture of several clusters.
   */
  readonly resources: readonly string[];
}

/**
 * Maximum nesting. Deeper documents are refused, because they are not OpenAPI, and recursion could overflow the stack.
 */
const mostLevels = 200;
/**
 * Maximum number of passes to follow references between schemas. Real documents need half as many. The limit keeps a
 * hostile member cluster from delaying everyone.
 */
const mostRounds = 12;
const schemaPrefix = '#/components/schemas/';
const kindsKey = 'x-kubernetes-group-version-kind';
/** The operations that are removed, because the index only answers GET requests. */
const otherMethods: ReadonlySet<string> = new Set(['put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

/** Parses an OpenAPI document. @throws Error when it is not a JSON object, or is nested too deep */
export function parseOpenapi(text: Buffer): Json {
  const document = parseExact(text);
  if (!isJsonObject(document)) throw new Error('not a JSON object');
  checkLevels(document, mostLevels);
  return document;
}

/**
 * Makes one document with the paths that the index serves for these resources (list, get and the old form of watch),
 * and all schemas that these refer to. When a schema differs from a schema of the same name in an earlier part, it and
 * all schemas that refer to it are renamed `_v2`, `_v3` and so on, as kube-openapi does. Differences in the lists of
 * kinds do not count, as in kube-openapi.
 * @param parts the schemas of the first part keep their names
 */
export function mergeOpenapi(parts: readonly OpenapiPart[], group: string, version: string): Json {
  const paths: [string, unknown][] = [];
  const schemas = new Map<string, unknown>();
  for (const { document, resources } of parts) {
    const own = resources.flatMap((resource) => servedPaths(document, root(group, version), resource));
    const reached = reachedSchemas(document, own, group, version);
    const renames = chooseNames(reached, schemas);
    for (const [name, schema] of reached) schemas.set(renames.get(name) ?? name, withReferences(schema, renames));
    for (const [path, item] of own) paths.push([path, withReferences(item, renames)]);
  }
  const [first] = parts;
  const { securitySchemes } = objectAt(first?.document['components']);
  return {
    openapi: '3.0.0',
    info: first?.document['info'] ?? { title: 'Kubernetes', version: 'unknown' },
    paths: Object.fromEntries(paths.toSorted(byFirst)),
    components: {
      schemas: Object.fromEntries([...schemas].toSorted(byFirst)),
      ...(securitySchemes === undefined ? {} : { securitySchemes }),
    },
  };
}

/** What a document contains for one group and version. */
export interface OpenapiSurvey {
  /** Plural names of resources that can be read or listed. */
  readonly resources: ReadonlySet<string>;
  /** The number of fields in each kind's schema at all levels, without the fields of schemas that it refers to. */
  readonly fields: ReadonlyMap<string, number>;
}

/** Finds out what a document contains for one group and version. */
export function surveyOpenapi(document: Json, group: string, version: string): OpenapiSurvey {
  const at = root(group, version);
  const last = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  const named = Object.keys(objectAt(document['paths']))
    .filter((path) => path.startsWith(`${at}/`))
    .map((path) => last(path.endsWith('/{name}') ? path.slice(0, -'/{name}'.length) : path));
  const resources = [...new Set(named)].filter((name) => name !== '' && servedPaths(document, at, name).length > 0);
  const fields = Object.values(schemasIn(document)).flatMap((schema) =>
    listAt(objectAt(schema)[kindsKey])
      .filter((each) => isJsonObject(each) && each['group'] === group && each['version'] === version)
      .map((each): [string, number] => [String((each as Json)['kind']), countFields(schema)]),
  );
  return { resources: new Set(resources), fields: new Map(fields) };
}

/** The path below which a member cluster serves a group and version, such as `/apis/apps/v1`. */
export function root(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

function servedPaths(document: Json, at: string, resource: string): [string, Json][] {
  const paths = objectAt(document['paths']);
  const places = [at, `${at}/watch`].flatMap((place) => [place, `${place}/namespaces/{namespace}`]);
  return places
    .flatMap((place) => [`${place}/${resource}`, `${place}/${resource}/{name}`])
    .flatMap((path): [string, Json][] => {
      const item = Object.hasOwn(paths, path) ? paths[path] : undefined;
      if (!isJsonObject(item) || !Object.hasOwn(item, 'get')) return [];
      return [[path, Object.fromEntries(Object.entries(item).filter(([key]) => !otherMethods.has(key)))]];
    });
}

/** The schemas that `from` refers to, directly or through other schemas, by name. */
function reachedSchemas(document: Json, from: unknown, group: string, version: string): Map<string, unknown> {
  const all = schemasIn(document);
  const reached = new Map<string, unknown>();
  const waiting = [...namesIn(from)];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (reached.has(name) || !Object.hasOwn(all, name)) continue;
    const schema = withOwnKinds(all[name], group, version);
    reached.set(name, schema);
    waiting.push(...namesIn(schema));
  }
  return reached;
}

/**
 * Schemas such as WatchEvent list a kind for every group of the cluster. Only the kinds of this group and version stay,
 * since the caller may not know of the others.
 */
function withOwnKinds(schema: unknown, group: string, version: string): unknown {
  if (!isJsonObject(schema) || !Object.hasOwn(schema, kindsKey)) return schema;
  const kinds = listAt(schema[kindsKey]);
  if (kinds.length === 1) return schema;
  const own = kinds.filter((kind) => isJsonObject(kind) && kind['group'] === group && kind['version'] === version);
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, key === kindsKey ? own : value]));
}

/**
 * Finds the schemas of a part that need new names, because their names are already used for different schemas. A
 * renaming changes all schemas that refer to the renamed one, so these are compared again, until nothing changes. This
 * also works for schemas that refer to each other in a circle.
 * @param own the schemas of the part
 * @param there the schemas that were merged before
 */
function chooseNames(
  own: ReadonlyMap<string, unknown>,
  there: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, string> {
  const referring = new Map<string, string[]>();
  for (const [name, schema] of own) {
    for (const named of new Set(namesIn(schema))) {
      const of = referring.get(named);
      if (of === undefined) referring.set(named, [name]);
      else of.push(name);
    }
  }
  const numbers = new Map<string, number>();
  const renames = new Map<string, string>();
  let open: Iterable<string> = own.keys();
  for (let round = 1, isSettled = false; !isSettled; round += 1) {
    // There were too many passes. To end the comparison, every schema of this part whose name is used gets a new name.
    const isLast = round > mostRounds;
    const next = new Set<string>();
    for (const name of isLast ? own.keys() : open) {
      for (;;) {
        const chosen = renames.get(name) ?? name;
        const isTaken = chosen !== name && own.has(chosen);
        const isSame = (): boolean =>
          !isLast && isDeepStrictEqual(there.get(chosen), withReferences(own.get(name), renames));
        if (!isTaken && (!there.has(chosen) || isSame())) break;
        const number = (numbers.get(name) ?? 1) + 1;
        numbers.set(name, number);
        renames.set(name, `${name}_v${number}`);
        for (const each of referring.get(name) ?? []) next.add(each);
      }
    }
    open = next;
    isSettled = isLast || next.size === 0;
  }
  return renames;
}

function* namesIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const each of value as readonly unknown[]) yield* namesIn(each);
  else if (isJsonObject(value)) {
    for (const [key, each] of Object.entries(value)) {
      const name = key === '$ref' ? schemaNamed(each) : undefined;
      if (name === undefined) yield* namesIn(each);
      else yield name;
    }
  }
}

/**
 * The name of the schema that a reference points to; undefined if the value is not such a reference. An object can have
 * a field called `$ref`, whose value is then an object and not a text.
 */
function schemaNamed(reference: unknown): string | undefined {
  return typeof reference === 'string' && reference.startsWith(schemaPrefix)
    ? reference.slice(schemaPrefix.length)
    : undefined;
}

function withReferences(value: unknown, renames: ReadonlyMap<string, string>): unknown {
  if (renames.size === 0) return value;
  if (Array.isArray(value)) return value.map((each) => withReferences(each, renames));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const name = key === '$ref' ? schemaNamed(each) : undefined;
      return [key, name === undefined ? withReferences(each, renames) : schemaPrefix + (renames.get(name) ?? name)];
    }),
  );
}

function countFields(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce((sum: number, each) => sum + countFields(each), 0);
  if (!isJsonObject(schema)) return 0;
  const own = Object.keys(objectAt(schema['properties'])).length;
  return Object.values(schema).reduce((sum: number, each) => sum + countFields(each), own);
}

function checkLevels(value: unknown, left: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (left === 0) throw new Error(`more than ${mostLevels} levels`);
  for (const each of Object.values(value)) checkLevels(each, left - 1);
}

function schemasIn(document: Json): Json {
  return objectAt(objectAt(document['components'])['schemas']);
}

function byFirst([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}
