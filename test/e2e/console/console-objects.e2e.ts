// One object in the console: its sides in a real Chromium, and how it is changed.
// Landing tier: objects are edited and deleted as the caller.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from '../../site/polling.ts';
import { show } from './console-page.ts';
import { missingBrowser } from './browser.ts';
import { everyClusterIndexed, startConsoleSite } from './console-site.ts';
import type { ConsoleSite, Visit } from './console-site.ts';

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

function open(user: string, path: string): Promise<Visit> {
  return site.logIn(user, path);
}

test('the YAML of an object is what its cluster says', needsBrowser, async () => {
  const { page, complaints } = await open('ada', `${checkout}?tab=yaml`);
  await page.locator('.cm-content').waitFor();
  const text = await page.locator('.cm-line').allInnerTexts();
  assert.deepEqual(text.slice(0, 2), ['apiVersion: apps/v1', 'kind: Deployment']);
  assert.deepEqual(complaints, [], 'the editor keeps to the policy of the page');
});

test('markup in names, labels, annotations and events is shown as text', needsBrowser, async () => {
  const evil = '<img src=/evil onerror=alert(1)>';
  const { store } = site.simulators[0]!;
  store.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'markup',
      namespace: 'shop',
      annotations: { page: 'javascript:alert(1)', note: evil, doc: 'https://example.com/a' },
    },
    data: { text: evil },
  });
  const { page, requests } = await open('ada', '/console/c/frankfurt/api/v1/namespaces/shop/configmaps/markup');
  await page.locator('pre').getByText(evil).waitFor();
  await page.getByText('3 annotations').click();
  await page.locator('dd').getByText(evil).waitFor();
  assert.equal(await page.locator('main img').count(), 0);
  assert.deepEqual(await page.locator('main a[href^="javascript"]').count(), 0);
  assert.equal(await page.getByRole('link', { name: /example\.com/ }).getAttribute('rel'), 'noopener noreferrer');
  assert.deepEqual(
    requests.filter((url) => url.includes('evil')),
    [],
  );
});

test('from a Deployment to its Pods and back up', needsBrowser, async () => {
  const { page } = await open('ada', `${checkout}?tab=related`);
  const pod = page
    .locator('.tree')
    .getByRole('link', { name: /^checkout-.*-.*/ })
    .last();
  await pod.click();
  await page.waitForURL(/\/pods\/checkout-/);
  await page.getByRole('link', { name: 'Related' }).click();
  await page.locator('.tree').getByRole('link', { name: 'checkout', exact: true }).click();
  await page.waitForURL(/deployments\/checkout/);
});

test('a log follows, is searched, and is asked no longer when its view is left', needsBrowser, async () => {
  const { page, complaints } = await open('ada', `${checkout}?tab=logs`);
  await page.getByText('following').waitFor();
  const lines = page.locator('.log span');
  const first = await lines.count();
  await eventually('more lines come', async () => (await lines.count()) > first);
  const word = (await lines.first().innerText()).trim().split(' ').at(-1)!;
  await page.getByLabel('Only lines with').fill(word);
  await eventually('only lines with it', async () =>
    (await lines.allInnerTexts()).every((line) => line.toLowerCase().includes(word.toLowerCase())),
  );
  const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/log?'));
  await page.getByRole('link', { name: 'Summary' }).click();
  await ended;
  assert.deepEqual(complaints, []);
});

test('a shell runs what is typed, says its exit code, and keeps to the policy of the page', needsBrowser, async () => {
  const { page, complaints } = await open(
    'ada',
    '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0?tab=terminal',
  );
  await page.getByRole('button', { name: 'Open a shell' }).click();
  const shell = page.locator('.shell');
  await page.getByText('open; Ctrl+Shift+E').waitFor();
  await shell.locator('textarea').focus();
  await eventually('a prompt', async () => (await shell.innerText()).trim() !== '');
  await page.keyboard.type('hostname\n');
  await eventually('its answer', async () => (await shell.innerText()).split('postgres-0').length > 1);
  await page.keyboard.type('exit 3\n');
  await page.getByText('ended with exit code 3').waitFor();
  assert.deepEqual(complaints, []);
});

test('who may not open a shell is told which right it takes', needsBrowser, async () => {
  const { page } = await open('ben', '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0?tab=terminal');
  await page.getByText('frankfurt does not let you').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Open a shell' }).isDisabled());
});

test(
  'a change is tried and compared before it is applied, and a change of somebody else meanwhile wins',
  needsBrowser,
  async () => {
    const { store } = site.simulators[0]!;
    store.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace: 'shop' },
      data: { mode: 'slow', gone: 'x' },
    });
    const dataOf = (): object => store.get('ConfigMap', 'shop', 'settings')!['data'] as object;
    const { page } = await open('ada', '/console/c/frankfurt/api/v1/namespaces/shop/configmaps/settings?tab=yaml');
    const edit = async (from: string, to: string, meanwhile?: () => void): Promise<void> => {
      await page.getByRole('button', { name: 'Edit' }).click();
      const content = page.locator('.cm-content[contenteditable="true"]');
      await content.waitFor();
      meanwhile?.();
      const text = (await content.locator('.cm-line').allInnerTexts()).join('\n').replace(from, to);
      await content.fill(text);
      await page.getByRole('button', { name: 'Try it and compare' }).click();
    };
    await edit('  mode: slow\n  gone: x', '  mode: fast');
    await page.getByText('This is what would change').waitFor();
    assert.deepEqual(dataOf(), { mode: 'slow', gone: 'x' }, 'a dry run changes nothing');
    await page.getByRole('button', { name: 'Apply this change' }).click();
    await eventually('it is applied', () => JSON.stringify(dataOf()) === '{"mode":"fast"}');
    await page.getByRole('button', { name: 'Edit' }).waitFor();
    await edit('mode: fast', 'mode: mine', () =>
      store.update('ConfigMap', 'shop', 'settings', (next) => (next['data'] = { mode: 'theirs' })),
    );
    await page.getByRole('alert').getByText('409 Conflict').waitFor();
    assert.match(await page.locator('.cm-content').innerText(), /mode: mine/, 'what was typed is kept');
    assert.deepEqual(dataOf(), { mode: 'theirs' });
  },
);

test('a Secret shows its keys, and a value only after a press, never in its YAML', needsBrowser, async () => {
  site.simulators[0]!.store.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'password', namespace: 'shop' },
    data: { word: Buffer.from('open sesame').toString('base64') },
  });
  const { page } = await open('ada', '/console/c/frankfurt/api/v1/namespaces/shop/secrets/password');
  await page.getByText('11 bytes').waitFor();
  const document = (): Promise<string> => page.evaluate<string>('document.documentElement.outerHTML');
  const values = /open sesame|b3BlbiBzZXNhbWU/;
  assert.doesNotMatch(await document(), values);
  await show(page, `${new URL(page.url()).pathname}?tab=yaml`);
  await page.locator('.cm-content').getByText('not shown').waitFor();
  assert.doesNotMatch(await document(), values);
  await show(page, new URL(page.url()).pathname);
  await page.getByRole('button', { name: 'Show word' }).click();
  assert.match(await document(), /open sesame/);
});
