// Takes characters off the ends of a text, in one pass from each end. Easy to get wrong: /x+$/ tries from every x in
// the text, so a run of them in the middle costs the square of its length; a header of 1 MiB of blanks between two
// letters would hold the process for minutes.

/** Whether the character with this code is to be taken off. */
export type EndCharacter = (code: number) => boolean;

/**
 * Around the values of HTTP fields (OWS, RFC 9110 section 5.6.3): blank and tab alone; String.trim() and \s take more.
 */
export const isOws: EndCharacter = (code) => code === 0x20 || code === 0x09;

/** Without such characters at its end. */
export function withoutTail(text: string, isTakenOff: EndCharacter): string {
  return text.slice(0, tailStart(text, isTakenOff));
}

/** Without such characters at both ends. */
export function withoutEnds(text: string, isTakenOff: EndCharacter): string {
  const end = tailStart(text, isTakenOff);
  let start = 0;
  while (start < end && isTakenOff(text.charCodeAt(start))) start++;
  return text.slice(start, end);
}

/** Where the characters at the end begin; the length of the text when there are none. */
export function tailStart(text: string, isTakenOff: EndCharacter): number {
  let end = text.length;
  while (end > 0 && isTakenOff(text.charCodeAt(end - 1))) end--;
  return end;
}
