// Takes from a cluster's OpenAPI document of one group and version what a caller may know: the paths of some of its
// resources, and the schemas that these refer to.
import { isJsonObject, listAt, objectAt } from '../../lib/objects/json-object.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

/** The part of an OpenAPI document that a caller may see. */
export interface OpenapiPart {
  readonly document: JsonObject;
  /** Those of the wanted resources that the document describes. */
  readonly resources: ReadonlySet<string>;
}

/**
 * Maximum nesting. Deeper documents are refused, because they are not OpenAPI, and recursion could overflow the stack.
 */
const mostLevels = 200;
const schemaPrefix = '#/components/schemas/';
const kindsKey = 'x-kubernetes-group-version-kind';
/** The operations that are removed, because the index only answers GET requests. */
const otherMethods: ReadonlySet<string> = new Set(['put', 'post', 'delete', 'options', 'head', 'patch', 'trace']);

/** Parses an OpenAPI document. @throws Error when it is not a JSON object, or is nested too deep */
export function parseOpenapi(text: Buffer): JsonObject {
  const document = parseExact(text);
  if (!isJsonObject(document)) throw new Error('not a JSON object');
  checkLevels(document, mostLevels);
  return document;
}

/**
 * Keeps the paths that the index serves for these resources (list, get and the old form of watch), and all schemas that
 * these refer to. Keys come from member clusters and may include `__proto__`, so copies are made with
 * `Object.fromEntries`.
 * @param resources plural names
 */
export function partOf(
  { openapi, info, paths, components }: JsonObject,
  group: string,
  version: string,
  resources: readonly string[],
): OpenapiPart {
  const described = resources.map((name) => [name, servedPaths(objectAt(paths), root(group, version), name)] as const);
  const served = described.flatMap(([, each]) => each);
  const { schemas, securitySchemes } = objectAt(components);
  const reached = reachedSchemas(objectAt(schemas), served, group, version);
  return {
    document: {
      openapi,
      info,
      paths: Object.fromEntries(served),
      components: { schemas: Object.fromEntries(reached), securitySchemes },
    },
    resources: new Set(described.filter(([, each]) => each.length > 0).map(([name]) => name)),
  };
}

/** The path below which a member cluster serves a group and version, such as `/apis/apps/v1`. */
export function root(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

function servedPaths(paths: JsonObject, at: string, resource: string): [string, JsonObject][] {
  const places = [at, `${at}/watch`].flatMap((place) => [place, `${place}/namespaces/{namespace}`]);
  return places
    .flatMap((place) => [`${place}/${resource}`, `${place}/${resource}/{name}`])
    .flatMap((path): [string, JsonObject][] => {
      const item = Object.hasOwn(paths, path) ? paths[path] : undefined;
      if (!isJsonObject(item) || !Object.hasOwn(item, 'get')) return [];
      return [[path, Object.fromEntries(Object.entries(item).filter(([key]) => !otherMethods.has(key)))]];
    });
}

/** The schemas that `from` refers to, directly or through other schemas, by name. */
function reachedSchemas(all: JsonObject, from: unknown, group: string, version: string): Map<string, unknown> {
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
 * The names of the schemas that a value refers to. An object can have a field called `$ref`, whose value is then an
 * object and not a text.
 */
function* namesIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const each of value as readonly unknown[]) yield* namesIn(each);
  else if (isJsonObject(value)) {
    for (const [key, each] of Object.entries(value)) {
      if (key === '$ref' && typeof each === 'string' && each.startsWith(schemaPrefix))
        yield each.slice(schemaPrefix.length);
      else yield* namesIn(each);
    }
  }
}

function checkLevels(value: unknown, left: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (left === 0) throw new Error(`more than ${mostLevels} levels`);
  for (const each of Object.values(value)) checkLevels(each, left - 1);
}
