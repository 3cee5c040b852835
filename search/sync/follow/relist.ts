// A whole list of a type against the rows that are kept: only what differs is written, what is gone is deleted. Pages
// of one list show one moment. When the member forgets it in the middle, the whole list starts over: nothing may be
// deleted by half a list.
import { isOlder } from '../../../cache/hub/object-set.ts';
import type { IndexStore, RowWrite } from '../../stores/store.ts';
import type { Incarnation, ObjectKey, TypeInfo } from '../../types.ts';
import { keyText, type Batcher } from './batch.ts';
import type { DocumentReader } from '../document/document.ts';
import { readListItems, type ListHead } from './list-items.ts';
import { Expired, refusalOf } from '../member-faults.ts';
import { passes, typeName, typePath } from '../member-paths.ts';
import type { AskMember, SyncTiming, TypeFilter } from '../sync-types.ts';

/** As client-go's pager. */
const pageSize = '500';

export interface RelistOptions {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  readonly filter: TypeFilter;
  readonly ask: AskMember;
  readonly reader: DocumentReader;
  readonly store: Pick<IndexStore, 'versions'>;
  readonly batcher: Batcher;
  readonly timing: Pick<SyncTiming, 'headTimeoutMs' | 'listTimeoutMs'>;
  readonly signal: AbortSignal;
  /** Rows there may be; without any the store is not asked. */
  readonly hasRows: boolean;
  /** Rows of these versions are written again, too: they are kept in another form than is wanted now. */
  readonly rewrites: boolean;
  /** Rows are not written; what is gone is deleted all the same. For a store that is full. */
  readonly onlyDeletes: boolean;
  readonly onProgress: (done: number, of: number) => void;
  /** Each object that is there, changed or not. */
  readonly onObject?: ((object: Buffer) => void) | undefined;
  readonly now: () => number;
}

/** What a whole list has shown. Its rows are given to the batcher, not yet committed. */
export interface Relisted {
  readonly resourceVersion: string;
  readonly objects: number;
  /** Unix milliseconds; the list shows the member as it was then, or later. */
  readonly askedAtMs: number;
  /** The object that changed last. */
  readonly newest: SeenObject | undefined;
}

interface Known {
  readonly namespace: string;
  readonly name: string;
  uid: string;
  resourceVersion: string;
  /** Which try has seen it last. */
  seen: number;
}

/**
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects); Expired when a list without pages is too old at once
 */
export async function relist(options: RelistOptions): Promise<Relisted> {
  const comparison = new Comparison(options);
  await comparison.readKept();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await wholeList(options, comparison, attempt);
    } catch (error) {
      // Second time in one piece, as client-go's pager: pages would be forgotten again.
      if (!(error instanceof Expired) || attempt > 1) throw error;
    }
  }
}

async function wholeList(options: RelistOptions, comparison: Comparison, attempt: number): Promise<Relisted> {
  const { reader, filter, type } = options;
  const askedAtMs = options.now();
  const limit: Readonly<Record<string, string>> = attempt === 1 ? { limit: pageSize } : {};
  let objects = 0;
  let resourceVersion = '';
  let continueToken = '';
  let newest: SeenObject | undefined;
  const take = async (item: Buffer): Promise<void> => {
    const row = reader.read(item);
    if (!passes(filter, type.namespaced, row)) return;
    objects += 1;
    if (newest === undefined || isOlder(newest.resourceVersion, row.resourceVersion)) newest = seenOf(row);
    options.onObject?.(item);
    await comparison.write(row, attempt);
  };
  do {
    const head = await listPage(options, continueToken === '' ? limit : { ...limit, continue: continueToken }, take);
    resourceVersion ||= head.resourceVersion;
    continueToken = head.continueToken;
    options.onProgress(objects, objects + head.remaining);
  } while (continueToken !== '');
  await comparison.removeUnseen(attempt);
  return { resourceVersion, objects, askedAtMs, newest };
}

async function listPage(
  { ask, type, filter, timing, signal, incarnation }: RelistOptions,
  query: Readonly<Record<string, string>>,
  take: (item: Buffer) => Promise<void>,
): Promise<ListHead> {
  const answer = await ask({
    path: typePath(type, filter, query),
    headTimeoutMs: timing.headTimeoutMs,
    // A list in one piece may be a hundred pages long, and is read no faster than the store takes it.
    wholeTimeoutMs: timing.listTimeoutMs * (query['limit'] === undefined ? 10 : 1),
    signal,
  });
  if (answer.status !== 200) throw await refusalOf(answer, incarnation.cluster, `list of ${typeName(type)}`);
  try {
    const items = readListItems(answer.chunks);
    for (;;) {
      const next = await items.next();
      if (next.done === true) return next.value;
      await take(next.value);
    }
  } finally {
    answer.cancel();
  }
}

