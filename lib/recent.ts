// A least-recently-used cache that begins empty and grows as entries are added. Easy to get wrong: LRUCache with the
// option `max` allocates memory for all entries at once (34 ms for 200,000 entries, measured), at every start of the
// process. So this file limits the number of entries itself.
import { LRUCache } from 'lru-cache';

/** Limits of one cache. When one of them is exceeded, the least recently used entries are removed. */
export interface RecentLimits<Value = never> {
  readonly maxEntries: number;
  /**
   * Maximum number of characters of all keys together; an entry whose key alone is longer is not stored. Undefined for
   * no limit.
   */
  readonly maxKeyLength?: number;
  /** How many characters a value counts beside its key, towards `maxKeyLength`; none by default. */
  readonly sizeOf?: (value: Value) => number;
}

/** A cache of values by key. */
export interface Recent<Value> {
  /** The value of a key, which counts as a use; undefined when it is not in the cache. */
  get(key: string): Value | undefined;
  /** The value of a key, without counting as a use; undefined when it is not in the cache. */
  peek(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  clear(): void;
}

/** Makes an empty cache. */
export function makeRecent<Value extends object | number>(limits: RecentLimits<Value>): Recent<Value> {
  const { maxEntries, maxKeyLength, sizeOf = () => 0 } = limits;
  // Without a limit for key characters, each entry has size 1.
  const entries = new LRUCache<string, Value>({
    maxSize: maxKeyLength ?? maxEntries,
    sizeCalculation: maxKeyLength === undefined ? () => 1 : (value, key) => key.length + 1 + sizeOf(value),
  });
  return {
    get: (key) => entries.get(key),
    peek: (key) => entries.peek(key),
    set: (key, value) => {
      entries.set(key, value);
      if (entries.size > maxEntries) entries.pop();
    },
    delete: (key) => void entries.delete(key),
    clear: () => entries.clear(),
  };
}
