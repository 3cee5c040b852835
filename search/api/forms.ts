// How rows become answers: lists, metadata alone, projections, collections and watch events. An item is the stored
// bytes. Only what the question asks for changes them (another version of the same schema, a part of it), and never by
// parsing.
import type { RowRead } from '../stores/store.ts';
import type { Table } from '../table/table.ts';
import type { PathStep } from '../../lib/json/path-step.ts';
import { typeKey } from '../types.ts';
import type { TypeInfo, TypeKey } from '../types.ts';
import type { EventForm } from '../watch/watch-question.ts';
import { apiVersionOf } from './catalog.ts';
import type { TypeView } from './catalog.ts';
import {
  asBuffer,
  metadataAlone,
  partialObject,
  project,
  wantedParts,
  withApiVersion,
} from '../../lib/json/raw-json.ts';
import type { RowDocument } from './row-stream.ts';

/** `metadata` of a list. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continueToken: string | undefined;
  readonly remaining: number | undefined;
}

/** Turns a stored object into what is shown of it. */
export type ShowObject = (raw: Uint8Array, type: TypeKey, incarnation: string) => Uint8Array;

/** Which part of each object is shown. */
export interface ObjectParts {
  /** As metav1.PartialObjectMetadata, which the client accepts instead of its type. */
  readonly isPartial?: boolean;
  /** Of its own kind still, as Clusterpedia has it: a client that reads a PodList reads this, too. */
  readonly onlyMetadata: boolean;
  readonly fields: readonly (readonly PathStep[])[] | undefined;
}

/** The way objects of these views are shown. */
export function objectForm(views: readonly TypeView[], { isPartial, onlyMetadata, fields }: ObjectParts): ShowObject {
  const rewritten = new Map<TypeKey, TypeView>();
  for (const view of views) if (view.rewritten.size > 0) rewritten.set(typeKey(view.type), view);
  const wanted = fields === undefined ? undefined : wantedParts(fields);
  return (raw, type, incarnation) => {
    const view = rewritten.size === 0 ? undefined : rewritten.get(type);
    const inVersion = view?.rewritten.has(incarnation) === true ? withApiVersion(raw, view.apiVersion) : raw;
    if (isPartial === true) return partialObject(inVersion);
    if (onlyMetadata) return metadataAlone(inVersion);
    return wanted === undefined ? inVersion : project(inVersion, wanted);
  };
}

const partialVersion = 'meta.k8s.io/v1';
const listTail = Buffer.from(']}\n');

/** `{"resourceVersion":…,"continue":…,"remainingItemCount":…}` without what there is not. */
function listMetadata({ resourceVersion, continueToken, remaining }: ListMeta): object {
  return {
    resourceVersion,
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  };
}

/** The beginning of an object whose last member is a list: `{…,"items":[`. */
function opening(members: object, list: string): Buffer {
  return Buffer.from(`${JSON.stringify(members).slice(0, -1)},"${list}":[`);
}

/** A list of one type, or of PartialObjectMetadata. */
export function listDocument(type: TypeInfo, meta: ListMeta, show: ShowObject, isPartial: boolean): RowDocument {
  const kind = isPartial ? 'PartialObjectMetadataList' : `${type.kind}List`;
  const apiVersion = isPartial ? partialVersion : apiVersionOf(type.group, type.version);
  return {
    head: opening({ kind, apiVersion, metadata: listMetadata(meta) }, 'items'),
    item: (row) => show(row.raw, row.type, row.incarnation),
    tail: listTail,
  };
}

/** A collection: continue and count at the top, as Clusterpedia has them. */
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
  return { head: opening(head, 'items'), item: (row) => show(row.raw, row.type, row.incarnation), tail: listTail };
}

/** What a Table row holds of its object (`includeObject`). */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

function tableRow(
  shape: Table,
  row: Pick<RowRead, 'raw' | 'type' | 'incarnation' | 'cluster'>,
  object: Uint8Array | undefined,
): Buffer {
  const cells = Buffer.from(JSON.stringify(shape.row(row)).slice(0, -1));
  if (object === undefined) return Buffer.concat([cells, Buffer.from('}')]);
  return Buffer.concat([cells, Buffer.from(',"object":'), object, Buffer.from('}')]);
}

function includedObject(
  show: ShowObject,
  include: IncludeObject,
): (row: Pick<RowRead, 'raw' | 'type' | 'incarnation'>) => Uint8Array | undefined {
  return (row) => {
    if (include === 'None') return undefined;
    const object = show(row.raw, row.type, row.incarnation);
    return include === 'Object' ? object : partialObject(object);
  };
}

/** metav1.Table of rows. */
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

/** One row alone. */
export function oneDocument(document: RowDocument, row: RowRead): Buffer {
  return Buffer.concat([document.head, document.item(row), document.tail]);
}

/** Objects as events of a watch have them. */
export function eventForm(type: TypeInfo, show: ShowObject, isPartial: boolean): EventForm {
  const names = isPartial
    ? { kind: 'PartialObjectMetadata', apiVersion: partialVersion }
    : { kind: type.kind, apiVersion: apiVersionOf(type.group, type.version) };
  return {
    object: (row) => asBuffer(show(row.raw, row.type, row.incarnation)),
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

/** Tables as events of a watch have them: columns with the first one only. */
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
    // Ages are those of the moment of the event.
    object: (row) => table(undefined, tableRow(tableNow(), row, object(row))),
    bookmark(resourceVersion, annotations) {
      const partial = bookmarkObject(
        { kind: 'PartialObjectMetadata', apiVersion: partialVersion },
        resourceVersion,
        annotations,
      );
      return table(resourceVersion, Buffer.concat([Buffer.from('{"cells":[],"object":'), partial, Buffer.from('}')]));
    },
  };
}
