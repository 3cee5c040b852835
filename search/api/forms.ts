// Turns rows into answers: lists, PartialObjectMetadata, selected fields, collections and watch events. An item of an
// answer consists of the stored bytes. If the request asks for another version or a part of the object, the bytes are
// edited, but never parsed and serialised again.
import type { RowRead } from '../../store/store.ts';
import type { Table } from '../table/table.ts';
import type { PathStep } from '../../lib/json/raw-json.ts';
import { cachedAnnotation, typeKey, type TypeInfo, type TypeKey } from '../../query/types.ts';
import type { EventForm } from '../watch/watch-question.ts';
import { apiVersionOf } from '../catalog/catalog.ts';
import type { TypeView } from '../catalog/catalog.ts';
import {
  asBuffer,
  metadataAlone,
  partialObject,
  project,
  wantedParts,
  withAnnotation,
  withApiVersion,
} from '../../lib/json/raw-json.ts';
import type { RowDocument } from '../answer/row-stream.ts';

/** The fields of a list's `metadata`: resourceVersion, continue token, number of remaining items. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
  readonly remaining: number | undefined;
}

/** The fields of a row from which its object is shown. */
type ShownRow = Pick<RowRead, 'raw' | 'type' | 'incarnation' | 'cluster'>;

/** Turns the stored bytes of an object into the bytes to show. */
export type ShowObject = (row: ShownRow) => Uint8Array;

/** Which part of each object an answer contains. */
export interface ObjectParts {
  /** True to show metav1.PartialObjectMetadata, because the client accepts that. */
  readonly isPartial?: boolean;
  /**
   * True to show only `metadata`, but with the object's own kind, as Clusterpedia does. So a client that expects a
   * PodList can read the answer.
   */
  readonly onlyMetadata: boolean;
  readonly fields: readonly (readonly PathStep[])[] | undefined;
  /** True to name the cluster in Karmada's annotation as well. */
  readonly namesCached?: boolean;
}

/** Makes the function that turns stored objects of these types into what is shown. */
export function objectForm(views: readonly TypeView[], parts: ObjectParts): ShowObject {
  const show = partForm(views, parts);
  return parts.namesCached === true ? (row) => withAnnotation(show(row), cachedAnnotation, row.cluster) : show;
}

function partForm(views: readonly TypeView[], { isPartial, onlyMetadata, fields }: ObjectParts): ShowObject {
  const rewritten = new Map<TypeKey, TypeView>();
  for (const view of views) if (view.rewritten.size > 0) rewritten.set(typeKey(view.type), view);
  const wanted = fields === undefined ? undefined : wantedParts(fields);
  return ({ raw, type, incarnation }) => {
    const view = rewritten.size === 0 ? undefined : rewritten.get(type);
    const inVersion = view?.rewritten.has(incarnation) === true ? withApiVersion(raw, view.apiVersion) : raw;
    if (isPartial === true) return partialObject(inVersion);
    if (onlyMetadata) return metadataAlone(inVersion);
    return wanted === undefined ? inVersion : project(inVersion, wanted);
  };
}

const partialVersion = 'meta.k8s.io/v1';
const listTail = Buffer.from(']}\n');

