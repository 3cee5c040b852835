// What to sort by: columns and paths, from the URL (`namespace,name desc`) or a label (`name_desc`). Clusterpedia hands
// the text to its database as an expression; here a text that is neither a column nor a path is refused.
import { columns, readColumn } from './columns.ts';
import type { OrderKey } from './list-query.ts';
import { bad } from './parameters.ts';
import { parsePath } from './path.ts';

const mostKeys = 16;

/**
 * Reads what follows `orderby`.
 * @param keys such as `name`, `name desc`, `.status.startTime asc`, `metadata.labels['app']`
 * @throws GatewayError BAD_REQUEST for anything that is not a column or a path
 */
export function readOrder(keys: readonly string[]): readonly OrderKey[] {
  if (keys.length > mostKeys) throw bad(`orderby has more than ${mostKeys} keys`);
  return keys.map((text) => {
    const key = text.trim();
    const space = key.lastIndexOf(' ');
    const direction = key.slice(space + 1);
    // A quoted key may hold a blank: only a direction ends the key.
    if (space > 0 && (direction === 'desc' || direction === 'asc'))
      return { by: readBy(key.slice(0, space).trim()), descending: direction === 'desc' };
    return { by: readBy(key), descending: false };
  });
}

/** Reads the values of the label form, `name`, `created_at_desc`. They are a set: their order is alphabetical. */
export function readLabelOrder(values: readonly string[]): readonly OrderKey[] {
  return readOrder(
    values.map((value) => (value.endsWith('_desc') ? `${value.slice(0, -'_desc'.length)} desc` : value)),
  );
}

function readBy(text: string): OrderKey['by'] {
  const column = readColumn(text);
  if (column !== undefined) return column;
  if (!/[.[]/.test(text))
    throw bad(`orderby cannot sort by "${text}": give one of ${columns.join(', ')}, or a path such as .status.podIP`);
  const path = parsePath(text);
  if (path.some(({ kind }) => kind === 'each'))
    throw bad(`orderby cannot sort by "${text}": it has more than one value`);
  return path;
}

/** Splits a list at commas that are not inside quotes. */
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
