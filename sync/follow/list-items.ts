// Reads a list of a member item by item while it arrives, so that a page is never held in memory as parsed objects. In
// lists of custom resources the metadata follows the items, so resourceVersion and continue token are known only at the
// end.
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { ListCutter } from '../../lib/json/list-cutter.ts';
import { fieldOf, textAt } from '../../lib/objects/json-object.ts';
import { isWordKept } from '../../store/left-out.ts';
import { parseLimited } from '../../lib/json/value-count.ts';

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
 * Yields the bytes of each item and returns the other fields of the list. Of an item only the brackets are checked
 * here.
 * @throws MalformedAnswer when the bytes are not a list, end too early, or exceed a limit
 */
export async function* readListItems(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, ListHead, undefined> {
  const cutter = new ListCutter();
  const head = new Map<string, Buffer>();
  for await (const chunk of chunks) {
    const { fields, items } = cutter.push(chunk);
    for (const [name, value] of fields) head.set(name, value);
    yield* items;
  }
  cutter.finish();
  return readHead(head);
}

/**
 * Whether a watch can be resumed from a resourceVersion. The index store must be able to keep it, since another process
 * may read it there and resume the watch.
 */
export function isVersion(resourceVersion: string): boolean {
  return resourceVersion !== '' && isWordKept(resourceVersion);
}

function readHead(fields: ReadonlyMap<string, Buffer>): ListHead {
  const read = (name: string): unknown => parseLimited(fields.get(name) ?? Buffer.from('null'));
  const metadata = read('metadata');
  const resourceVersion = textAt(metadata, 'resourceVersion');
  if (!isVersion(resourceVersion)) throw new MalformedAnswer('a list without resourceVersion');
  const remaining = fieldOf(metadata, 'remainingItemCount');
  return {
    kind: textAt(read('kind')),
    apiVersion: textAt(read('apiVersion')),
    resourceVersion,
    continueToken: textAt(metadata, 'continue'),
    remaining: typeof remaining === 'number' ? remaining : 0,
  };
}
