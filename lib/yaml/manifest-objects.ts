// The objects in a file of manifests. Lists are expanded as kubectl does it (apimachinery: unstructuredJSONScheme).
import { isJsonObject, type JsonObject } from '../objects/json-object.ts';
import { type PlainValue, YamlFault } from './go-yaml.ts';
import { readManifestDocuments } from './manifest-documents.ts';

/** An object, and the line on which its document begins, counted from 1. */
export interface ManifestObject {
  readonly object: JsonObject;
  readonly line: number;
}

/**
 * The objects of a file, one after the other. Items of a list become single objects. Items without kind and apiVersion
 * get those of the list: an item of a `ConfigMapList` is a `ConfigMap`.
 * @param bytes as for {@link readManifestDocuments}
 * @throws YamlFault for a document that is not a Kubernetes object
 */
export function* objectsIn(bytes: Uint8Array): Generator<ManifestObject> {
  for (const { value, line } of readManifestDocuments(bytes)) {
    if (value !== null) for (const object of expanded(value, line)) yield { object, line };
  }
}

function* expanded(value: PlainValue | JsonObject, line: number): Generator<JsonObject> {
  const place = { line, column: 1 };
  if (!isJsonObject(value)) throw new YamlFault('a document that is no object', place);
  const { apiVersion, kind, items } = value;
  if (typeof kind !== 'string' || kind === '' || typeof apiVersion !== 'string' || apiVersion === '')
    throw new YamlFault('a document without apiVersion and kind', place);
  if (!kind.endsWith('List') || items === undefined) return yield value;
  if (items === null) return;
  if (!Array.isArray(items)) throw new YamlFault('the field items of a list is not a list', place);
  for (const item of items as readonly PlainValue[]) {
    const isBare = isJsonObject(item) && isEmpty(item['kind']) && isEmpty(item['apiVersion']);
    const own = isBare && kind !== 'List' ? { ...item, apiVersion, kind: kind.slice(0, -'List'.length) } : item;
    yield* expanded(own, line);
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
