// Reads the hub's lists and watches: pages, events, objects, and the Status of an error. An object without name or uid
// could never be deleted from a cache again, so such an answer is refused as a whole and asked for again.
import { MalformedAnswer } from '../../lib/json/malformed-json.ts';
import type { HubObject } from './hub-types.ts';

/** One page of a list. */
export interface Page {
  readonly items: readonly HubObject[];
  readonly resourceVersion: string;
  /** '' on the last page. */
  readonly continueToken: string;
}

/** One line of a watch (apimachinery `metav1.WatchEvent`). */
export type WatchLine =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: HubObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | { readonly type: 'ERROR'; readonly status: StatusAnswer };

/** The parts of a `metav1.Status` a reflector decides by. */
export interface StatusAnswer {
  /** 0 when it says none. */
  readonly code: number;
  readonly reason: string;
}

type Json = Readonly<Record<string, unknown>>;

/** @throws MalformedAnswer */
export function readPage(body: Buffer): Page {
  const list = parse(body.toString('utf8'));
  const metadata = recordOf(list['metadata']);
  const resourceVersion = metadata?.['resourceVersion'];
  // Go writes an empty slice as null.
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

/** @throws MalformedAnswer */
export function readWatchLine(line: string): WatchLine {
  const { type, object } = parse(line);
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') return { type, object: readObject(object) };
  if (type === 'BOOKMARK') {
    const resourceVersion = recordOf(recordOf(object)?.['metadata'])?.['resourceVersion'];
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      throw new MalformedAnswer('a bookmark without resourceVersion');
    }
    return { type, resourceVersion };
  }
  if (type === 'ERROR') return { type, status: statusOf(recordOf(object)) };
  throw new MalformedAnswer('an event of an unknown type');
}

/** The Status in an error's body; code 0 when the body is anything else. */
export function readStatus(body: Buffer): StatusAnswer {
  try {
    return statusOf(parse(body.toString('utf8')));
  } catch {
    return { code: 0, reason: '' };
  }
}

function statusOf(status: Json | undefined): StatusAnswer {
  if (status?.['kind'] !== 'Status') return { code: 0, reason: '' };
  const { code, reason } = status;
  return { code: typeof code === 'number' ? code : 0, reason: typeof reason === 'string' ? reason : '' };
}

/**
 * The object without managedFields and without kubectl's copy of the whole object, which would show a Secret's data
 * among its annotations. Lists of built-in kinds leave out the kind of their items; it is filled in from the list.
 */
function readObject(value: unknown, kind?: string, apiVersion?: unknown): HubObject {
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
  } as unknown as HubObject;
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

function parse(text: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may be a Secret.
    throw new MalformedAnswer('text that is not JSON');
  }
  const record = recordOf(value);
  if (record === undefined) throw new MalformedAnswer('JSON that is not an object');
  return record;
}

function recordOf(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}
