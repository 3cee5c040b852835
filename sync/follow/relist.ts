// Compares a complete list of a type with the stored rows: writes rows that differ, and deletes rows that are not in
// the list. All pages show the same resourceVersion. When the member cluster answers 410 to a later page, the whole
// list is repeated, because half a list must not delete anything.
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { whyLeftOut } from '../../store/left-out.ts';
import { isOlder } from '../../kube/reflector/object-set.ts';
import type { IndexStore, RowWrite } from '../../store/store.ts';
import type { Incarnation, ObjectKey, TypeInfo } from '../../query/types.ts';
import { keyText, type Batcher } from './batch.ts';
import type { DocumentReader } from '../document/document.ts';
import { Pages } from '../../kube/pages.ts';
import { isVersion, readListItems, type ListHead } from './list-items.ts';
import { Expired, refusalOf } from '../member/member-faults.ts';
import { passes, typeName, typePath } from '../member/member-paths.ts';
import type { AskMember, SyncTiming, TypeFilter } from '../member/sync-types.ts';
import { parseLimited } from '../../lib/json/value-count.ts';

/** Items in one page of a list, as in client-go's pager. */
const pageSize = '500';
/** The most objects of one list. Their keys are in memory until its end, some 300 bytes each. */
const defaultMostObjects = 2_000_000;

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
  /** False when the index store certainly has no rows of this type, so that they need not be read. */
  readonly hasRows: boolean;
  /** True when rows must be written even if their resourceVersion is unchanged, because they have an old row format. */
  readonly rewrites: boolean;
  /** True when the index store is full: rows are not written, but rows that are not in the list are deleted. */
  readonly onlyDeletes: boolean;
  readonly onProgress: (done: number, of: number) => void;
  /** Called with each object of the list, changed or not. */
  readonly onObject?: ((object: Buffer) => void) | undefined;
  readonly now: () => number;
  /** The most objects of one list; two million by default. */
  readonly mostObjects?: number;
}

/** The result of a complete list. Its rows were added to a batch, and may not be committed yet. */
export interface Relisted {
  readonly resourceVersion: string;
  readonly objects: number;
  /** When the list was requested, in Unix milliseconds. The list shows the member cluster at that time or later. */
  readonly askedAtMs: number;
  /** The object of the list with the highest resourceVersion; undefined when the list is empty. */
  readonly newest: SeenObject | undefined;
}

interface Known {
  readonly namespace: string;
  readonly name: string;
  uid: string;
  resourceVersion: string;
  /** The number of the attempt in which this row was last in the list. */
  seen: number;
}

/**
 * Reads a complete list of the type from the cluster, and makes the stored rows equal to it.
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects); Expired when even a list without pages gets 410
 */
export async function relist(options: RelistOptions): Promise<Relisted> {
  const comparison = new Comparison(options);
  await comparison.readKept();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await wholeList(options, comparison, attempt);
    } catch (error) {
      // The second attempt lists without pages, as client-go's pager does, because pages could get 410 again.
      if (!(error instanceof Expired) || attempt > 1) throw error;
    }
  }
}

async function wholeList(options: RelistOptions, comparison: Comparison, attempt: number): Promise<Relisted> {
  const { reader, filter, type, mostObjects = defaultMostObjects } = options;
  const askedAtMs = options.now();
  const limit: Readonly<Record<string, string>> = attempt === 1 ? { limit: pageSize } : {};
  let objects = 0;
  let resourceVersion = '';
  let continueToken = '';
  const pages = new Pages();
  let newest: SeenObject | undefined;
  const take = async (item: Buffer): Promise<void> => {
    const row = reader.read(item);
    if (!passes(filter, type.namespaced, row)) return;
    objects += 1;
    if (objects > mostObjects) throw new MalformedAnswer(`a list of more than ${mostObjects} objects`);
    if (newest === undefined || isOlder(newest.resourceVersion, row.resourceVersion)) newest = seenOf(row);
    options.onObject?.(item);
    await comparison.write(row, attempt);
  };
  do {
    const head = await listPage(options, continueToken === '' ? limit : { ...limit, continue: continueToken }, take);
    resourceVersion ||= head.resourceVersion;
    continueToken = head.continueToken;
    options.onProgress(objects, objects + head.remaining);
    if (continueToken !== '') pages.follow(continueToken);
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
    // A list without pages may be a hundred times as long, and is read only as fast as the index store writes it.
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

/** Compares the stored rows of a type with the items of a list, and writes the differences. */
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

  /** Writes the row unless the index store already has it with the same resourceVersion. */
  async write(row: RowWrite, attempt: number): Promise<void> {
    const { batcher, rewrites, onlyDeletes } = this.#options;
    const { namespace, name, uid, resourceVersion } = row;
    const key = keyText(row);
    const before = this.#known.get(key);
    if (before === undefined) {
      // An object that no store can keep has no row to be deleted, and its key may be as long as the member likes.
      if (whyLeftOut(row) === undefined) this.#known.set(key, { namespace, name, uid, resourceVersion, seen: attempt });
    } else {
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
 * Reads the member cluster's present resourceVersion with a list of one object.
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

/** An object with the resourceVersion in which the member cluster showed it. */
export interface SeenObject extends ObjectKey {
  readonly resourceVersion: string;
}

/** The key and resourceVersion of a row; undefined when the row has no resourceVersion that a store can keep. */
export function seenOf({ namespace, name, resourceVersion }: SeenObject): SeenObject | undefined {
  return isVersion(resourceVersion) ? { namespace, name, resourceVersion } : undefined;
}

/**
 * Checks that the member cluster was not restored from a backup after an object was seen. A list at exactly the
 * resourceVersion of that object (resourceVersionMatch Exact, KEP-2523) must contain the object in that version. The
 * present resourceVersion of the cluster is not enough: after a restore it may have grown past the seen one.
 * @returns undefined when the cluster cannot tell, since API servers drop old versions after about five minutes
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
      // An API server that does not know `Exact` answers with the present version, which says nothing.
      return next.value.resourceVersion === resourceVersion ? found.includes(resourceVersion) : undefined;
    }
    const { metadata } = parseLimited(next.value) as { readonly metadata?: Partial<SeenObject> };
    if (metadata?.name === name) found.push(String(metadata.resourceVersion));
  }
}
