// Makes text that others wrote safe to show in messages, conditions and table cells.

import { shortened } from './shortened.ts';

/**
 * Longest text that is kept, in characters; a longer one is cut. metav1.Condition permits 32768 characters in a
 * message, which are too long for a table cell.
 */
const maxLength = 1024;

/**
 * The text on one line, without control characters; '' for a value that is no string.
 * @param most largest length in UTF-16 code units; a longer text is cut and ends in `…`
 */
export function oneLine(value: unknown, most = maxLength): string {
  if (typeof value !== 'string') return '';
  const plain = value
    .slice(0, most * 2)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return shortened(plain, most);
}
