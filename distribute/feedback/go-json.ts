// Writes JSON as Go's encoding/json does, byte for byte: agents of Open Cluster Management report values so.
import { goNumber } from '../../lib/json/exact-json.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';

/** Fewest bytes of a key with its value: `"":1,`. */
const leastOfEntry = 5;

/**
 * A value of JSON as Go's json.Marshal writes it: keys in the order of their bytes, and escapes for what HTML could
 * take for its own.
 * @returns undefined when it has more bytes of UTF-8; little more than these is written then
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

/** Go writes U+FFFD for half a pair of UTF-16 units. */
function textOf(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