/** The `metadata` of a list, without fields that are undefined. */
function listMetadata({ resourceVersion, continueToken, remaining }: ListMeta): object {
  return {
    resourceVersion,
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}

/** The start of a JSON object whose last member is a list: `{…,"items":[`. */
function opening(members: object, list: string): Buffer {
  return Buffer.from(`${JSON.stringify(members).slice(0, -1)},"${list}":[`);
}

/** A list of one type, or a list of PartialObjectMetadata. */
export function listDocument(type: TypeInfo, meta: ListMeta, show: ShowObject, isPartial: boolean): RowDocument {
  const kind = isPartial ? 'PartialObjectMetadataList' : `${type.kind}List`;
  const apiVersion = isPartial ? partialVersion : apiVersionOf(type.group, type.version);
  return {
    head: opening({ kind, apiVersion, metadata: listMetadata(meta) }, 'items'),
    item: (row) => show(row),
    tail: listTail,
  };
}

/**
 * A collection as one CollectionResource with all objects. As in Clusterpedia, `continue` and `remainingItemCount` are
 * at the top of the object and not in `metadata`.
 */
export function collectionDocument(
  name: string,
  types: readonly TypeInfo[],
  meta: ListMeta,
  show: ShowObject,
): RowDocument {
  const { continueToken, remaining } = meta;
  const head = {
    kind: 'CollectionResource',
    apiVersion: 'clusterpedia.io/v1beta1',
    metadata: { name, creationTimestamp: null, resourceVersion: meta.resourceVersion },
    resourceTypes: types.map(({ group, version, kind, resource }) => ({ group, version, kind, resource })),
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
  return { head: opening(head, 'items'), item: (row) => show(row), tail: listTail };
}

/** How much of its object a row of a Table contains: the value of the parameter `includeObject`. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

function tableRow(shape: Table, row: ShownRow, object: Uint8Array | undefined): Buffer {
  const cells = Buffer.from(JSON.stringify(shape.row(row)).slice(0, -1));
  if (object === undefined) return Buffer.concat([cells, Buffer.from('}')]);
  return Buffer.concat([cells, Buffer.from(',"object":'), object, Buffer.from('}')]);
}

function includedObject(show: ShowObject, include: IncludeObject): (row: ShownRow) => Uint8Array | undefined {
  return (row) => {
    if (include === 'None') return undefined;
    const object = show(row);
    return include === 'Object' ? object : partialObject(object);
  };
}

/** Makes a metav1.Table: column definitions, and a row for each object. */
export function tableDocument(shape: Table, meta: ListMeta, show: ShowObject, include: IncludeObject): RowDocument {
  const object = includedObject(show, include);
  return {
    head: opening(
      { kind: 'Table', apiVersion: partialVersion, metadata: listMetadata(meta), columnDefinitions: shape.columns },
      'rows',
    ),
    item: (row) => tableRow(shape, row, object(row)),
    tail: listTail,
  };
}

/** The JSON of a list or Table with a single row. */
export function oneDocument(document: RowDocument, row: RowRead): Buffer {
  return Buffer.concat([document.head, document.item(row), document.tail]);
}

/** Kind and apiVersion of an object. */
export interface ObjectNames {
  readonly kind: string;
  readonly apiVersion: string;
}

export const partialNames: ObjectNames = { kind: 'PartialObjectMetadata', apiVersion: partialVersion };

/**
 * Makes the functions that write the objects and bookmarks of a watch's events as single objects.
 * @param names kind and apiVersion of bookmarks
 */
export function eventForm(names: ObjectNames, show: ShowObject): EventForm {
  return {
    object: (row) => asBuffer(show(row)),
    bookmark: (resourceVersion, annotations) => bookmarkObject(names, resourceVersion, annotations),
  };
}

function bookmarkObject(
  names: object,
  resourceVersion: string,
  annotations: Readonly<Record<string, string>> | undefined,
): Buffer {
  const metadata = { resourceVersion, creationTimestamp: null, ...(annotations && { annotations }) };
  return Buffer.from(JSON.stringify({ ...names, metadata }));
}

/**
 * Makes the functions that write the objects and bookmarks of a watch's events as Tables. Only the first event contains
 * the column definitions.
 */
export function tableEventForm(tableNow: () => Table, show: ShowObject, include: IncludeObject): EventForm {
  let columns: readonly object[] | null = tableNow().columns;
  const object = includedObject(show, include);
  const table = (resourceVersion: string | undefined, row: Buffer): Buffer => {
    const head = {
      kind: 'Table',
      apiVersion: partialVersion,
      metadata: resourceVersion === undefined ? {} : { resourceVersion },
      columnDefinitions: columns,
    };
    columns = null;
    return Buffer.concat([opening(head, 'rows'), row, Buffer.from(']}')]);
  };
  return {
    // The table is made anew for each event, so that ages are those at the time of the event.
    object: (row) => table(undefined, tableRow(tableNow(), row, object(row))),
    bookmark(resourceVersion, annotations) {
      const partial = bookmarkObject(partialNames, resourceVersion, annotations);
      return table(resourceVersion, Buffer.concat([Buffer.from('{"cells":[],"object":'), partial, Buffer.from('}')]));
    },
  };
}
