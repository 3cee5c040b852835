// The browser that tests of the console drive: Debian's Chromium, or Debian's Firefox ESR when the environment says so.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { chromium, firefox } from 'playwright-core';
import type { Browser } from 'playwright-core';

/** The environment variable that names the browser: `chromium` (the default) or `firefox`. */
export const browserVariable = 'CONSOLE_BROWSER';

const packages = { chromium: 'chromium', firefox: 'firefox-esr' } as const;

function isFirefox(): boolean {
  return process.env[browserVariable] === 'firefox';
}

/** Why there can be no browser here; undefined when there can. */
export function missingBrowser(): string | undefined {
  const name = packages[isFirefox() ? 'firefox' : 'chromium'];
  try {
    execFileSync('which', [name], { stdio: 'ignore' });
    return undefined;
  } catch {
    return `needs ${name} (Debian: apt-get install ${name})`;
  }
}

/** Why a test says nothing about Firefox; undefined in Chromium. */
export function onlyInChromium(why: string): string | undefined {
  return isFirefox() ? `only in Chromium: ${why}` : undefined;
}

/** Starts the browser, without a window. */
export function launchBrowser(): Promise<Browser> {
  if (!isFirefox()) return chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  answerWhatFirefoxLacks();
  // Debian's Firefox does not speak the protocol of Playwright's own, but WebDriver BiDi, which this channel means.
  return firefox.launch({ channel: 'moz-firefox', executablePath: '/usr/bin/firefox-esr' });
}

interface Socket {
  send(this: Socket, data: unknown, ...rest: unknown[]): void;
  emit(event: 'message', data: Buffer, isBinary: boolean): void;
}

/** The one command that Playwright sends for every page and that Firefox ESR 153 does not know: the colour scheme. */
const lacking = 'emulation.setMediaFeaturesOverride';

/**
 * Answers that command in place of Firefox, so that its pages have the theme of the system. Playwright sends it without
 * being asked, and gives up when it is refused.
 */
function answerWhatFirefoxLacks(): void {
  const { ws } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle') as { ws: { prototype: Socket } };
  const { send } = ws.prototype;
  ws.prototype.send = function (data, ...rest) {
    const isLacking = typeof data === 'string' && data.includes(`"method":"${lacking}"`);
    if (!isLacking) return void send.call(this, data, ...rest);
    const { id } = JSON.parse(data) as { id: number };
    this.emit('message', Buffer.from(JSON.stringify({ type: 'success', id, result: {} })), false);
  };
}
