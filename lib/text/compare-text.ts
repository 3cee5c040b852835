// The order of texts by their UTF-8 bytes.

/** Rank of a UTF-16 unit in the order of code points: surrogates come after all other units. */
export function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Compares two texts by code points, which is also the order of their UTF-8 bytes. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a === b) continue;
    if (a >= 0xd800 && b >= 0xd800) return rank(a) - rank(b);
    return a - b;
  }
  return one.length - other.length;
}
