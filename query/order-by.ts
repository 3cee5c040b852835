// Parses sort keys: short field names and paths, from the URL (`namespace,name desc`) or from a search label
// (`name_desc`). Clusterpedia passes this text to its database as an SQL expression. Here only the short names of
// columns.ts and paths are accepted.
import { columns, readColumn } from './columns.ts';
import type { OrderKey } from './list-query.ts';
import { bad } from './parameters.ts';
import { parsePath } from './path.ts';

const mostKeys = 16;

/**
 * Parses sort keys.
 * @param parameters the values of the parameter `orderby`, such as `name`, `name desc,.status.startTime asc` or
 *   `metadata.labels['app']`
 * @param labels gives the values of the search label `orderby`, such as `name` or `created_at_desc`; they count when
 *   there is no parameter. A label selector does not keep the order of its values, so they apply in alphabetical order
 * @throws GatewayError BAD_REQUEST for a key that is neither a short field name nor a path
 */
export function readOrder(parameters: readonly string[], labels: () => readonly string[]): readonly OrderKey[] {
  const given = parameters.flatMap(splitOutsideQuotes).filter((key) => key.trim() !== '');
  const keys =
    given.length > 0
      ? given
      : labels()
          .filter((key) => key !== '')
          .map(labelKey);
  if (keys.length > mostKeys) throw bad(`orderby has more than ${mostKeys} keys`);
  return keys.map((text) => {
    const key = text.trim();
    const space = key.lastIndexOf(' ');
    const direction = key.slice(space + 1);
    // A quoted key in a path may contain a blank. So a blank ends the path only when `desc` or `asc` follows the blank.
    if (space > 0 && (direction === 'desc' || direction === 'asc'))
      return { by: readBy(key.slice(0, space).trim()), descending: direction === 'desc' };
    return { by: readBy(key), descending: false };
  });
}

function labelKey(value: string): string {
  return value.endsWith('_desc') ? `${value.slice(0, -'_desc'.length)} desc` : value;
}

function readBy(text: string): OrderKey['by'] {
  const column = readColumn(text);
  if (column !== undefined) return column;
  if (!/[.[]/.test(text))
    throw bad(`orderby cannot sort by "${text}": give one of ${columns.join(', ')}, or a path such as .status.podIP`);
  const path = parsePath(text);
  if (path.some(({ kind }) => kind === 'each'))
    throw bad(`orderby cannot sort by "${text}": a path with [] has more than one value; give an index such as [0]`);
  return path;
}

/** Splits a text at commas that are not inside quotes. */
export function splitOutsideQuotes(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === '\\') at++;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === "'" || char === '"') quote = char;
    else if (char === ',') {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}
