// Shortens a list of names for a message, so that the message stays short for any number of names.

/**
 * The first `most` of the texts, and how many more there are: `a, b and 3 more`, or `a; b; and 3 more`.
 * @param between the separator between two texts
 */
export function listed(texts: readonly string[], most: number, between = ', '): string {
  const shown = texts.slice(0, most).join(between);
  if (texts.length <= most) return shown;
  return `${shown}${between === ', ' ? ' ' : between}and ${texts.length - most} more`;
}
