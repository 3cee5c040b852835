// Who attacks the console in a real Chromium: names, labels, log lines and messages that are markup, links that say one
// cluster and mean another, members that answer pages, and places where a token could be left behind.
// Landing tier: a link to the console leads to no other cluster or object.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../../site/polling.ts';
import { missingBrowser } from './browser.ts';
import { isLive, rowsOf, show } from './console-page.ts';
import { everyClusterIndexed, indexPath, protectedCluster, startConsoleSite } from './console-site.ts';
import type { ConsoleSite, Visit } from './console-site.ts';
import { newServer } from '../../pretend/server.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const evil = '<img src=/evil onerror=alert(1)><script>alert(1)</script>';
const postgres = '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0';
let site: ConsoleSite;

before(async () => {
  if (missing !== undefined) return;
  site = await startConsoleSite({}, 0, (simulators) => {
    for (const { store, name } of simulators) {
      store.apply({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'target', namespace: 'shop' },
        data: { cluster: name },
      });
    }
  });
  await everyClusterIndexed(site);
});
after(() => site?.close());
afterEach(() => site?.closeVisits());

function open(path: string): Promise<Visit> {
  return site.logIn('ada', path);
}

/** Checks that nothing of the markup came to life: no element, no dialog, no request, no complaint of the policy. */
async function isInert({ page, requests, complaints }: Visit, where: string): Promise<void> {
  assert.equal(await page.locator('main img, main script, main iframe').count(), 0, where);
  assert.equal(await page.locator('main a[href^="javascript" i], main a[href^="data:" i]').count(), 0, where);
  assert.deepEqual(
    requests.filter((url) => new URL(url).pathname.endsWith('/evil')),
    [],
    where,
  );
  assert.deepEqual(
    complaints.filter((text) => !/status of (?:400|403|404)/.test(text)),
    [],
    where,
  );
}

/** Fails the test as soon as the page opens a dialog. */
function watchDialogs(page: Page): readonly string[] {
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  return dialogs;
}

test('markup in whatever a view takes from its address is shown as text', needsBrowser, async () => {
  const visit = await open('/console/');
  const dialogs = watchDialogs(visit.page);
  const text = encodeURIComponent(evil.replaceAll('/', ''));
  for (const path of [
    `/console/search?q=${encodeURIComponent(evil)}`,
    `/console/search?kind=${encodeURIComponent(evil)}`,
    `/console/search?kind=pods&sort=${encodeURIComponent(evil)}`,
    `/console/clusters?cluster=${encodeURIComponent(evil)}`,
    `/console/access?namespace=${encodeURIComponent(evil)}&verb=${encodeURIComponent(evil)}&resource=${encodeURIComponent(evil)}&in=${encodeURIComponent(evil)}`,
    `/console/c/${text}/api/v1/namespaces/${text}/pods/${text}`,
    `/console/c/frankfurt/apis/${text}/${text}/${text}/${text}`,
    `${postgres}?tab=logs&container=${encodeURIComponent(evil)}&since=${encodeURIComponent(evil)}`,
    `${postgres}?tab=${encodeURIComponent(evil)}`,
    `/console/${encodeURIComponent(evil)}`,
  ]) {
    await show(visit.page, path);
    await visit.page.locator('main').getByText(/\S/).first().waitFor();
    await eventually('nothing is loading', async () => (await visit.page.locator('main .loading').count()) === 0);
    await isInert(visit, path);
  }
  assert.deepEqual(dialogs, []);
});

test('markup in the words of a refusal is shown as text', needsBrowser, async () => {
  const visit = await open('/console/');
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 403, reason: evil, message: evil };
  await visit.page.route('**/clusters/frankfurt/proxy/**', (route) =>
    route.fulfill({ status: 403, contentType: 'application/json', body: JSON.stringify(body) }),
  );
  await show(visit.page, '/console/c/frankfurt/api/v1/namespaces/shop/configmaps/target');
  await visit.page.getByRole('alert').getByText(evil, { exact: true }).waitFor();
  await isInert(visit, 'a refusal');
});

test(
  'a log line with markup, colours, a link of terminals and a title is plain text without them',
  needsBrowser,
  async () => {
    const visit = await open('/console/');
    const line = `2026-01-01T00:00:00Z ${evil} \u001B[31mred\u001B[0m \u001B]8;;https://evil.example\u0007link\u001B]8;;\u0007 \u001B]0;title\u0007\u001B]52;c;eA==\u0007end\n`;
    await visit.page.route('**/pods/postgres-0/log?**', (route) =>
      route.fulfill({ status: 200, contentType: 'text/plain', body: line }),
    );
    const title = await visit.page.title();
    await show(visit.page, `${postgres}?tab=logs`);
    await visit.page.locator('.log').getByText(`${evil} red link end`).waitFor();
    assert.equal(await visit.page.locator('.log a').count(), 0);
    assert.notEqual(await visit.page.title(), 'title');
    assert.notEqual(title, '');
    await isInert(visit, 'a log line');
  },
);