/** The rows that are kept beside those of a list. */
class Comparison {
  readonly #options: RelistOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: RelistOptions) {
    this.#options = options;
  }

  async readKept(): Promise<void> {
    const { hasRows, store, incarnation, type } = this.#options;
    if (!hasRows) return;
    for (const row of await store.versions(incarnation.id, type)) {
      const { namespace, name, uid, resourceVersion } = row;
      this.#known.set(keyText(row), { namespace, name, uid, resourceVersion, seen: 0 });
    }
  }

  /** Writes a row unless the same is kept. */
  async write(row: RowWrite, attempt: number): Promise<void> {
    const { batcher, rewrites, onlyDeletes } = this.#options;
    const { namespace, name, uid, resourceVersion } = row;
    const key = keyText(row);
    const before = this.#known.get(key);
    if (before === undefined) this.#known.set(key, { namespace, name, uid, resourceVersion, seen: attempt });
    else {
      before.seen = attempt;
      const isSame = before.uid === uid && before.resourceVersion === resourceVersion && resourceVersion !== '';
      if (isSame && !rewrites) return;
      before.uid = uid;
      before.resourceVersion = resourceVersion;
    }
    if (!onlyDeletes) await batcher.put(row);
  }

  async removeUnseen(attempt: number): Promise<void> {
    for (const { namespace, name, seen } of this.#known.values()) {
      if (seen !== attempt) await this.#options.batcher.remove({ namespace, name });
    }
  }
}

/**
 * The member's resourceVersion of now, by a list of one object.
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects)
 */
export async function currentVersion(
  options: Pick<RelistOptions, 'ask' | 'incarnation' | 'type' | 'filter' | 'timing' | 'signal'>,
): Promise<string> {
  const { type, filter, timing } = options;
  const answer = await options.ask({
    path: typePath(type, filter, { limit: '1' }),
    headTimeoutMs: timing.headTimeoutMs,
    wholeTimeoutMs: timing.headTimeoutMs,
    signal: options.signal,
  });
  if (answer.status !== 200) throw await refusalOf(answer, options.incarnation.cluster, `list of ${typeName(type)}`);
  const items = readListItems(answer.chunks);
  for (;;) {
    const next = await items.next();
    if (next.done === true) return next.value.resourceVersion;
  }
}

/** An object as the member had it at that version. */
export interface SeenObject extends ObjectKey {
  readonly resourceVersion: string;
}

/** Of a row; undefined when it has no version. */
export function seenOf({ namespace, name, resourceVersion }: SeenObject): SeenObject | undefined {
  return resourceVersion === '' ? undefined : { namespace, name, resourceVersion };
}

/**
 * Whether the member's past is the one that was followed: an object that was seen with some version must have it in a
 * list of that very version (resourceVersionMatch Exact, KEP-2523). A member that was set back, and has got further
 * than where it was followed to before it is asked, shows other objects there; by its version of now it could not be
 * told.
 * @returns undefined when it cannot be said: API servers forget versions after five minutes or so
 */
export async function hadThen(
  options: Pick<RelistOptions, 'ask' | 'type' | 'filter' | 'timing' | 'signal'>,
  { namespace, name, resourceVersion }: SeenObject,
): Promise<boolean | undefined> {
  const { type, filter, timing } = options;
  const only = { ...filter, names: [name], ...(type.namespaced ? { namespaces: [namespace] } : {}) };
  const answer = await options.ask({
    path: typePath(type, only, { resourceVersion, resourceVersionMatch: 'Exact', limit: '1' }),
    headTimeoutMs: timing.headTimeoutMs,
    wholeTimeoutMs: timing.headTimeoutMs,
    signal: options.signal,
  });
  if (answer.status !== 200) {
    answer.cancel();
    return undefined;
  }
  const found: string[] = [];
  const items = readListItems(answer.chunks);
  for (;;) {
    const next = await items.next();
    if (next.done === true) {
      // A server that does not know Exact answers with what it has now.
      return next.value.resourceVersion === resourceVersion ? found.includes(resourceVersion) : undefined;
    }
    const { metadata } = JSON.parse(next.value.toString('utf8')) as { readonly metadata?: Partial<SeenObject> };
    if (metadata?.name === name) found.push(String(metadata.resourceVersion));
  }
}
