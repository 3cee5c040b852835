// Writes the events of a merged watch as lines of JSON. A client resumes from the resourceVersion of the last object it
// got, so the gateway writes the merged resourceVersion into every object. In a Table watch, only the first event has
// column definitions, so the rows of all clusters must have the same columns.
import { byte, skipSpace } from '../../../lib/json/json-scan.ts';
import { edited, elementsOf, markEdits, membersOf, stringAt } from '../lists/item-bytes.ts';
import { cellOrder, mergedDefinitions, mergedRow, readColumns, unionColumns } from '../lists/table-columns.ts';
import type { Columns } from '../lists/table-columns.ts';

/** Kind and apiVersion of the watched objects. */
export interface ObjectType {
  readonly kind: string;
  readonly apiVersion: string;
}

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Columns of one cluster's Table, from the cluster's first watch event or its list; `own` is undefined before. */
export interface MemberColumns {
  own: Columns | undefined;
}

/** Writes the events of one merged watch and remembers which column definitions the client has received. */
export class WatchLines {
  #columns: Columns | undefined;
  #definitionsSent = false;

  /** Takes the columns of the first cluster as those of the merged Table; later calls change nothing. */
  learn(columns: Columns): void {
    this.#columns ??= unionColumns([columns]);
  }

  /**
   * The resourceVersion in a cluster's object or Table; '' when there is none.
   * @throws MalformedAnswer for malformed JSON
   */
  static versionOf(object: Buffer): string {
    const metadata = membersOf(object, skipSpace(object, 0)).get('metadata');
    if (metadata === undefined) return '';
    return stringAt(object, membersOf(object, metadata.start).get('resourceVersion')) ?? '';
  }

  /**
   * The line for an event that a cluster sent. `columns` is updated when the event defines columns.
   * @throws MalformedAnswer when the object or row cannot be read
   */
  change(type: ChangeType, object: Buffer, cluster: string, columns: MemberColumns, version: string): Buffer {
    const at = skipSpace(object, 0);
    const members = membersOf(object, at);
    const rows = members.get('rows');
    const mark = { cluster, resourceVersion: version };
    if (rows === undefined || stringAt(object, members.get('kind')) !== 'Table') {
      return line(type, edited(object, markEdits(object, at, mark)));
    }
    const definitions = members.get('columnDefinitions');
    if (definitions !== undefined && object[definitions.start] === byte.openList) {
      columns.own = readColumns(object.subarray(definitions.start, definitions.end));
    }
    const spans = elementsOf(object, rows.start);
    const cut = spans.map(({ start, end }) => object.subarray(start, end));
    return this.#table(
      type,
      cut,
      cluster,
      columns,
      version,
      stringAt(object, members.get('apiVersion')) ?? tableVersion,
    );
  }

  /**
   * Makes an ADDED event from an item or row of a cluster's list. Items in lists of built-in types have no kind and
   * apiVersion, so those of `type` are written into them.
   */
  listed(
    item: Buffer,
    isRow: boolean,
    type: ObjectType,
    cluster: string,
    columns: MemberColumns,
    version: string,
  ): Buffer {
    if (isRow) return this.#table('ADDED', [item], cluster, columns, version, type.apiVersion);
    const at = skipSpace(item, 0);
    const edits = markEdits(item, at, { cluster, resourceVersion: version });
    const members = membersOf(item, at);
    const missing = (['kind', 'apiVersion'] as const).filter((key) => !members.has(key) && type[key] !== '');
    if (missing.length > 0) {
      const text = missing.map((key) => `${JSON.stringify(key)}:${JSON.stringify(type[key])}`).join();
      edits.push({ start: at + 1, end: at + 1, text: members.size > 0 ? `${text},` : text });
    }
    return line('ADDED', edited(item, edits));
  }

  #table(
    type: ChangeType,
    rows: readonly Buffer[],
    cluster: string,
    { own }: MemberColumns,
    version: string,
    apiVersion: string,
  ): Buffer {
    if (own !== undefined) this.learn(own);
    const columns = this.#columns;
    const order = own === undefined || columns === undefined ? undefined : cellOrder(own, columns);
    const mark = { cluster, resourceVersion: version };
    const merged = rows.map((row) => mergedRow(row, order, mark).toString('utf8'));
    const definitions = this.#definitionsSent || columns === undefined ? 'null' : mergedDefinitions(columns);
    if (columns !== undefined) this.#definitionsSent = true;
    const metadata = JSON.stringify({ resourceVersion: version });
    const head = `"kind":"Table","apiVersion":${JSON.stringify(apiVersion)},"metadata":${metadata}`;
    return line(type, Buffer.from(`{${head},"columnDefinitions":${definitions},"rows":[${merged.join()}]}`));
  }
}

const tableVersion = 'meta.k8s.io/v1';

function line(type: string, object: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, Buffer.from('}\n')]);
}

/** A BOOKMARK event with the merged resourceVersion. `isLast` marks the end of the initial events (KEP-3157). */
export function bookmarkLine(type: ObjectType, isTable: boolean, version: string, isLast: boolean): Buffer {
  const metadata = {
    resourceVersion: version,
    creationTimestamp: null,
    ...(isLast ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
  };
  const partial = { kind: 'PartialObjectMetadata', apiVersion: tableVersion, metadata };
  const object = isTable
    ? {
        kind: 'Table',
        apiVersion: tableVersion,
        metadata,
        columnDefinitions: null,
        rows: [{ cells: [], object: partial }],
      }
    : { ...type, metadata };
  return line('BOOKMARK', Buffer.from(JSON.stringify(object)));
}

/** An ERROR event, the last line of a watch that ends with an error. */
export function errorLine(statusJson: string): Buffer {
  return line('ERROR', Buffer.from(statusJson));
}
