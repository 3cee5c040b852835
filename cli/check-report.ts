// Prints the weaknesses that `portcullis check` found, and gives its exit code. Security: names of clusters and
// messages come from outside, so control characters in them are made visible before they reach the terminal.
import { printable } from './terminal/failure.ts';
import { align } from './terminal/table.ts';

/** One weakness. The fields are those of `Weakness` in gateway/check. */
export interface ReportedWeakness {
  readonly name: string;
  readonly severity: string;
  readonly where: string;
  readonly what: string;
  readonly fix: string;
}

/** The result of `portcullis check`. */
export interface CheckReport {
  readonly weaknesses: readonly ReportedWeakness[];
  /** Objects or settings that could not be checked, and the reasons. */
  readonly unread: readonly { readonly where: string; readonly what: string }[];
}

/** Names of weaknesses that the operator accepts (`--accept`). */
export type Accepted = ReadonlySet<string>;

/**
 * The exit code: 2 when something could not be read, otherwise 1 when there is a weakness that the operator has not
 * accepted, otherwise 0.
 */
export function checkExitCode({ weaknesses, unread }: CheckReport, accepted: Accepted): 0 | 1 | 2 {
  if (unread.length > 0) return 2;
  return weaknesses.some(({ name }) => !accepted.has(name)) ? 1 : 0;
}

/** The report as JSON for programs. Each weakness also says whether it is accepted. */
export function checkJson({ weaknesses, unread }: CheckReport, accepted: Accepted): string {
  const list = weaknesses.map((one) => ({ ...one, accepted: accepted.has(one.name) }));
  return `${JSON.stringify({ weaknesses: list, unread }, null, 4)}\n`;
}

/**
 * The report as a table for people: the weaknesses that are not accepted, each with an explanation and a fix, then what
 * could not be read.
 */
export function checkTable({ weaknesses, unread }: CheckReport, accepted: Accepted): string {
  const counted = weaknesses.filter(({ name }) => !accepted.has(name));
  const rows = counted.map(({ severity, name, where }) => [severity, name, where].map(oneLine));
  const [head = '', ...lines] = align([['SEVERITY', 'NAME', 'WHERE'], ...rows]).split('\n');
  const table = counted.map(
    ({ what, fix }, index) => `${lines[index]!}\n    ${oneLine(what)}\n    fix: ${oneLine(fix)}\n`,
  );
  const faults = unread.map(({ where, what }) => {
    const place = where === '' || what.startsWith(where) ? '' : `${where}: `;
    return `could not read ${oneLine(place + what)}\n`;
  });
  return [...(counted.length === 0 ? [] : [`${head}\n`]), ...table, ...faults].join('');
}

/** The result of a check in one sentence. */
export function checkSummary(report: CheckReport, accepted: Accepted): string {
  const counted = report.weaknesses.filter(({ name }) => !accepted.has(name)).length;
  const rest = report.weaknesses.length - counted;
  const parts: string[] = [];
  if (counted > 0) parts.push(`${counted} weak ${counted === 1 ? 'point' : 'points'}`);
  else if (report.unread.length === 0) parts.push('Nothing weak was found');
  if (rest > 0) parts.push(`${rest} accepted`);
  if (report.unread.length > 0) parts.push(`${report.unread.length} could not be read, and nothing is said about it`);
  return `${parts.join('; ')}\n`;
}

function oneLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]+/g, ' ');
}
