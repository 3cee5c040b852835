// A node:test reporter that writes nothing but the counts, a line of JSON a test, for whoever adds several runs up.
// Suites are reported as tests too and must not be counted; and a process that is ended does not come to its end here.
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

const root = new URL('..', import.meta.url).pathname;
/** Of the reason, characters. */
const mostReason = 400;

/** What a run counted. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Name and reason of every skipped test. */
  readonly skips: readonly string[];
  /**
   * File and name of every failed test, and the first lines of why: closing lines are all that is left of a run
   * elsewhere.
   */
  readonly failures: readonly string[];
}

/** One line of what this reporter writes: a process that is killed has told what it knew until then. */
type Line =
  | { readonly passed: true }
  | { readonly skip: string }
  | { readonly failure: string }
  | { readonly end: true };

export default async function* countingReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    const line = lineOf(event);
    if (line !== undefined) yield `${JSON.stringify(line)}\n`;
  }
  yield `${JSON.stringify({ end: true } satisfies Line)}\n`;
}

function lineOf(event: TestEvent): Line | undefined {
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return undefined;
  const { data } = event;
  if ((data.details as { type?: string }).type === 'suite') return undefined;
  // With process isolation every file is reported as a test as well.
  if (data.nesting === 0 && data.name === data.file) return undefined;
  if (data.skip !== undefined && data.skip !== false) return { skip: `${data.name}: ${String(data.skip)}` };
  return event.type === 'test:pass' ? { passed: true } : { failure: described(event.data) };
}

/**
 * Adds up what the reporter wrote.
 * @returns undefined when it wrote nothing; otherwise with `isWhole` when the run came to its end
 */
export function countsOf(text: string): (Counts & { readonly isWhole: boolean }) | undefined {
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
  if (lines.length === 0) return undefined;
  const skips = lines.flatMap((line) => ('skip' in line ? [line.skip] : []));
  const failures = lines.flatMap((line) => ('failure' in line ? [line.failure] : []));
  const passed = lines.filter((line) => 'passed' in line).length;
  const isWhole = lines.some((line) => 'end' in line);
  return { passed, failed: failures.length, skipped: skips.length, skips, failures, isWhole };
}

/** node:test wraps what was thrown; an assertion says what differs on the lines below its first. */
function described({ file, name, details }: Extract<TestEvent, { type: 'test:fail' }>['data']): string {
  const { message } = details.error.cause instanceof Error ? details.error.cause : details.error;
  const where = file === undefined ? '' : `${relative(root, file)}: `;
  return where + name + ': ' + message.slice(0, mostReason).replaceAll(/\s*\n\s*/g, ' | ');
}
