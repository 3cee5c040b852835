// The console in a real Chromium, against a gateway and simulated clusters: what people see, and what they do not.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { eventually } from '../../site/polling.ts';
import { missingChromium, startConsoleSite } from './console-site.ts';
import type { ConsoleSite, Visit } from './console-site.ts';

const missing = missingChromium();
const needsBrowser = { skip: missing ?? false };
const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const checkout = '/console/c/frankfurt/apis/apps/v1/namespaces/shop/deployments/checkout';
let site: ConsoleSite;
const visits: Visit[] = [];

before(async () => {
  if (missing !== undefined) return;
  site = await startConsoleSite();
  await eventually('every cluster is in the index', async () => {
    const { facets } = await site.ask<{ facets: readonly object[] }>('ada', `${index}/facets?resource=pods&by=cluster`);
    return facets.length === 3;
  });
});
after(() => site?.close());
afterEach(async () => {
  for (const { context } of visits.splice(0)) await context.close();
});

async function open(
  user: string,
  path: string,
  options: { readonly dark?: boolean; readonly width?: number } = {},
): Promise<Visit> {
  const visit = await site.logIn(user, path, options);
  visits.push(visit);
  return visit;
}

/** Goes to another view without loading the page, which would forget the login. */
async function show(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState(null, '', to);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
}

const rowsOf = (page: Page): Locator => page.locator('.rows tbody tr:not([aria-hidden])');
const columnOf = (page: Page, number: number): Promise<string[]> =>
  page.locator(`.rows tbody td:nth-child(${number})`).allInnerTexts();
const isLive = (page: Page): Promise<void> => page.locator('.summary').getByText('live', { exact: true }).waitFor();

test(
  'a pasted token shows the clusters, the page asks nobody but the gateway, and the browser keeps nothing',
  needsBrowser,
  async (t) => {
    const { page, context, complaints, requests } = await open('ada', '/console/');
    await rowsOf(page).nth(2).waitFor();
    assert.deepEqual(await columnOf(page, 1), ['frankfurt', 'staging', 'virginia']);
    assert.deepEqual(complaints, []);
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(`${site.url}/`) && !url.startsWith('data:')),
      [],
    );
    const kept = await page.evaluate(async () => [
      { ...localStorage },
      { ...sessionStorage },
      document.cookie,
      await indexedDB.databases(),
    ]);
    assert.deepEqual(kept, [{}, {}, '', []]);
    assert.deepEqual(await context.cookies(), []);
    const files = requests.filter((url) => url.includes('/console/'));
    t.diagnostic(`files for the first table: ${files.length}`);
    assert.ok(files.length <= 6, files.join(' '));
  },
);

test('what the browser loads before the first table is at most 60 kB', needsBrowser, async (t) => {
  const { page } = await open('ada', '/console/');
  await rowsOf(page).first().waitFor();
  const bytes = await page.evaluate(() =>
    [...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
      .filter(({ name }) => name.includes('/console/'))
      .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0),
  );
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes > 10_000 && bytes <= 60_000, `${bytes} bytes`);
});

test('a search has the rows of all clusters, as many as the index counts', needsBrowser, async () => {
  const { page } = await open('ada', '/console/search?kind=pods');
  await isLive(page);
  const { count } = await site.ask<{ count: number }>('ada', `${index}/counts?resource=pods`);
  assert.equal(await page.locator('.summary strong').innerText(), String(count));
  assert.equal(await page.locator('.rows th').first().innerText(), 'Cluster');
  assert.deepEqual([...new Set(await columnOf(page, 1))].slice(0, 1), ['frankfurt']);
});

test(
  'somebody with one namespace sees that namespace and no trace of others, in rows, counts and facets',
  needsBrowser,
  async () => {
    const { page } = await open('ben', '/console/search?kind=pods');
    await isLive(page);
    const { count } = await site.ask<{ count: number }>('ben', `${index}/counts?resource=pods`);
    assert.equal(await page.locator('.summary strong').innerText(), String(count));
    assert.deepEqual([...new Set(await columnOf(page, 2))], ['shop']);
    const facet = page.locator('fieldset', { hasText: 'Namespace' });
    await facet.locator('a').first().waitFor();
    assert.deepEqual(await facet.locator('a span:first-child').allInnerTexts(), ['shop']);
  },
);

