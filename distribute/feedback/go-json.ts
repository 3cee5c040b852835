// Writes JSON exactly as Go's encoding/json does, because OCM's agents write feedback values with it.
import { goNumber } from '../../lib/json/exact-json.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';

/** Fewest bytes of a key with its value: `"":1,`. */
const leastOfEntry = 5;

/**
 * A value of JSON as Go's json.Marshal writes it: keys sorted by their bytes, and `<`, `>` and `&` escaped, as Go does
 * so that JSON can be put into HTML.
 * @returns undefined when the JSON is longer than `mostBytes` bytes of UTF-8; writing stops soon after the limit
 */
export function goJson(value: unknown, mostBytes: number): string | undefined {
  const parts: string[] = [];
  let left = mostBytes;
  const put = (text: string): boolean => {
    left -= Buffer.byteLength(text);
    parts.push(text);
    return left >= 0;
  };
  const write = (each: unknown): boolean => {
    if (Array.isArray(each))
      return put('[') && each.every((item, i) => (i === 0 || put(',')) && write(item)) && put(']');
    if (isJsonObject(each)) {
      const keys = Object.keys(each);
      if (keys.length * leastOfEntry > left + 1) return false;
      const sorted = keys
        .map((key) => [Buffer.from(key), key] as const)
        .toSorted(([one], [other]) => Buffer.compare(one, other))
        .map(([, key]) => key);
      const entry = (key: string, i: number): boolean =>
        (i === 0 || put(',')) && put(textOf(key)) && put(':') && write(each[key]);
      return put('{') && sorted.every(entry) && put('}');
    }
    if (typeof each === 'string') return each.length <= left && put(textOf(each));
    if (typeof each === 'number' || typeof each === 'bigint') return put(String(goNumber(each)));
    return put(JSON.stringify(each));
  };
  return write(value) ? parts.join('') : undefined;
}

/** Writes a string. A lone surrogate is written as U+FFFD, as in Go. */
function textOf(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
