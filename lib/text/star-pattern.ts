// The patterns that ManifestWorks contain, in which `*` stands for any characters.

/** Whether the text matches the pattern, in which `*` stands for any characters. */
export function matches(pattern: string, text: string): boolean {
  return makeMatch(pattern)(text);
}

/** As {@link matches}, for many texts: the pattern is read once. */
export function makeMatch(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return (text) => first === text;
  const last = rest.pop()!;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}
