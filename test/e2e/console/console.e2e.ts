// The console in a real Chromium, against a gateway and simulated clusters: what people see, and what they do not.
// Landing tier: the console in a real browser.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from '../../site/polling.ts';
import { columnOf, isLive, rowsOf, show } from './console-page.ts';
import { missingBrowser, onlyInChromium } from './browser.ts';
import { everyClusterIndexed, indexPath, startConsoleSite } from './console-site.ts';
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

function open(
  user: string,
  path: string,
  options: { readonly dark?: boolean; readonly width?: number } = {},
): Promise<Visit> {
  return site.logIn(user, path, options);
}

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
    const kept = await page.evaluate(
      `(async () => [{ ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases()])()`,
    );
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
  const bytes = await page.evaluate<number>(
    `[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
      .filter(({ name }) => name.includes('/console/'))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
  );
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes > 10_000 && bytes <= 60_000, `${bytes} bytes`);
});

test('a search has the rows of all clusters, as many as the index counts', needsBrowser, async () => {
  const { page } = await open('ada', '/console/search?kind=pods');
  await isLive(page);
  const { count } = await site.ask<{ count: number }>('ada', `${indexPath}/counts?resource=pods`);
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
    const { count } = await site.ask<{ count: number }>('ben', `${indexPath}/counts?resource=pods`);
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
  'a word narrows the table, and one that the index does not understand is told in its own words while the table stays',
  needsBrowser,
  async () => {
    const { page } = await open('ada', '/console/search?kind=pods');
    await isLive(page);
    await page.locator('#question').fill('image~valkey');
    await page.locator('#question').press('Enter');
    await eventually('only pods with that image', async () =>
      (await columnOf(page, 3)).every((name) => name.startsWith('valkey-')),
    );
    const before = await columnOf(page, 3);
    assert.ok(before.length > 0);
    await page.locator('#question').fill('spec.[x=1');
    await page.locator('#question').press('Enter');
    const notice = page.getByRole('alert');
    await notice.waitFor();
    const query = new URLSearchParams({ filter: 'spec.[x=1' });
    const { message } = await site.ask<{ message: string }>('ada', `${indexPath}/proxy/api/v1/pods?${query}`);
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
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'checkout');
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

const needsThemes = { skip: missing ?? onlyInChromium('the themes are emulated') ?? false };

test('no view has a fault that axe finds, in either theme and on a phone', needsThemes, async () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Each view, and a text by which it has all that it shows.
  const views = [
    ['/console/', 'frankfurt'],
    ['/console/clusters?cluster=frankfurt', 'Conditions'],
    ['/console/search', 'live'],
    ['/console/search?q=nothing-has-this', 'No pods here'],
    ['/console/search?kind=nosuch', 'is not in the index'],
    ['/console/access?verb=get&resource=pods', 'frankfurt: yes'],
    ['/console/health', 'index: well'],
    ['/console/works', 'no works here'],
    ['/console/nowhere', 'no such view'],
    ['/console/design', 'Refusals'],
    ['/console/c/frankfurt/api/v1/nodes/none', '404'],
    [checkout, 'Strategy'],
    [`${checkout}?tab=yaml`, 'apiVersion'],
    [`${checkout}?tab=events`, 'Last seen'],
    [`${checkout}?tab=related`, 'ReplicaSet'],
    [`${checkout}?tab=logs`, 'following'],
    ['/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0?tab=terminal', 'Open a shell'],
  ] as const;
  for (const options of [{}, { dark: true }, { width: 390 }]) {
    const { page, requests } = await open('ada', '/console/', options);
    // The policy of the page lets no script in by an element; DevTools may run one.
    await page.evaluate(`${axe}; undefined`);
    const check = async (path: string): Promise<void> => {
      // A colour that is still changing is none that anybody reads by. A change may begin with the next frame only.
      await page.evaluate(`(async () => {
        const changing = () => document.getAnimations().filter((each) => each instanceof CSSTransition);
        for (let quiet = 0; quiet < 3; quiet += 1) {
          await new Promise((resolve) => requestAnimationFrame(resolve));
          if (changing().length > 0) quiet = 0;
          await Promise.allSettled(changing().map((each) => each.finished));
        }
      })()`);
      const { violations } = (await page.evaluate(
        `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })`,
      )) as { violations: readonly { id: string; nodes: readonly { html: string; failureSummary: string }[] }[] };
      const faults = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(' | ')}`,
      );
      assert.deepEqual(faults, [], `${path} ${JSON.stringify(options)}`);
    };
    for (const [path, text] of views) {
      await show(page, path);
      await page.locator('main').getByText(text).first().waitFor();
      await check(path);
    }
    await page.route('**/selfsubjectrulesreviews', () => undefined);
    await show(page, '/console/access?namespace=loading');
    await page.getByText('Loading your rights').waitFor();
    await check('a view that waits for its answer');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Bearer token').waitFor();
    await check('the log-in');
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(`${site.url}/`) && !url.startsWith('data:')),
      [],
      'nobody but the gateway is asked',
    );
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