test('a link that names one cluster reads and changes nothing in another (ATT-58)', needsBrowser, async () => {
  const { page, requests } = await open('/console/');
  const up = '..%2F'.repeat(4);
  const other = encodeURIComponent(`clusters/${protectedCluster}/proxy/api`);
  for (const path of [
    `/console/c/staging/apis/${up}${other}/v1/namespaces/shop/configmaps/target`,
    `/console/c/staging/api/${up}${other}%2Fv1/namespaces/shop/configmaps/target`,
    `/console/c/staging/api/v1/namespaces/shop/${up}configmaps/target`,
    `/console/c/staging/api/v1/namespaces/shop/configmaps/..%2F..%2Fsecrets`,
    `/console/c/..%2F${protectedCluster}/api/v1/namespaces/shop/configmaps/target`,
    '/console/c/staging/api/v1/namespaces/shop/configmaps%3Fx=1/target',
    '/console/c/staging/api/v1/namespaces/shop/configmaps/',
  ]) {
    await show(page, path);
    await page.getByText('There is no such view').waitFor();
    assert.equal(await page.getByText(protectedCluster, { exact: true }).count(), 0, path);
  }
  assert.deepEqual(
    requests.filter((url) => url.includes(`/clusters/${protectedCluster}/`)),
    [],
  );
});

test('a command that people copy holds the words of an address in quotes', needsBrowser, async () => {
  const { page } = await open('/console/');
  const lines: Readonly<Record<string, RegExp>> = {
    '/console/search?kind=pods&q=ns:shop;id': / -n 'shop;id'$/,
    '/console/access?verb=get;id&resource=pods&namespace=$(id)': / can-i 'get;id' pods/,
    '/console/c/frankfurt/api/v1/namespaces/$(id)/pods/none': / -n '\$\(id\)' /,
  };
  for (const [path, wanted] of Object.entries(lines)) {
    await show(page, path);
    await page.locator('.command code').getByText(wanted).first().waitFor();
  }
});

test(
  'a member that answers a page instead of an object is told so, and its page is not shown',
  needsBrowser,
  async () => {
    const visit = await open('/console/');
    await visit.page.route('**/clusters/frankfurt/proxy/api/v1/namespaces/shop/configmaps/**', (route) =>
      route.fulfill({
        status: 200,
        contentType: 'text/html',
        body: `<html><body>${evil}<h1>Log in here</h1></body></html>`,
      }),
    );
    // Without a copy in the index there is nothing else to show.
    await visit.page.route(`**${indexPath}/proxy/clusters/**`, (route) => route.fulfill({ status: 404, body: '{}' }));
    await show(visit.page, '/console/c/frankfurt/api/v1/namespaces/shop/configmaps/target');
    await visit.page.getByRole('alert').getByText('text/html').waitFor();
    assert.equal(await visit.page.getByText('Log in here').count(), 0);
    await isInert(visit, 'a page for an object');
  },
);

test('the token is in no address, no history, no storage, no document and no Referer', needsBrowser, async () => {
  const { page, context, requests } = await open('/console/search?kind=pods');
  await isLive(page);
  await rowsOf(page).first().waitFor();
  await show(page, `${postgres}?tab=terminal`);
  await page.getByRole('button', { name: 'Open a shell' }).click();
  await page.getByText('open; Ctrl+Shift+E').waitFor();
  await show(page, '/console/health');
  await page.getByText('What this page has asked').waitFor();
  const token = site.tokenOf('ada');
  assert.deepEqual(
    requests.filter((url) => url.includes(token)),
    [],
  );
  const kept = await page.evaluate<string>(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(), await caches.keys(),
    history.state, location.href, document.documentElement.outerHTML, name,
    performance.getEntries().map(({ name }) => name),
  ]))()`);
  assert.ok(!kept.includes(token), 'it is in the page');
  assert.deepEqual(await context.cookies(), []);
  for (let i = 0; i < 2; i++) {
    await page.goBack();
    assert.ok(!page.url().includes(token));
  }
});

test('a link from an object to another site takes along neither where it was nor the page', needsBrowser, async () => {
  const seen: (string | undefined)[] = [];
  const server = await newServer((request, response) => {
    if (request.url === '/runbook') seen.push(request.headers.referer);
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<script>document.title = String(opener === null) + document.referrer</script>');
  });
  try {
    const runbook = `${server.url}/runbook`;
    site.simulators[0]!.store.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'linked', namespace: 'shop', annotations: { runbook, bad: 'javascript:alert(1)' } },
      data: {},
    });
    const { page, context } = await open('/console/c/frankfurt/api/v1/namespaces/shop/configmaps/linked');
    await page.getByText('2 annotations').click();
    const opened = context.waitForEvent('page');
    await page.getByRole('link', { name: /runbook/ }).click();
    const other = await opened;
    await other.waitForFunction('document.title !== ""');
    assert.equal(await other.title(), 'true', 'it has no opener and no referrer');
    assert.deepEqual(seen, [undefined]);
  } finally {
    await server.close();
  }
});
