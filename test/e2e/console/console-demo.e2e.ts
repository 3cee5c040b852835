// The first minute of a newcomer: from the link that the demo prints to the log of what is broken, in a real Chromium.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { eventually } from '../../site/polling.ts';
import { missingChromium } from './console-site.ts';

const root = join(import.meta.dirname, '../../..');
const missing = missingChromium();
const needsBrowser = { skip: missing ?? false };
let folder: string;
let demo: ChildProcess;
let printed = '';
let browser: Browser;

before(async () => {
  if (missing !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'portcullis-first-minute-'));
  const free = ['--listen', '127.0.0.1:0', '--ops-listen', '127.0.0.1:0'];
  const { execFileSync } = await import('node:child_process');
  execFileSync(process.execPath, [join(root, 'console/build.ts')]);
  demo = spawn(process.execPath, [join(root, 'bin/portcullis.mjs'), 'demo', ...free], {
    env: { ...process.env, XDG_STATE_HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  demo.stdout!.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await eventually('the demo is ready', () => printed.includes('Ctrl-C stops everything.'), { timeoutMs: 60_000 });
  browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
});
after(async () => {
  await browser?.close();
  if (demo?.exitCode === null) {
    demo.kill('SIGINT');
    await new Promise((resolve) => demo.once('exit', resolve));
  }
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

async function newPage(): Promise<Page> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1440, height: 900 } });
  return context.newPage();
}

const linkOf = (user: string): string => new RegExp(`as ${user} +(\\S+#login=\\S+)`).exec(printed)![1]!;

test(
  'from the printed link to the log line of a crashing pod in another cluster in five interactions',
  needsBrowser,
  async () => {
    const page = await newPage();
    let interactions = 0;
    const act = async (deed: Promise<unknown>): Promise<void> => {
      interactions += 1;
      await deed;
    };
    await act(page.goto(linkOf('ada')));
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
  const link = linkOf('ben');
  const first = await newPage();
  await first.goto(link);
  await first.getByRole('link', { name: 'ben', exact: true }).waitFor();
  assert.ok(!first.url().includes('login='), 'the code is not in the address');
  const second = await newPage();
  await second.goto(link);
  await second.getByText('was used or is too old').waitFor();
  const next = await eventually('the next link', () => /next one for ben:\n +(\S+)/.exec(printed)?.[1]);
  assert.notEqual(next, link);
  const third = await newPage();
  await third.goto(next);
  await third.getByRole('link', { name: 'ben', exact: true }).waitFor();
});
