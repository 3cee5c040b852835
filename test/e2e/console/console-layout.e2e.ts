// The console in a real Chromium on narrow screens, with settings of the system, in foreign frames, by the keyboard
// alone, and before changes that need a typed name.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from '../../site/polling.ts';
import { isLive, rowsOf, show } from './console-page.ts';
import { missingBrowser } from './browser.ts';
import { everyClusterIndexed, protectedCluster, startConsoleSite } from './console-site.ts';
import type { ConsoleSite, Visit, VisitOptions } from './console-site.ts';
import { newServer } from '../../pretend/server.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const checkout = '/console/c/frankfurt/apis/apps/v1/namespaces/shop/deployments/checkout';
let site: ConsoleSite;

before(async () => {
  if (missing !== undefined) return;
  site = await startConsoleSite();
  await everyClusterIndexed(site);
});
after(() => site?.close());
afterEach(() => site?.closeVisits());

function open(path: string, options?: VisitOptions): Promise<Visit> {
  return site.logIn('ada', path, options);
}

const views = [
  ['/console/', 'frankfurt'],
  ['/console/clusters?cluster=frankfurt', 'Conditions'],
  ['/console/search', 'live'],
  ['/console/access?verb=get&resource=pods', 'frankfurt: yes'],
  ['/console/health', 'index: well'],
  [checkout, 'Strategy'],
  [`${checkout}?tab=yaml`, 'apiVersion'],
  [`${checkout}?tab=events`, 'Last seen'],
  [`${checkout}?tab=related`, 'ReplicaSet'],
  [`${checkout}?tab=logs`, 'following'],
] as const;

test('at 320 pixels no view scrolls sideways, but its tables', needsBrowser, async () => {
  const { page } = await open('/console/', { width: 320 });
  for (const [path, text] of views) {
    await show(page, path);
    await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
    assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= 320, path);
  }
});

test('forced colours keep the shape of a state, and without motion nothing moves', needsBrowser, async () => {
  const { page } = await open('/console/', { forcedColors: 'active', reducedMotion: 'reduce' });
  await rowsOf(page).nth(2).waitFor();
  const shape = page.locator('.rows .shape').first();
  assert.ok(((await shape.boundingBox())?.width ?? 0) > 5);
  const colours = `(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.querySelector('.rows .shape')))`;
  const [colour, back] = await page.evaluate<[string, string]>(colours);
  assert.equal(back, colour, 'the shape is filled');
  const moving = `[...document.querySelectorAll('*')].filter((each) => { const { transitionDuration, animationName } = getComputedStyle(each); return transitionDuration !== '0s' || animationName !== 'none'; }).length`;
  assert.equal(await page.evaluate(moving), 0);
});

test('a dark system is dark before any script has run', needsBrowser, async () => {
  const visit = await site.visit('/console/config.json', { dark: true });
  await visit.page.route('**/*.js', () => undefined);
  await visit.page.goto(`${site.url}/console/`, { waitUntil: 'commit' });
  await eventually('the style is there', () => visit.page.evaluate<boolean>('document.styleSheets.length > 0'));
  const back = await visit.page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  assert.equal(back, 'rgb(22, 25, 29)');
});

