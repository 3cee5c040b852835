// Reads the JSON of a token so that it has only one meaning. JSON.parse keeps the last of equal names while others keep
// the first, and sets `__proto__` on objects; here equal names are a fault and objects are Maps.

/** What JSON can say. Objects are Maps, so that no name means anything to JavaScript. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = ReadonlyMap<string, JsonValue>;

const maxDepth = 32;
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literals: readonly (readonly [string, null | boolean])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** True for an object of {@link readStrictJson}. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return value instanceof Map;
}

/**
 * The value, or undefined when the source is no JSON, repeats a name, nests too deep, or has a number that is none in
 * JavaScript.
 */
export function readStrictJson(source: string): JsonValue | undefined {
  return new StrictReader(source).readAll();
}

class StrictReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  readAll(): JsonValue | undefined {
    const value = this.#readValue(0);
    this.#skipSpace();
    return this.#at === this.#source.length ? value : undefined;
  }

  #readValue(depth: number): JsonValue | undefined {
    if (depth > maxDepth) return undefined;
    if (this.#take('{')) return this.#readObject(depth + 1);
    if (this.#take('[')) return this.#readList(depth + 1);
    if (this.#source[this.#at] === '"') return this.#readText();
    if (this.#source.charCodeAt(this.#at) > 0x39) return this.#readLiteral();
    const found = this.#match(numeral);
    if (found === undefined || found === '') return undefined;
    const value = Number(found);
    return Number.isFinite(value) ? value : undefined;
  }

  #readObject(depth: number): JsonObject | undefined {
    const members = new Map<string, JsonValue>();
    if (this.#take('}')) return members;
    do {
      this.#skipSpace();
      const name = this.#readText();
      if (name === undefined || members.has(name) || !this.#take(':')) return undefined;
      const value = this.#readValue(depth);
      if (value === undefined) return undefined;
      members.set(name, value);
    } while (this.#take(','));
    return this.#take('}') ? members : undefined;
  }

  #readList(depth: number): readonly JsonValue[] | undefined {
    const items: JsonValue[] = [];
    if (this.#take(']')) return items;
    do {
      const value = this.#readValue(depth);
      if (value === undefined) return undefined;
      items.push(value);
    } while (this.#take(','));
    return this.#take(']') ? items : undefined;
  }

  #readText(): string | undefined {
    const found = this.#match(text);
    if (found === undefined) return undefined;
    return found.includes('\\') ? (JSON.parse(found) as string) : found.slice(1, -1);
  }

  #readLiteral(): null | boolean | undefined {
    for (const [word, value] of literals) {
      if (!this.#source.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return undefined;
  }

  /** What the sticky pattern finds here. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#source)) return undefined;
    const start = this.#at;
    this.#at = pattern.lastIndex;
    return this.#source.slice(start, this.#at);
  }

  #take(character: string): boolean {
    this.#skipSpace();
    if (this.#source[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  /** No pattern: a token is read before its signature is checked, and may hold tens of thousands of spaces. */
  #skipSpace(): void {
    for (;;) {
      const code = this.#source.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }
}
