// Makes the JSON of stored objects: converted to the requested version, and written whole, as metadata only, or as rows
// of a Table. The JSON text of each object is cached, so that an object is serialised once for many watches.
import type { Negotiated } from './negotiate.ts';
import { apiVersionOf, type Resource } from '../store/resources.ts';
import { tableHead, tableRow } from './table.ts';
import { toVersion } from './conversion.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';

const texts = new WeakMap<KubeObject, Map<string, string>>();

/** The JSON text of a stored object, in the version of `resource`. */
export function objectText(resource: Resource, object: KubeObject): string {
  let byVersion = texts.get(object);
  if (byVersion === undefined) texts.set(object, (byVersion = new Map()));
  let text = byVersion.get(resource.version);
  if (text === undefined) byVersion.set(resource.version, (text = JSON.stringify(toVersion(resource, object))));
  return text;
}

/** The JSON text of an object as an item of a list. As in Go, items of built-in kinds have no kind and apiVersion. */
function itemText(resource: Resource, object: KubeObject): string {
  if (resource.definition !== undefined) return objectText(resource, object);
  const lead = `{"apiVersion":"${apiVersionOf(resource)}","kind":"${resource.kind}",`;
  const text = objectText(resource, object);
  if (text.startsWith(lead)) return `{${text.slice(lead.length)}`;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = toVersion(resource, object);
  return JSON.stringify(rest);
}

/** The `metav1.PartialObjectMetadata` of an object. */
function partialOf(object: KubeObject): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

/**
 * One object as `accept` demands: whole, as Table with one row, or as metadata only. `table` has the settings for a
 * Table.
 */
export function shaped(
  resource: Resource,
  object: KubeObject,
  accept: Negotiated,
  table: { readonly includeObject: string; readonly now: Date; readonly headers?: boolean },
): JsonObject {
  if (accept.shape === 'partial') return partialOf(object);
  const converted = toVersion(resource, object);
  if (accept.shape === 'object') return converted;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: object.metadata.resourceVersion },
    columnDefinitions: table.headers === false ? null : tableHead(resource),
    rows: [tableRow(resource, converted, table.includeObject, table.now)],
  };
}

/** A list as `accept` demands, as consecutive parts of one JSON text. */
export function* listPieces(
  resource: Resource,
  objects: readonly KubeObject[],
  metadata: JsonObject,
  accept: Negotiated,
  table: { readonly includeObject: string; readonly now: Date },
): Generator<string> {
  const meta = JSON.stringify(metadata);
  let render: (object: KubeObject) => string;
  if (accept.shape === 'table') {
    const head = JSON.stringify(tableHead(resource));
    yield `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${meta},"columnDefinitions":${head},"rows":[`;
    render = (object) =>
      JSON.stringify(tableRow(resource, toVersion(resource, object), table.includeObject, table.now));
  } else if (accept.shape === 'partial') {
    yield `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":${meta},"items":[`;
    render = (object) => JSON.stringify(partialOf(object));
  } else {
    yield `{"kind":"${resource.kind}List","apiVersion":"${apiVersionOf(resource)}","metadata":${meta},"items":[`;
    render = (object) => itemText(resource, object);
  }
  let piece = '';
  for (let i = 0; i < objects.length; i++) {
    const object = objects[i];
    if (object === undefined) continue;
    piece += (i === 0 ? '' : ',') + render(object);
    if (piece.length > 32 * 1024) {
      yield piece;
      piece = '';
    }
  }
  yield `${piece}]}\n`;
}
