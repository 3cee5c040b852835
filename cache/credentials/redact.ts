// Cuts what a foreign program printed down to one line that may be shown. Programs print tokens when they fail and
// escape sequences at any time. Everything that looks like a secret is cut, sometimes with harmless text.

const maxLineLength = 200;

/**
 * The last line of `output` that is not blank, without control characters, with everything that looks like a secret
 * replaced, at most 200 characters. '' when there is none.
 * @param secrets texts that are known to be secret (values given to the program); shorter than 6 characters are not
 *   looked for
 */
export function lastLineRedacted(output: string, secrets: readonly string[]): string {
  // oxlint-disable-next-line no-control-regex
  const plain = output.replaceAll(/\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b[@-_]/g, '').replaceAll(/\r\n?/g, '\n');
  const line = plain.split('\n').findLast((candidate) => candidate.trim() !== '') ?? '';
  let text = line.replaceAll(/\p{C}/gu, ' ').trim();
  // Longest first: a secret that contains another one must not leave its ends behind.
  for (const secret of secrets.filter((value) => value.length >= 6).sort((a, b) => b.length - a.length)) {
    text = text.replaceAll(secret, '[redacted]');
  }
  text = text
    .replaceAll(/\b(bearer|basic)\s+\S+/gi, '$1 [redacted]')
    .replaceAll(
      /((?:token|password|passwd|secret|authorization|api[_-]?key|private[_-]?key)s?["']?\s*[:=]\s*)\S.*/gi,
      '$1[redacted]',
    )
    .replaceAll(/\/\/[^/@\s]+@/g, '//[redacted]@')
    .replaceAll(/[A-Za-z0-9+/=_.~-]{20,}/g, (run) => (looksRandom(run) ? '[redacted]' : run));
  return text.length > maxLineLength ? `${text.slice(0, maxLineLength - 1)}…` : text;
}

/**
 * Long runs with digits, upper and lower case letters, or of hexadecimal digits only: tokens and keys. Words and most
 * paths are neither.
 */
function looksRandom(run: string): boolean {
  if (run.length >= 32 && /^[0-9a-f]+$/i.test(run)) return true;
  return /\d/.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run);
}
