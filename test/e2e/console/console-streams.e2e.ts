// Texts, logs and shells of the console in a real Chromium: that they are what the cluster says, and end when they are
// left.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, test } from 'node:test';
import { parse } from 'yaml';
import { eventually } from '../../site/polling.ts';
import { missingBrowser } from './browser.ts';
import { isLive, rowsOf, show } from './console-page.ts';
import { everyClusterIndexed, startConsoleSite } from './console-site.ts';
import type { ConsoleSite, Visit } from './console-site.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const postgres = '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0';
let site: ConsoleSite;

before(async () => {
  if (missing !== undefined) return;
  site = await startConsoleSite({}, 0, ([frankfurt]) =>
    frankfurt!.store.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'words', namespace: 'shop', labels: { yes: 'no' } },
      data: { number: '012', text: 'two\nlines\n', quote: `'"` },
    }),
  );
  await everyClusterIndexed(site);
});
after(() => site?.close());
afterEach(() => site?.closeVisits());

function open(path: string): Promise<Visit> {
  return site.logIn('ada', path);
}

test(
  'an object is the same by its row, by Enter and by its address, and its text is what the cluster says',
  needsBrowser,
  async () => {
    const path = '/api/v1/namespaces/shop/configmaps/words';
    const said = await site.ask<{ metadata: { managedFields?: unknown } }>('ada', `/clusters/frankfurt/proxy${path}`);
    delete said.metadata.managedFields;
    const { page } = await open('/console/search?kind=configmaps&q=name:words');
    await isLive(page);
    const row = rowsOf(page).getByRole('link', { name: 'words' });
    const ways = [
      () => rowsOf(page).first().locator('td').first().click(),
      () => row.press('Enter'),
      () => show(page, `/console/c/frankfurt${path}`),
    ];
    for (const way of ways) {
      await show(page, '/console/search?kind=configmaps&q=name:words');
      await row.waitFor();
      await way();
      await page.waitForURL((url) => url.pathname === `/console/c/frankfurt${path}`);
      await page.getByRole('link', { name: 'YAML' }).click();
      await page.locator('.cm-content').getByText('apiVersion').waitFor();
      const text = (await page.locator('.cm-line').allInnerTexts()).map((line) => line.replace(/\n$/, '')).join('\n');
      assert.deepEqual(parse(text), said);
    }
  },
);

test('a log is asked for as it was chosen, and what is downloaded is what the cluster says', needsBrowser, async () => {
  const { page, requests } = await open(`${postgres}?tab=logs&since=1h`);
  await page.getByText('following').waitFor();
  const asked = (): URLSearchParams => new URL(requests.findLast((url) => url.includes('/log?'))!).searchParams;
  assert.deepEqual([asked().get('sinceSeconds'), asked().get('follow')], ['3600', 'true']);
  await page.getByLabel('wrap').uncheck();
  assert.equal(await page.locator('.log.wrap').count(), 0);
  // The run before the last restart has ended, so that its log is the same each time.
  const lines = ['2026-01-01T00:00:01.000000000Z one', '2026-01-01T00:00:02.000000000Z two'];
  await page.route('**/log?**previous=true**', (route) =>
    route.fulfill({ status: 200, contentType: 'text/plain', body: `${lines.join('\n')}\n` }),
  );
  await page.getByLabel('before the last restart').check();
  await page.locator('.log').getByText('two').waitFor();
  assert.deepEqual([asked().get('previous'), asked().get('follow')], ['true', 'false']);
  await page.getByText('ended').waitFor();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const download = await downloading;
  assert.match(download.suggestedFilename(), /^frankfurt-postgres-0-.*\.log$/);
  assert.equal(readFileSync(await download.path(), 'utf8'), `${lines.join('\n')}\n`);
});

test('a log of 100,000 lines is there whole, and only what is in sight is laid out', needsBrowser, async () => {
  const { page } = await open('/console/');
  const body = Array.from({ length: 100_000 }, (_, i) => `2026-01-01T00:00:00Z line ${i}\n`).join('');
  await page.route('**/log?**', (route) => route.fulfill({ status: 200, contentType: 'text/plain', body }));
  await show(page, `${postgres}?tab=logs`);
  await page.getByText('100,000 lines').waitFor();
  await page.locator('.log').getByText('line 99999').waitFor();
  await page.getByLabel('Only lines with').fill('line 4242');
  await eventually('only these lines', async () => (await page.locator('.log span').count()) === 11);
});

test('a shell knows its size, and is ended when its view is left', needsBrowser, async () => {
  const { page } = await open(`${postgres}?tab=terminal`);
  const ended = new Promise<void>((resolve) => {
    page.on('websocket', (socket) => socket.on('close', () => resolve()));
  });
  await page.getByRole('button', { name: 'Open a shell' }).click();
  const shell = page.locator('.shell');
  await page.getByText('open; Ctrl+Shift+E').waitFor();
  await shell.locator('textarea').focus();
  const sizes = async (): Promise<readonly number[]> =>
    [...(await shell.innerText()).matchAll(/^\s*\d+ (\d+)\s*$/gm)].map(([, columns]) => Number(columns));
  await page.keyboard.type('stty size\n');
  await eventually('the size', async () => (await sizes()).length > 0);
  const [wide] = await sizes();
  await page.setViewportSize({ width: 900, height: 900 });
  await eventually('the smaller size', async () => {
    await page.keyboard.type('clear; stty size\n');
    return (await sizes()).some((columns) => columns < wide!);
  });
  await page.getByRole('link', { name: 'Summary' }).click();
  await ended;
});
