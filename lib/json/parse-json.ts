// JSON.parse without a fault of V8 that changes keys. In Node 26.10, a key with an escape sequence may be read as a key
// of an object that was parsed earlier: after `{"a":1,"x\\":1}`, the key `x"` of `{"a":1,"x\"":1}` is read as `x\`. The
// bytes of the key are compared with known keys before they are decoded. So only keys that are written with a backslash
// can be taken for another, and only for one that holds a backslash.

const backslash = 0x5c;
const quote = 0x22;

/** Makes a number of the text of a JSON number. */
export type NumberOf = (source: string) => unknown;

/** The value of JSON.parse. @throws SyntaxError when the text is not JSON */
export function parseJson(text: string): unknown {
  return hasEscapedKey(text) ? parseEscaped(text, Number) : (JSON.parse(text) as unknown);
}

/** Whether a key of an object in the JSON text is written with an escape sequence. */
export function hasEscapedKey(text: string): boolean {
  if (!text.includes('\\')) return false;
  let isText = false;
  let isEscaped = false;
  for (let i = 0; i < text.length; i += 1) {
    const c = text.charCodeAt(i);
    if (!isText) {
      isText = c === quote;
      isEscaped = false;
    } else if (c === backslash) {
      isEscaped = true;
      i += 1;
    } else if (c === quote) {
      isText = false;
      if (isEscaped && text[skipSpace(text, i + 1)] === ':') return true;
    }
  }
  return false;
}

/**
 * Parses JSON as JSON.parse does, for texts with escaped keys. It does not call itself, so that deep JSON does not
 * overflow the stack.
 * @throws SyntaxError when the text is not JSON
 */
export function parseEscaped(text: string, numberOf: NumberOf): unknown {
  // Checks the grammar, so that what follows may rely on it. The value is not used.
  JSON.parse(text);
  const open: { readonly container: object; readonly key: string }[] = [];
  let container: object | undefined;
  let key = '';
  let i = 0;
  for (;;) {
    i = skipSpace(text, i);
    const c = text[i];
    let value: unknown;
    if (c === '{' || c === '[') {
      if (container !== undefined) open.push({ container, key });
      container = c === '{' ? {} : [];
      i = skipSpace(text, i + 1);
      if (text[i] !== '}' && text[i] !== ']') {
        if (c === '{') [key, i] = readKey(text, i);
        continue;
      }
      // An empty container ends below, as any other.
    } else {
      const end = scalarEnd(text, i);
      value = scalarOf(text.slice(i, end), numberOf);
      i = skipSpace(text, end);
      if (container === undefined) return value;
      put(container, key, value);
    }
    while (text[i] === '}' || text[i] === ']') {
      const ended = container!;
      const outer = open.pop();
      if (outer === undefined) return ended;
      ({ container, key } = outer);
      put(container, key, ended);
      i = skipSpace(text, i + 1);
    }
    // A comma: the next element, or the next key.
    i = skipSpace(text, i + 1);
    if (!Array.isArray(container)) [key, i] = readKey(text, i);
  }
}

/** Sets a field as JSON.parse does: also `__proto__` becomes a field of the object itself. */
function put(container: object, key: string, value: unknown): void {
  if (Array.isArray(container)) container.push(value);
  else if (key === '__proto__')
    Object.defineProperty(container, key, { value, writable: true, enumerable: true, configurable: true });
  else (container as Record<string, unknown>)[key] = value;
}

/** The key that begins at `at`, and the position behind its colon. */
function readKey(text: string, at: number): readonly [key: string, next: number] {
  const end = stringEnd(text, at);
  return [JSON.parse(text.slice(at, end)) as string, skipSpace(text, end) + 1];
}

function scalarOf(source: string, numberOf: NumberOf): unknown {
  const c = source[0]!;
  return c === '-' || (c >= '0' && c <= '9') ? numberOf(source) : (JSON.parse(source) as unknown);
}

function scalarEnd(text: string, at: number): number {
  if (text.charCodeAt(at) === quote) return stringEnd(text, at);
  let end = at;
  while (end < text.length && !',]} \n\r\t'.includes(text[end]!)) end += 1;
  return end;
}

function stringEnd(text: string, at: number): number {
  let end = at + 1;
  for (; text.charCodeAt(end) !== quote; end += 1) if (text.charCodeAt(end) === backslash) end += 1;
  return end + 1;
}

function skipSpace(text: string, at: number): number {
  let i = at;
  while (text[i] === ' ' || text[i] === '\n' || text[i] === '\r' || text[i] === '\t') i += 1;
  return i;
}
