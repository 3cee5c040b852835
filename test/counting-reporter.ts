// A node:test reporter that writes nothing but the counts, as JSON, for whoever adds several runs up. Easy to get wrong: suites are
// reported as tests too and must not be counted.
import type { TestEvent } from 'node:test/reporters';

/** What a run counted. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Name and reason of every skipped test. */
  readonly skips: readonly string[];
  /** Name of every failed test. */
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
      failures.push(data.name);
    }
  }
  yield JSON.stringify({ passed, failed, skipped: skips.length, skips, failures } satisfies Counts);
}
