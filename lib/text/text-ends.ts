// Removes characters from the ends of a text in linear time. Easy to get wrong: a pattern such as /x+$/ is tried at
// every x, so a long run of x in the middle takes quadratic time; a header of 1 MiB of spaces between two letters would
// block the process for minutes.

/** Returns whether a character, given by its UTF-16 code, is to be removed. */
export type EndCharacter = (code: number) => boolean;

/**
 * White space around HTTP field values (OWS, RFC 9110 section 5.6.3): only space and tab. String.trim() and \s match
 * more characters.
 */
export const isOws: EndCharacter = (code) => code === 0x20 || code === 0x09;

/** The text without the characters at its end for which `isTakenOff` returns true. */
export function withoutTail(text: string, isTakenOff: EndCharacter): string {
  return text.slice(0, tailStart(text, isTakenOff));
}

/** The text without the characters at both ends for which `isTakenOff` returns true. */
export function withoutEnds(text: string, isTakenOff: EndCharacter): string {
  const end = tailStart(text, isTakenOff);
  let start = 0;
  while (start < end && isTakenOff(text.charCodeAt(start))) start++;
  return text.slice(start, end);
}

/** The index from which on `isTakenOff` returns true for all characters; the text's length when there are none. */
export function tailStart(text: string, isTakenOff: EndCharacter): number {
  let end = text.length;
  while (end > 0 && isTakenOff(text.charCodeAt(end - 1))) end--;
  return end;
}