test(
  'clicks on facets narrow the table and stand in the address, which shows the same after another login',
  needsBrowser,
  async () => {
    const { page } = await open('ada', '/console/search?kind=pods');
    await isLive(page);
    await page
      .locator('fieldset', { hasText: 'Cluster' })
      .getByRole('link', { name: /staging/ })
      .click();
    await eventually('only staging', async () => (await columnOf(page, 1)).every((cluster) => cluster === 'staging'));
    await page
      .locator('fieldset', { hasText: 'Phase' })
      .getByRole('link', { name: /Running/ })
      .click();
    await page.waitForURL(/phase/);
    const address = new URL(page.url());
    assert.equal(address.searchParams.get('q'), 'cluster:staging phase=Running');
    await isLive(page);
    const there = await columnOf(page, 3);
    const other = await open('ada', address.pathname + address.search);
    await isLive(other.page);
    await eventually('the same rows', async () => (await columnOf(other.page, 3)).join() === there.join());
    await page.goBack();
    await page.waitForURL((url) => url.searchParams.get('q') === 'cluster:staging');
  },
);

test(
  'a word that the index does not understand is told in its own words, and the table stays',
  needsBrowser,
  async () => {
    const { page } = await open('ada', '/console/search?kind=pods');
    await isLive(page);
    const before = await columnOf(page, 3);
    await page.locator('#question').fill('spec.[x=1');
    await page.locator('#question').press('Enter');
    const notice = page.getByRole('alert');
    await notice.waitFor();
    const query = new URLSearchParams({ filter: 'spec.[x=1' });
    const { message } = await site.ask<{ message: string }>('ada', `${index}/proxy/api/v1/pods?${query}`);
    assert.ok((await notice.innerText()).includes(message), message);
    assert.deepEqual(await columnOf(page, 3), before);
  },
);

test('values are completed from what one may see, by keys alone', needsBrowser, async () => {
  const { page } = await open('ada', '/console/search?kind=pods');
  await isLive(page);
  await page.keyboard.press('/');
  await page.keyboard.type('ns:sh');
  await page.getByRole('option', { name: 'ns:shop' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.searchParams.get('q') === 'ns:shop');
  await eventually('only that namespace', async () =>
    (await columnOf(page, 2)).every((namespace) => namespace === 'shop'),
  );
});

test('a change in a cluster is on the page by itself, and what has the focus keeps it', needsBrowser, async () => {
  const { page } = await open('ada', '/console/search?kind=deployments.apps&q=cluster:virginia+ns:shop');
  await isLive(page);
  const link = page.getByRole('link', { name: 'checkout', exact: true });
  await link.focus();
  site.simulators[1]!.store.update(
    'Deployment',
    'shop',
    'checkout',
    (next) => ((next['spec'] as { replicas: number }).replicas = 5),
  );
  await rowsOf(page).filter({ has: link }).getByText('5/5').waitFor();
  assert.ok(await link.evaluate((element) => element === document.activeElement));
});

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
  await page.getByText(evil).first().waitFor();
  await page.getByText('3 annotations').click();
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
    const edit = async (from: string, to: string): Promise<void> => {
      await page.getByRole('button', { name: 'Edit' }).click();
      const content = page.locator('.cm-content[contenteditable="true"]');
      await content.waitFor();
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
    store.update('ConfigMap', 'shop', 'settings', (next) => (next['data'] = { mode: 'theirs' }));
    await edit('mode: fast', 'mode: mine');
    await page.getByRole('alert').getByText('409').waitFor();
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
  const document = (): Promise<string> => page.evaluate(() => globalThis.document.documentElement.outerHTML);
  const values = /open sesame|b3BlbiBzZXNhbWU/;
  assert.doesNotMatch(await document(), values);
  await show(page, `${new URL(page.url()).pathname}?tab=yaml`);
  await page.locator('.cm-content').getByText('not shown').waitFor();
  assert.doesNotMatch(await document(), values);
  await show(page, new URL(page.url()).pathname);
  await page.getByRole('button', { name: 'Show word' }).click();
  assert.match(await document(), /open sesame/);
});

