// Reduces the output of an external program to one line that is safe to show. Output of a credential plugin may contain
// tokens and terminal escape sequences. Everything that looks like a secret is replaced, even if some harmless text is
// replaced with it.

import { shortened } from '../../lib/text/shortened.ts';

/** Longest line that is returned, in characters; a longer one is cut. */
const maxLineLength = 200;

/**
 * The last non-blank line of `output`, without control characters, with everything that looks like a secret replaced,
 * at most 200 characters long; '' when there is no such line.
 * @param secrets values that are known to be secret; values shorter than 6 characters are ignored
 */
export function lastLineRedacted(output: string, secrets: readonly string[]): string {
  // oxlint-disable-next-line no-control-regex
  const plain = output.replaceAll(/\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b[@-_]/g, '').replaceAll(/\r\n?/g, '\n');
  const line = plain.split('\n').findLast((candidate) => candidate.trim() !== '') ?? '';
  let text = line.replaceAll(/\p{C}/gu, ' ').trim();
  // Longest first. If one secret contains another, replacing the shorter one first would leave parts of the longer one.
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
  return shortened(text, maxLineLength);
}

/**
 * Whether a run of characters looks like a token or key: it has digits, upper-case and lower-case letters, or is a long
 * hexadecimal number. Words and most paths are neither.
 */
function looksRandom(run: string): boolean {
  if (run.length >= 32 && /^[0-9a-f]+$/i.test(run)) return true;
  return /\d/.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run);
}
