// Parses comma-separated values exactly as Go's encoding/csv with default settings, because kube-apiserver reads token
// files with that package. Easy to get wrong: spaces belong to a field, and a quote inside an unquoted field is an
// error.

/** One CSV record and its position. */
export interface CsvRecord {
  /** Line on which the record begins, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** Why a record cannot be parsed; no later record is parsed either. */
export interface CsvFault {
  /** Line of the fault, counted from 1. */
  readonly line: number;
  readonly reason: string;
}

/** The records before the first fault, and that fault; undefined when there is none. */
export interface CsvContent {
  readonly records: readonly CsvRecord[];
  readonly fault: CsvFault | undefined;
}

/**
 * Parses all records. Blank lines are skipped, there is no comment syntax, and records may have different numbers of
 * fields.
 */
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

/**
 * Splits into lines that keep their line feed. As in Go's csv.Reader.readLine, CRLF becomes LF, and a CR at the very
 * end of the text is removed.
 */
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
      // The quoted field continues on the next line.
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