test('a page of another origin cannot show the console in a frame', needsBrowser, async () => {
  const server = await newServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<iframe src="${site.url}/console/"></iframe>`);
  });
  try {
    const visit = await site.visit('/console/config.json');
    await visit.page.goto(`${server.url}/`);
    await eventually('it is refused', () => visit.complaints.some((text) => text.includes('frame-ancestors')));
    assert.equal(await visit.page.frames()[1]!.locator('.brand').count(), 0);
  } finally {
    await server.close();
  }
});

test(
  'the whole way by keyboard: log in, search, narrow down, open, logs, shell, and out again',
  needsBrowser,
  async () => {
    const visit = await site.visit('/console/');
    const { page } = visit;
    const focused = (): Promise<string> =>
      page.evaluate<string>(
        `document.activeElement.matches('a, button, input') ? document.activeElement.textContent + document.activeElement.id : ''`,
      );
    /** Presses Tab until that has the focus, and checks that the focus can be seen. */
    const tabTo = async (words: string, key = 'Tab'): Promise<void> => {
      for (let presses = 0; !(await focused()).includes(words); presses++) {
        assert.ok(presses < 60, `${words} cannot be reached`);
        await page.keyboard.press(key);
      }
      assert.notEqual(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none', words);
    };
    await page.getByLabel('Bearer token').waitFor();
    await tabTo('token');
    await page.keyboard.type(site.tokenOf('ada'));
    await page.keyboard.press('Enter');
    await rowsOf(page).nth(2).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await isLive(page);
    await tabTo('staging');
    await page.keyboard.press('Enter');
    await page.waitForURL(/cluster%3Astaging/);
    await isLive(page);
    await tabTo('postgres-0');
    await page.keyboard.press('Enter');
    await page.waitForURL(/staging.*postgres-0/);
    await page.keyboard.press('l');
    await page.getByText('following').waitFor();
    await page.keyboard.press('s');
    await page.locator('button:enabled', { hasText: 'Open a shell' }).waitFor();
    await tabTo('Open a shell');
    await page.keyboard.press('Enter');
    await page.getByText('open; Ctrl+Shift+E').waitFor();
    await eventually('the shell has the focus', () =>
      page.evaluate<boolean>(`document.activeElement.closest('.shell') !== null`),
    );
    await page.keyboard.press('Control+Shift+E');
    assert.equal(await page.evaluate(`document.activeElement.closest('.shell')`), null);
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await tabTo('Close');
    await page.keyboard.press('Enter');
    // Forwards, Tab would be typed into the shell.
    await tabTo('Log out', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByLabel('Bearer token').waitFor();
  },
);

test('an object is deleted only after its name was typed, and the dialog says where it is', needsBrowser, async () => {
  const { store } = site.simulators[0]!;
  store.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old', namespace: 'shop' }, data: {} });
  const { page } = await open('/console/c/frankfurt/api/v1/namespaces/shop/configmaps/old');
  await page.getByRole('button', { name: 'Delete …' }).click();
  const dialog = page.getByRole('dialog');
  assert.match(await dialog.innerText(), /in frankfurt, namespace shop/);
  const yes = dialog.getByRole('button', { name: 'Delete it' });
  await dialog.getByRole('textbox').fill('ol');
  assert.ok(await yes.isDisabled());
  await dialog.getByRole('textbox').fill('old');
  await yes.click();
  await page.waitForURL(/search\?kind=configmaps/);
  assert.equal(store.get('ConfigMap', 'shop', 'old'), undefined);
});

test('a change in a protected cluster asks for the name of the cluster first', needsBrowser, async () => {
  const { store } = site.simulators.find(({ name }) => name === protectedCluster)!;
  store.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'mode', namespace: 'shop' },
    data: { on: 'no' },
  });
  const { page } = await open(`/console/c/${protectedCluster}/api/v1/namespaces/shop/configmaps/mode?tab=yaml`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const content = page.locator('.cm-content[contenteditable="true"]');
  await content.waitFor();
  const text = (await content.locator('.cm-line').allInnerTexts()).join('\n');
  assert.ok(text.includes('"on": "no"'), 'without quotes it would be true');
  await content.fill(text.replace('"on": "no"', '"on": maybe'));
  await page.getByRole('button', { name: 'Try it and compare' }).click();
  await page.getByRole('button', { name: 'Apply this change' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('is a protected cluster').waitFor();
  assert.deepEqual(store.get('ConfigMap', 'shop', 'mode')!['data'], { on: 'no' });
  await dialog.getByRole('textbox').fill(protectedCluster);
  await dialog.getByRole('button', { name: 'Apply this change' }).click();
  await eventually(
    'it is applied',
    () => JSON.stringify(store.get('ConfigMap', 'shop', 'mode')!['data']) === '{"on":"maybe"}',
  );
});

test('a shell in which nobody types outlives a proxy that ends silent connections', needsBrowser, async () => {
  const { page } = await open('/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0?tab=terminal');
  // A minute passes in a second.
  await page.evaluate('{ const real = setInterval; window.setInterval = (run, ms) => real(run, ms / 60); }');
  let sent = 0;
  page.on('websocket', (socket) => socket.on('framesent', () => (sent += 1)));
  await page.getByRole('button', { name: 'Open a shell' }).click();
  await page.getByText('open; Ctrl+Shift+E').waitFor();
  await eventually('it has said that it is there for five minutes', () => sent >= 13);
  await page.getByText('open; Ctrl+Shift+E').waitFor();
});
