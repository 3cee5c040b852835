// Recognises a question for one object by its complete key. Stores look such an object up without planning a query.
import type { ListQuery } from '../query/list-query.ts';
import { typeKey } from '../query/types.ts';
import type { Page, PageRequest, ReadPoint, RowRead } from './store.ts';

/** The key of one object. Without a namespace: the object of this name in any namespace. */
export interface Point {
  readonly type: string;
  readonly cluster: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

/** The single object that a query names. Undefined when the query may match several objects or has other conditions. */
export function pointOf(query: ListQuery, { limit, offset = 0, after }: PageRequest): Point | undefined {
  const { types, clusters, namespaces, names } = query;
  if (types.length !== 1 || clusters?.length !== 1 || names?.length !== 1) return undefined;
  if (namespaces !== undefined && namespaces.length !== 1) return undefined;
  if (limit === 0 || offset !== 0 || after !== undefined) return undefined;
  const { nameContains, text, labels, fields, anyOf, notClusters, notNamespaces, notNames } = query;
  const conditions = [nameContains, text, labels, fields, anyOf, notClusters, notNamespaces, notNames];
  if (conditions.some((some) => some !== undefined && some.length > 0)) return undefined;
  const { uids, owner, where, createdSinceMs, createdBeforeMs } = query;
  if ([uids, owner, where, createdSinceMs, createdBeforeMs].some((one) => one !== undefined)) return undefined;
  const [name, namespace] = [names[0]!, namespaces?.[0]];
  // No stored text is invalid UTF-16, but as UTF-8 such a text could equal a stored one (U+FFFD).
  if (!name.isWellFormed() || namespace?.isWellFormed() === false) return undefined;
  return { type: typeKey(types[0]!), cluster: clusters[0]!, namespace, name };
}

/** Makes a page of the one object that was looked up by its key, or of no object. */
export function pointPage(rows: readonly RowRead[], at: ReadPoint, withRemaining = false): Page {
  const chunks = async function* (): AsyncGenerator<readonly RowRead[]> {
    if (rows.length > 0) yield rows;
  };
  return {
    ...at,
    next: undefined,
    remaining: withRemaining ? 0 : undefined,
    chunks: { [Symbol.asyncIterator]: chunks },
  };
}
