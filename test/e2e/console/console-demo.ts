// `portcullis demo` as a process of its own, and a browser for it.
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { eventually } from '../../site/polling.ts';
import { launchBrowser } from './browser.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const root = join(import.meta.dirname, '../../..');

export interface ConsoleDemo {
  /** What it has printed so far. */
  printed(): string;
  /** The first link of a user, which logs in once. */
  linkOf(user: string): string;
  /** A page of a browser that knows nothing. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

export async function startConsoleDemo(): Promise<ConsoleDemo> {
  const folder = tempDir('first-minute');
  execFileSync(process.execPath, [join(root, 'console/build.ts')]);
  const free = ['--listen', '127.0.0.1:0', '--ops-listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, [join(root, 'bin/portcullis.mjs'), 'demo', ...free], {
    env: { ...process.env, XDG_STATE_HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  await eventually('the demo is ready', () => printed.includes('Ctrl-C stops everything.'), { timeoutMs: 60_000 });
  const browser = await launchBrowser();
  return {
    printed: () => printed,
    linkOf: (user) => new RegExp(`as ${user} +(\\S+#login=\\S+)`).exec(printed)![1]!,
    async newPage(options) {
      const viewport = { width: 1440, height: 900 };
      return (await browser.newContext({ ignoreHTTPSErrors: true, viewport, ...options })).newPage();
    },
    async close() {
      await browser.close();
      if (child.exitCode === null) {
        child.kill('SIGINT');
        await new Promise((resolve) => child.once('exit', resolve));
      }
    },
  };
}
