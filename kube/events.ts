// Parses the hub's answers: pages of lists, watch events and objects. An object without name or uid
// could not be matched with its later events, so an answer that contains one is rejected as a whole.
import { isJsonObject, type JsonObject } from '../lib/objects/json-object.ts';
import { MalformedAnswer } from '../lib/json/json-scan.ts';
import { refuseManyValues } from '../lib/json/value-count.ts';
import { statusOf, type StatusAnswer } from './status.ts';
import type { ApiObject } from './types.ts';
import { parseExact } from '../lib/json/exact-json.ts';

/** One page of a paged list. */
export interface Page {
  readonly items: readonly ApiObject[];
  readonly resourceVersion: string;
  /** The `continue` token for the next page; '' on the last page. */
  readonly continueToken: string;
}

/** One line of a watch (apimachinery `metav1.WatchEvent`). */
export type WatchLine =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: ApiObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | { readonly type: 'ERROR'; readonly status: Pick<StatusAnswer, 'code' | 'reason'> };

/**
 * Parses the body of a list answer. @throws MalformedAnswer when the body is not a list of objects with a
 * resourceVersion
 */
export function readPage(body: Buffer): Page {
  const list = parse(body.toString('utf8'));
  const metadata = recordOf(list['metadata']);
  const resourceVersion = metadata?.['resourceVersion'];
  // An API server encodes an empty list as null, since Go does so with an empty slice.
  const items = list['items'] ?? [];
  if (typeof resourceVersion !== 'string' || resourceVersion === '' || !Array.isArray(items)) {
    throw new MalformedAnswer('a list without resourceVersion or items');
  }
  const { kind, apiVersion } = list;
  const itemKind = typeof kind === 'string' && kind.endsWith('List') ? kind.slice(0, -'List'.length) : undefined;
  const token = metadata?.['continue'];
  return {
    items: items.map((item) => readObject(item, itemKind, apiVersion)),
    resourceVersion,
    continueToken: typeof token === 'string' ? token : '',
  };
}

/** Parses one line of a watch. @throws MalformedAnswer when the line is not a known event */
export function readWatchLine(line: Buffer): WatchLine {
  refuseManyValues(line);
  const { type, object } = parse(line.toString('utf8'));
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') return { type, object: readObject(object) };
  if (type === 'BOOKMARK') {
    const resourceVersion = recordOf(recordOf(object)?.['metadata'])?.['resourceVersion'];
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      throw new MalformedAnswer('a bookmark without resourceVersion');
    }
    return { type, resourceVersion };
  }
  if (type === 'ERROR') {
    const { code, reason } = statusOf(object);
    return { type, status: { code, reason } };
  }
  throw new MalformedAnswer('an event of an unknown type');
}

/**
 * Returns the object without managedFields and without kubectl's last-applied annotation, which may contain the data of
 * a Secret. Items in lists of built-in kinds have no `kind` and `apiVersion`. For them the caller passes the kind of
 * the items and the `apiVersion` of the list.
 */
function readObject(value: unknown, kind?: string, apiVersion?: unknown): ApiObject {
  const object = recordOf(value);
  const metadata = recordOf(object?.['metadata']);
  if (object === undefined || metadata === undefined) throw new MalformedAnswer('an object without metadata');
  for (const field of ['name', 'uid', 'resourceVersion']) {
    const text = metadata[field];
    if (typeof text !== 'string' || text === '') throw new MalformedAnswer(`an object without ${field}`);
  }
  const { managedFields: _, annotations, ...kept } = metadata;
  const shown = recordOf(annotations);
  const { [lastApplied]: __, ...others } = shown ?? {};
  const typed = kind === undefined ? {} : { kind, apiVersion };
  return {
    ...typed,
    ...object,
    metadata: { ...kept, ...(shown === undefined ? {} : { annotations: others }) },
  } as unknown as ApiObject;
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

function parse(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    // The message of JSON.parse quotes the text, which may be a Secret.
    throw new MalformedAnswer('text that is not JSON');
  }
  const record = recordOf(value);
  if (record === undefined) throw new MalformedAnswer('JSON that is not an object');
  return record;
}

function recordOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}
