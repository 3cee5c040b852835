// Error messages of the YAML parser without the parts that quote the file. Easy to get wrong: the quoted text may be a
// token. The quoted text usually follows a colon, but in some messages it is elsewhere.

/**
 * Patterns of messages that quote the file somewhere other than after a colon, with a replacement that quotes nothing.
 */
const quoting: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/^Invalid escape sequence .*/s, 'Invalid escape sequence'],
  [/^Unknown directive .*/s, 'Unknown directive'],
  [/^Unsupported YAML version .*/s, 'Unsupported YAML version'],
  [/^Verbatim tags .*/s, 'Verbatim tags are not resolved'],
  [/^The .* tag has no suffix.*/s, 'A tag has no suffix'],
  [/^\S.* used for .* collection.*/s, 'A tag does not go with its collection'],
];

/**
 * A message of the YAML parser without quoted text.
 * @param message of a YAMLParseError, or of an error thrown by `toJS`
 */
export function yamlFaultText(message: string): string {
  for (const [pattern, words] of quoting) if (pattern.test(message)) return words;
  // The colon in "Missing , or : between items" has a space before it and must stay.
  return message.replace(/(?<! ):\s.*$/s, '').replace(/ at line \d+, column \d+$/, '');
}
