// `LIKE` of PostgreSQL: `%` stands for any text, `_` for one character, and a backslash takes the next character
// literally. A part of the pattern between two `%` is searched once, from where the part before it ended.

/** The characters of a part of a pattern between two `%`; undefined stands for `_`. */
type Part = readonly (string | undefined)[];

/** The parts of a pattern; it must not end with a single backslash. */
function partsOf(pattern: string): readonly [Part, ...Part[]] {
  const parts: [(string | undefined)[], ...(string | undefined)[][]] = [[]];
  const chars = [...pattern];
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]!;
    if (char === '%') parts.push([]);
    else if (char === '_') parts.at(-1)!.push(undefined);
    else parts.at(-1)!.push(char === '\\' ? chars[++at] : char);
  }
  return parts;
}

/**
 * The characters that are compared at each place of a text: those of the parts with `_` between two `%`. All other
 * parts are compared at one place only, or searched as one text.
 */
export function searchedCharacters(pattern: string): number {
  const between = partsOf(pattern).slice(1, -1);
  return between.reduce((sum, part) => sum + (part.includes(undefined) ? part.length : 0), 0);
}

/** A test whether a text matches a pattern. @param ignoresCase as `ILIKE` does */
export function likeTest(pattern: string, ignoresCase: boolean): (text: string) => boolean {
  const [first, ...rest] = partsOf(ignoresCase ? pattern.toLowerCase() : pattern);
  const last = rest.pop();
  const searches = rest.map(searchOf);
  return (given) => {
    const text = ignoresCase ? given.toLowerCase() : given;
    let at = endOf(first, text, 0);
    if (last === undefined) return at === text.length;
    for (const search of searches) {
      if (at < 0) return false;
      at = search(text, at);
    }
    const lastAt = startOfLast(text, last.length);
    return at >= 0 && lastAt >= at && endOf(last, text, lastAt) === text.length;
  };
}

/** Returns where a part ends that begins at a position of a text; -1 when the text at that position is not the part. */
function endOf(part: Part, text: string, start: number): number {
  let at = start;
  for (const char of part) {
    const code = text.codePointAt(at);
    if (code === undefined || (char !== undefined && char.codePointAt(0) !== code)) return -1;
    at += code > 0xffff ? 2 : 1;
  }
  return at;
}

/** Finds a part at a place or behind it, and returns where the part ends; -1 when it is not there. */
function searchOf(part: Part): (text: string, from: number) => number {
  if (!part.includes(undefined)) {
    const whole = part.join('');
    return (text, from) => {
      const found = text.indexOf(whole, from);
      return found < 0 ? -1 : found + whole.length;
    };
  }
  return (text, from) => {
    for (let at = from; at < text.length; at += text.codePointAt(at)! > 0xffff ? 2 : 1) {
      const end = endOf(part, text, at);
      if (end >= 0) return end;
    }
    return -1;
  };
}

/** Returns where the last `count` characters of a text begin; -1 when the text has fewer. */
function startOfLast(text: string, count: number): number {
  let at = text.length;
  for (let left = count; left > 0; left--) {
    if (at === 0) return -1;
    at -= at > 1 && text.codePointAt(at - 2)! > 0xffff ? 2 : 1;
  }
  return at;
}
