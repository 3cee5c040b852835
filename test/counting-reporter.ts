// A node:test reporter that writes nothing but the counts, as JSON, for whoever adds several runs up. Easy to get wrong: suites are
// reported as tests too and must not be counted.
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
  /** File and name of every failed test, and the first lines of why: closing lines are all that is left of a run elsewhere. */
  readonly failures: readonly string[];
}

export default async function* countingReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let passed = 0;
  let failed = 0;
  const skips: string[] = [];
  const failures: string[] = [];
  for await (const event of source) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { data } = event;
    if ((data.details as { type?: string }).type === 'suite') continue;
    // With process isolation every file is reported as a test as well.
    if (data.nesting === 0 && data.name === data.file) continue;
    if (data.skip !== undefined && data.skip !== false) skips.push(`${data.name}: ${String(data.skip)}`);
    else if (event.type === 'test:pass') passed += 1;
    else {
      failed += 1;
      failures.push(described(event.data));
    }
  }
  yield JSON.stringify({ passed, failed, skipped: skips.length, skips, failures } satisfies Counts);
}

/** node:test wraps what was thrown; an assertion says what differs on the lines below its first. */
function described({ file, name, details }: Extract<TestEvent, { type: 'test:fail' }>['data']): string {
  const { message } = details.error.cause instanceof Error ? details.error.cause : details.error;
  const where = file === undefined ? '' : `${relative(root, file)}: `;
  return where + name + ': ' + message.slice(0, mostReason).replaceAll(/\s*\n\s*/g, ' | ');
}
