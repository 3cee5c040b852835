// The first minute of a newcomer: from the link that the demo prints to the log of what is broken, in a real Chromium.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../../site/polling.ts';
import { missingBrowser } from './browser.ts';
import { startConsoleDemo } from './console-demo.ts';
import type { ConsoleDemo } from './console-demo.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
let demo: ConsoleDemo;

before(async () => {
  if (missing === undefined) demo = await startConsoleDemo();
});
after(() => demo?.close());

test(
  'from the printed link to the log line of a crashing pod in another cluster in five interactions',
  needsBrowser,
  async () => {
    const page = await demo.newPage();
    let interactions = 0;
    const act = async (deed: Promise<unknown>): Promise<void> => {
      interactions += 1;
      await deed;
    };
    await act(page.goto(demo.linkOf('ada')));
    await act(page.getByRole('link', { name: 'Search' }).click());
    await act(page.getByRole('link', { name: /^CrashLoopBackOff/ }).click());
    const row = page.locator('.rows tbody').getByRole('link', { name: /^payments-/ });
    await act(row.click());
    await act(page.getByRole('link', { name: 'Logs' }).click());
    await page.locator('.log').getByText('fatal: exiting with code 1').waitFor();
    assert.match(page.url(), /\/c\/virginia\//);
    assert.ok(interactions <= 5);
  },
);

test('a link logs in once, and the demo prints the next one', needsBrowser, async () => {
  const link = demo.linkOf('ben');
  const first = await demo.newPage();
  await first.goto(link);
  await first.getByRole('link', { name: 'ben', exact: true }).waitFor();
  assert.ok(!first.url().includes('login='), 'the code is not in the address');
  const second = await demo.newPage();
  await second.goto(link);
  await second.getByText('was used before or has expired').waitFor();
  const next = await eventually('the next link', () => /next one for ben:\n +(\S+)/.exec(demo.printed())?.[1]);
  assert.notEqual(next, link);
  const third = await demo.newPage();
  await third.goto(next);
  await third.getByRole('link', { name: 'ben', exact: true }).waitFor();
});
