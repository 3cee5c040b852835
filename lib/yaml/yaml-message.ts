// The words of the YAML parser about a fault, without what it quotes of the file. Easy to get wrong: the piece it
// quotes may be the token, and besides the tail behind a colon it stands in the middle of some messages.

/** Messages that quote in another place than behind a colon, and what is left of them. */
const quoting: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^Invalid escape sequence .*/s, 'Invalid escape sequence'],
  [/^Unknown directive .*/s, 'Unknown directive'],
  [/^Unsupported YAML version .*/s, 'Unsupported YAML version'],
  [/^Verbatim tags .*/s, 'Verbatim tags are not resolved'],
  [/^The .* tag has no suffix.*/s, 'A tag has no suffix'],
  [/^\S.* used for .* collection.*/s, 'A tag does not go with its collection'],
];

/**
 * What is said of a fault.
 * @param message of a YAMLParseError, or of what `toJS` throws
 */
export function yamlFaultText(message: string): string {
  for (const [pattern, words] of quoting) if (pattern.test(message)) return words;
  // "Missing , or : between items" has a colon of its own, with a blank in front of it.
  return message.replace(/(?<! ):\s.*$/s, '').replace(/ at line \d+, column \d+$/, '');
}
