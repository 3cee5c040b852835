// Memory of what was used last, which starts empty and grows with what it holds. Easy to get wrong: LRUCache given
// `max` sets aside room for all of it at once (34 ms for 200,000 entries, measured), which every start would pay for
// what nobody has asked yet; so the number is bounded here.
import { LRUCache } from 'lru-cache';

/** What bounds one memory; what was used longest ago goes first. */
export interface RecentLimits {
  readonly maxEntries: number;
  /** Characters of all keys together; a key that is longer alone is not remembered. */
  readonly maxKeyLength?: number;
}

/** Values by key. */
export interface Recent<Value> {
  /** The value, which now was used last. */
  get(key: string): Value | undefined;
  /** The value. Reading it this way does not count as a use. */
  peek(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  clear(): void;
}

/** An empty one. */
export function makeRecent<Value extends object | number>({ maxEntries, maxKeyLength }: RecentLimits): Recent<Value> {
  // Without a bound for keys the size is the number.
  const entries = new LRUCache<string, Value>({
    maxSize: maxKeyLength ?? maxEntries,
    sizeCalculation: maxKeyLength === undefined ? () => 1 : (_value, key) => key.length + 1,
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