test('the access page says of every cluster what the cluster itself says', needsBrowser, async () => {
  const deeds = [
    ['list', '', 'pods', ''],
    ['get', '', 'pods', 'log'],
    ['create', '', 'pods', 'exec'],
    ['create', 'apps', 'deployments', ''],
    ['patch', 'apps', 'deployments', ''],
    ['delete', '', 'pods', ''],
    ['get', '', 'secrets', ''],
  ] as const;
  for (const user of ['ada', 'ben']) {
    const { page, requests } = await open(user, '/console/access?namespace=shop');
    const row = page.locator('.matrix tbody tr');
    await row.nth(2).waitFor();
    assert.ok(requests.filter((url) => url.includes('/clusters/')).length <= 3);
    for (const cells of await row.all()) {
      const cluster = await cells.locator('th').innerText();
      for (const [i, [verb, group, resource, subresource]] of deeds.entries()) {
        const resourceAttributes = { verb, group, resource, subresource, namespace: 'shop' };
        const review = {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes },
        };
        const path = `/clusters/${cluster}/proxy/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`;
        const { status } = await site.ask<{ status: { allowed: boolean } }>(user, path, review);
        const said = (await cells.locator('td').nth(i).innerText()).trim();
        assert.equal(said, status.allowed ? 'yes' : 'no', `${user} ${cluster} ${verb} ${resource}/${subresource}`);
      }
    }
  }
});

test('no view has a fault that axe finds, in either theme and on a phone', needsBrowser, async () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const views = [
    '',
    'clusters?cluster=frankfurt',
    'search',
    'search?q=nothing-has-this',
    'search?kind=nosuch',
    'access',
    'health',
    'design',
  ];
  const sides = ['', '?tab=yaml', '?tab=events', '?tab=related', '?tab=logs'];
  const paths = [
    ...views.map((view) => `/console/${view}`),
    ...sides.map((side) => checkout + side),
    '/console/c/frankfurt/api/v1/nodes/none',
  ];
  for (const options of [{}, { dark: true }, { width: 390 }]) {
    const { page } = await open('ada', '/console/', options);
    for (const path of paths) {
      await show(page, path);
      await page
        .getByText(/^Loading/)
        .first()
        .waitFor({ state: 'detached' })
        .catch(() => undefined);
      await page.waitForLoadState('domcontentloaded');
      // The policy of the page lets no script in by an element; DevTools may run one.
      await page.evaluate(`${axe}; undefined`);
      const { violations } = (await page.evaluate(
        `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })`,
      )) as { violations: readonly { id: string; nodes: readonly { html: string; failureSummary: string }[] }[] };
      const faults = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
      );
      assert.deepEqual(faults, [], `${path} ${JSON.stringify(options)}`);
    }
  }
});

test('the command of each view does as kubectl what the view shows', needsBrowser, async () => {
  const { page } = await open('ada', '/console/search?kind=pods&q=cluster:staging');
  await isLive(page);
  const line = await page.locator('.command code').last().innerText();
  const [, path = ''] = /get --raw '?([^']+)'?$/.exec(line) ?? [];
  const { items } = await site.ask<{ items: readonly { metadata: { name: string } }[] }>('ada', path);
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    await columnOf(page, 3),
  );
});

test('a cluster that goes away is named with the reason, and its rows stay', needsBrowser, async () => {
  const { page } = await open('ada', '/console/');
  await rowsOf(page).nth(2).waitFor();
  await site.simulators[2]!.close();
  const row = rowsOf(page).filter({ hasText: 'staging' });
  await eventually('it is not available', async () => !(await row.innerText()).includes('Available'), {
    timeoutMs: 30_000,
  });
  await show(page, '/console/search?kind=pods&q=cluster:staging');
  await isLive(page);
  assert.ok((await rowsOf(page).count()) > 0);
});
