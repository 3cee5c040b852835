// Splits the bytes of a list into its items while they arrive, so that a page is never held in memory as parsed
// objects. In lists of custom resources the metadata follows the items, so resourceVersion and continue token are known
// only at the end.
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { maxWatchLineBytes } from '../../lib/watch-lines.ts';
import { byte, malformed, skipSpace } from '../../lib/json/json-scan.ts';
import { isWordKept } from '../../store/left-out.ts';
import { ValueEnd } from '../../lib/json/value-end.ts';

/** The fields of a list answer except its items. */
export interface ListHead {
  readonly kind: string;
  readonly apiVersion: string;
  readonly resourceVersion: string;
  /** The `continue` token for the next page; '' on the last page. */
  readonly continueToken: string;
  /** `remainingItemCount`: how many items follow after this page; 0 when the API server does not say. */
  readonly remaining: number;
}

/**
 * Notices that the pages of a list repeat, so that the list would never end. Only one earlier token is kept, a later
 * one after each doubling of the number of pages (Brent's algorithm).
 */
export class Pages {
  #kept = '';
  #left = 1;
  #step = 1;

  /** To be called with the token of each page but the last. @throws MalformedAnswer when there was that page before */
  follow(continueToken: string): void {
    if (continueToken === this.#kept) throw new MalformedAnswer('a list whose pages repeat');
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#kept = continueToken;
    this.#step *= 2;
    this.#left = this.#step;
  }
}

export interface ListLimits {
  readonly maxItemBytes: number;
  /** Limit for everything except the items. A continue token is only a few hundred bytes long. */
  readonly maxHeadBytes: number;
}

const defaultLimits: ListLimits = { maxItemBytes: maxWatchLineBytes, maxHeadBytes: 1024 * 1024 };

/** Where the scan is: outside the list of items, between two items, or inside one. */
type Place = 'head' | 'between' | 'item';

/** The nesting of the JSON text at the position of the scan, kept from one chunk to the next. */
interface Nesting {
  depth: number;
  inString: boolean;
  isEscaped: boolean;
}

/**
 * Yields the bytes of each item and returns the other fields of the list. Of an item only the brackets are checked
 * here.
 * @throws MalformedAnswer when the bytes are not a list, end too early, or exceed a limit
 */
export async function* readListItems(
  chunks: AsyncIterable<Buffer>,
  { maxItemBytes, maxHeadBytes }: ListLimits = defaultLimits,
): AsyncGenerator<Buffer, ListHead, undefined> {
  const nesting: Nesting = { depth: 0, inString: false, isEscaped: false };
  let place: Place = 'head';
  const head = makeHead(maxHeadBytes);
  const item = new ValueEnd();
  let parts: Buffer[] = [];
  let partBytes = 0;
  for await (const chunk of chunks) {
    let i = 0;
    while (i < chunk.length) {
      if (place === 'head') {
        const after = scanHead(chunk, i, nesting, head);
        if (after === -1) break;
        place = 'between';
        i = after;
      } else if (place === 'between') {
        const c = chunk[i]!;
        if (c === byte.openObject) {
          head.take(zero);
          item.begin(c);
          place = 'item';
        } else {
          if (c === byte.closeList) {
            nesting.depth -= 1;
            place = 'head';
          } else if (c !== byte.comma && skipSpace(chunk, i) === i) throw malformed();
          head.take(chunk.subarray(i, i + 1));
          i += 1;
        }
      } else {
        const after = item.find(chunk, i);
        const part = chunk.subarray(i, after === -1 ? chunk.length : after);
        parts.push(part);
        partBytes += part.length;
        if (partBytes > maxItemBytes) throw new MalformedAnswer(`an item is longer than ${maxItemBytes} bytes`);
        if (after === -1) break;
        yield parts.length === 1 ? part : Buffer.concat(parts);
        parts = [];
        partBytes = 0;
        place = 'between';
        i = after;
      }
    }
  }
  return readHead(head.bytes());
}

/** The nesting depth inside the array `items`, which is a member of the outermost object. */
const depthOfItems = 2;

/**
 * Collects the bytes outside the items, with `0` in place of each item. The result is a small JSON document that can be
 * parsed as a whole.
 */
interface Head {
  take(bytes: Buffer): void;
  /** Marks that the next bytes start with a string of the outermost object. */
  beginString(): void;
  /** Marks that the string has ended with the last bytes. */
  endString(): void;
  /** The last string of the outermost object. When an array follows, it is the key of that array. */
  lastString(): string;
  bytes(): Buffer;
}

function makeHead(maxBytes: number): Head {
  let taken: Buffer[] = [];
  let size = 0;
  let from = 0;
  let last = '';
  const join = (): Buffer => {
    const joined = taken.length === 1 ? taken[0]! : Buffer.concat(taken);
    taken = [joined];
    return joined;
  };
  return {
    take(bytes) {
      size += bytes.length;
      if (size > maxBytes) throw new MalformedAnswer('a list whose metadata is too long');
      if (bytes.length > 0) taken.push(bytes);
    },
    beginString() {
      from = size;
    },
    endString() {
      last = join().toString('utf8', from);
    },
    lastString: () => last,
    bytes: join,
  };
}

/** Scans until the array `items` opens. Returns the position after its bracket; -1 when the chunk ends before. */
function scanHead(chunk: Buffer, at: number, nesting: Nesting, head: Head): number {
  let from = at;
  for (let i = at; i < chunk.length; i += 1) {
    const c = chunk[i]!;
    if (nesting.inString) {
      if (nesting.isEscaped) nesting.isEscaped = false;
      else if (c === byte.backslash) nesting.isEscaped = true;
      else if (c === byte.quote) {
        nesting.inString = false;
        if (nesting.depth === 1) {
          head.take(chunk.subarray(from, i + 1));
          head.endString();
          from = i + 1;
        }
      }
    } else if (c === byte.quote) {
      nesting.inString = true;
      if (nesting.depth === 1) {
        head.take(chunk.subarray(from, i));
        head.beginString();
        from = i;
      }
    } else if (c === byte.openObject || c === byte.openList) {
      nesting.depth += 1;
      if (nesting.depth === depthOfItems && c === byte.openList && head.lastString() === '"items"') {
        head.take(chunk.subarray(from, i + 1));
        return i + 1;
      }
    } else if (c === byte.closeObject || c === byte.closeList) nesting.depth -= 1;
  }
  head.take(chunk.subarray(from));
  return -1;
}

/** Whether a watch can be resumed from a resourceVersion, also by another process, to which it comes by the store. */
export function isVersion(resourceVersion: string): boolean {
  return resourceVersion !== '' && isWordKept(resourceVersion);
}

const zero = Buffer.from('0');

function readHead(bytes: Buffer): ListHead {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw malformed();
  }
  if (typeof value !== 'object' || value === null || !('metadata' in value))
    throw new MalformedAnswer('text that is not a list');
  const { kind, apiVersion, metadata, items = [] } = value as Readonly<Record<string, unknown>>;
  const {
    resourceVersion,
    continue: token,
    remainingItemCount,
  } = (metadata ?? {}) as Readonly<Record<string, unknown>>;
  // An API server may send null for an empty list, since Go encodes a nil slice as null.
  if (typeof resourceVersion !== 'string' || !isVersion(resourceVersion) || (items !== null && !Array.isArray(items))) {
    throw new MalformedAnswer('a list without resourceVersion or items');
  }
  return {
    kind: typeof kind === 'string' ? kind : '',
    apiVersion: typeof apiVersion === 'string' ? apiVersion : '',
    resourceVersion,
    continueToken: typeof token === 'string' ? token : '',
    remaining: typeof remainingItemCount === 'number' ? remainingItemCount : 0,
  };
}
