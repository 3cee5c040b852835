// Reads comma-separated records exactly as Go's encoding/csv does with its default settings, because that is what
// kube-apiserver reads token files with. Easy to get wrong: spaces belong to the field, and a quote inside an unquoted
// field is an error, not a character.

/** One record and where it begins. */
export interface CsvRecord {
  /** 1-based. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** A record that cannot be read; everything after it is unread. */
export interface CsvFault {
  /** 1-based line on which reading stopped. */
  readonly line: number;
  readonly reason: string;
}

/** Everything readable, and the fault that ended the reading, if any. */
export interface CsvContent {
  readonly records: readonly CsvRecord[];
  readonly fault: CsvFault | undefined;
}

/** Reads all records; blank lines are skipped, there are no comments, and records may differ in length. */
export function readCsv(text: string): CsvContent {
  const lines = splitLines(text);
  const records: CsvRecord[] = [];
  let next = 0;
  while (next < lines.length) {
    const first = next;
    if (lines[first] === '\n') {
      next = first + 1;
      continue;
    }
    const read = readRecord(lines, first);
    if ('reason' in read) return { records, fault: read };
    records.push({ line: first + 1, fields: read.fields });
    next = read.next;
  }
  return { records, fault: undefined };
}

/** Lines with their `\n`; `\r\n` becomes `\n`, and a `\r` that ends the text goes away (csv.Reader.readLine). */
function splitLines(text: string): string[] {
  const lines = text.split(/(?<=\n)/).map((line) => (line.endsWith('\r\n') ? `${line.slice(0, -2)}\n` : line));
  const last = lines.pop()?.replace(/\r$/, '') ?? '';
  return last === '' ? lines : [...lines, last];
}

function readRecord(lines: readonly string[], first: number): { fields: string[]; next: number } | CsvFault {
  const fields: string[] = [];
  let number = first;
  let rest = lines[number] ?? '';
  for (;;) {
    if (!rest.startsWith('"')) {
      const comma = rest.indexOf(',');
      const field = comma >= 0 ? rest.slice(0, comma) : rest.replace(/\n$/, '');
      if (field.includes('"')) return { line: number + 1, reason: 'a quote stands inside a field that is not quoted' };
      fields.push(field);
      if (comma < 0) return { fields, next: number + 1 };
      rest = rest.slice(comma + 1);
      continue;
    }
    let field = '';
    rest = rest.slice(1);
    for (;;) {
      const quote = rest.indexOf('"');
      if (quote >= 0) {
        field += rest.slice(0, quote);
        rest = rest.slice(quote + 1);
        if (!rest.startsWith('"')) break;
        field += '"';
        rest = rest.slice(1);
        continue;
      }
      // The field goes on in the next line.
      field += rest;
      number += 1;
      const following = lines[number];
      if (following === undefined) return { line: number, reason: 'a quoted field is never closed' };
      rest = following;
    }
    fields.push(field);
    if (rest === '' || rest === '\n') return { fields, next: number + 1 };
    if (!rest.startsWith(',')) return { line: number + 1, reason: 'text follows a closing quote' };
    rest = rest.slice(1);
  }
}
