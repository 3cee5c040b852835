// Shortens a text for a message. Half of a character outside of the Basic Multilingual Plane is no valid text: as UTF-8
// it becomes U+FFFD, and in JSON a lone surrogate that many readers refuse. So no such character is cut in two.

/**
 * Returns the text, or its beginning and `…` when it is longer than `most`.
 * @param most largest length of what is returned, in UTF-16 code units
 */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
