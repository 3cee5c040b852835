// The console in a real Chromium when something breaks: refusals, cut streams, a gateway that goes away, another build.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { startBalancer } from '../../hub/balancer.ts';
import { eventually } from '../../site/polling.ts';
import { columnOf, isLive, rowsOf, show } from './console-page.ts';
import { missingBrowser, onlyInChromium } from './browser.ts';
import { everyClusterIndexed, indexPath, startConsoleSite } from './console-site.ts';
import type { ConsoleSite, Visit, VisitOptions } from './console-site.ts';
import { clusterRoleBinding, userSubject } from '../../site/rbac.ts';
import { customResource } from '../../site/custom-resource.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const checkout = '/console/c/frankfurt/apis/apps/v1/namespaces/shop/deployments/checkout';
const lists = `**${indexPath}/proxy/api/v1/pods?**limit=**`;
const watches = `**${indexPath}/proxy/api/v1/pods?**watch=true**`;
let site: ConsoleSite;

before(async () => {
  if (missing !== undefined) return;
  site = await startConsoleSite({}, 0, ([frankfurt]) => {
    frankfurt!.store.apply(widgets);
    frankfurt!.store.apply(clusterRoleBinding('ada-may-do-all', 'cluster-admin', userSubject('ada')));
    frankfurt!.store.apply({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'left', namespace: 'shop' },
      spec: { colour: 'red' },
      status: { conditions: [{ type: 'Painted', status: 'True', reason: 'Dry' }] },
    });
  });
  await everyClusterIndexed(site);
});
after(() => site?.close());
afterEach(() => site?.closeVisits());

function open(path: string, options?: VisitOptions): Promise<Visit> {
  return site.logIn('ada', path, options);
}

const widgets = customResource('widgets.example.com', 'Widget', {
  version: { additionalPrinterColumns: [{ name: 'Colour', type: 'string', jsonPath: '.spec.colour' }] },
});
const worksGroup = 'work.open-cluster-management.io';

/** A ManifestWork of the hub for a cluster. */
function workFor(namespace: string, conditions: readonly object[]): Record<string, unknown> {
  const manifests = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } }];
  return {
    apiVersion: `${worksGroup}/v1`,
    kind: 'ManifestWork',
    metadata: { name: 'rollout', namespace },
    spec: { workload: { manifests } },
    status: { conditions },
  };
}

test('a custom kind has the columns of its definition, and its conditions in its summary', needsBrowser, async () => {
  await eventually('it is in the index', async () => {
    const { count } = await site.ask<{ count?: number }>('ada', `${indexPath}/counts?resource=widgets.example.com`);
    return count === 1;
  });
  const { page } = await open('/console/search?kind=widgets.example.com');
  await isLive(page);
  const titles = await page.locator('.rows th').allInnerTexts();
  assert.ok(titles.includes('Colour'), titles.join());
  assert.deepEqual(await columnOf(page, titles.indexOf('Colour') + 1), ['red']);
  await page.getByRole('link', { name: 'left', exact: true }).click();
  await page.getByText('Painted: True').waitFor();
});

test('works say of each cluster how far it is with them, and lead to their objects', needsBrowser, async () => {
  const { store } = site.simulators[0]!;
  const { page } = await open('/console/works');
  await page.getByText('There are no works here').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Works', exact: true }).count(), 0);
  store.apply(customResource(`manifestworks.${worksGroup}`, 'ManifestWork'));
  for (const namespace of ['frankfurt', 'staging', 'virginia'])
    store.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const applied = { type: 'Applied', status: 'True' };
  store.apply(workFor('frankfurt', [applied, { type: 'Available', status: 'True' }]));
  store.apply(workFor('staging', []));
  store.apply(workFor('virginia', [{ type: 'Applied', status: 'False', message: 'no right to create configmaps' }]));
  await eventually('they are in the index', async () => {
    const { count } = await site.ask<{ count?: number }>(
      'ada',
      `${indexPath}/counts?resource=manifestworks.${worksGroup}`,
    );
    return count === 3;
  });
  const again = await open('/console/');
  await again.page.getByRole('link', { name: 'Works', exact: true }).click();
  const rows = again.page.locator('.plain-rows tbody tr');
  await rows.nth(2).waitFor();
  const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
  assert.match(texts[0]!, /^rollout frankfurt Available 1 /);
  assert.match(texts[1]!, /^rollout staging Waiting 1 /);
  assert.match(texts[2]!, /^rollout virginia Not applied 1 .*no right to create configmaps/);
  await rows.nth(2).getByRole('link', { name: 'rollout' }).click();
  await again.page.waitForURL(/\/c\/frankfurt\/apis\/work.*\/namespaces\/virginia\/manifestworks\/rollout/);
  await again.page.getByText('Applied: False').waitFor();
});

/** Answers as the gateway refuses. */
function refuse(route: Route, code: number, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason: `Reason${code}`,
    message: `words ${code}`,
  };
  const headers = { 'audit-id': `audit-${code}`, 'content-type': 'application/json', ...more };
  return route.fulfill({ status: code, headers, body: JSON.stringify(body) });
}

test('each refusal is told in its own words, with what to do next and the Audit-Id', needsBrowser, async () => {
  const { page } = await open('/console/');
  const nextSteps = { 403: 'rights', 404: 'deleted', 409: 'changed meanwhile', 503: 'problem', 504: 'problem' };
  let code = 403;
  await page.route(lists, (route) => refuse(route, code));
  for (const [status, next] of Object.entries(nextSteps)) {
    code = Number(status);
    await show(page, `/console/search?kind=pods&q=name:x${status}`);
    const alert = page.getByRole('alert').filter({ hasText: `Reason${status}` });
    await alert.waitFor();
    const text = await alert.innerText();
    for (const part of [`words ${status}`, next, `audit-${status}`]) assert.ok(text.includes(part), `${part}: ${text}`);
  }
});

test('the page waits as long as the gateway asks it to, and then goes on by itself', needsBrowser, async () => {
  const { page } = await open('/console/');
  const askedMs: number[] = [];
  await page.route(lists, (route) => {
    askedMs.push(performance.now());
    return askedMs.length === 1 ? refuse(route, 429, { 'retry-after': '2' }) : route.continue();
  });
  await show(page, '/console/search?kind=pods');
  await page.getByText('words 429').waitFor();
  await isLive(page);
  assert.ok(askedMs[1]! - askedMs[0]! >= 1990, `asked again after ${askedMs[1]! - askedMs[0]!} ms`);
  assert.equal(await page.getByRole('alert').count(), 0);
});

const needsInterception = { skip: missing ?? onlyInChromium('it intercepts streams') ?? false };

test(
  'a list whose version is too old is read again without a word, and a cut stream is opened again',
  needsInterception,
  async () => {
    const { page } = await open('/console/');
    let opened = 0;
    let listed = 0;
    const tooOld = { type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old', reason: 'Expired' } };
    await page.route(lists, (route) => ((listed += 1), route.continue()));
    await page.route(watches, (route) => {
      opened += 1;
      if (opened === 1) return route.fulfill({ status: 200, body: `${JSON.stringify(tooOld)}\n` });
      if (opened === 2) return route.abort('connectionreset');
      return route.continue();
    });
    await show(page, '/console/search?kind=pods&q=ns:shop');
    await eventually('a third watch', () => opened >= 3);
    await isLive(page);
    assert.ok(listed >= 2, `${listed} lists`);
    assert.equal(await page.getByRole('alert').count(), 0);
  },
);

/** Makes the checkout of frankfurt as large as that, and waits until the page shows it. */
async function scale(page: Page, replicas: number): Promise<void> {
  site.simulators[0]!.store.update(
    'Deployment',
    'shop',
    'checkout',
    (next) => ((next['spec'] as { replicas: number }).replicas = replicas),
  );
  await rowsOf(page).getByText(`${replicas}/${replicas}`).waitFor();
}

test('many changes a second are drawn at most four times a second', needsBrowser, async () => {
  const { page } = await open('/console/search?kind=configmaps&q=cluster:frankfurt+name:busy');
  await isLive(page);
  await page.evaluate(`
    window.drawn = 0;
    new MutationObserver((all) => {
      if (all.some(({ target }) => (target.closest ?? target.parentElement.closest).call(target.closest ? target : target.parentElement, 'time') === null)) window.drawn += 1;
    }).observe(document.querySelector('.results'), { childList: true, characterData: true, subtree: true });
    window.began = performance.now();
  `);
  const { store } = site.simulators[0]!;
  for (let i = 1; i <= 150; i++) {
    store.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `busy-${i}`, namespace: 'shop' }, data: {} });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await eventually('all are there', async () => (await page.locator('.summary strong').innerText()) === '150');
  const [drawn, seconds] = await page.evaluate<[number, number]>('[drawn, (performance.now() - began) / 1000]');
  assert.ok(drawn > 0 && drawn <= 4 * seconds + 2, `drawn ${drawn} times in ${seconds} s`);
});

test('a gateway that is started again is live again on the page, which was not loaded anew', needsBrowser, async () => {
  const { page } = await open('/console/search?kind=deployments.apps&q=cluster:frankfurt+ns:shop');
  await isLive(page);
  await page.evaluate('window.same = true');
  await site.restart();
  await everyClusterIndexed(site);
  await scale(page, 6);
  await isLive(page);
  assert.equal(await page.evaluate('window.same'), true);
  assert.equal(await page.getByText('newer console').count(), 0);
});

test('a page goes on at another replica, whose index has versions of its own', needsBrowser, async () => {
  const replica = await site.startReplica();
  const ports = [Number(new URL(site.url).port)];
  const balancer = await startBalancer(ports);
  try {
    const url = `https://127.0.0.1:${balancer.port}`;
    const { page } = await open('/console/search?kind=deployments.apps&q=cluster:frankfurt+ns:shop', { url });
    await isLive(page);
    ports[0] = Number(new URL(replica).port);
    balancer.cut();
    await scale(page, 7);
    await isLive(page);
  } finally {
    balancer.close();
  }
});

test('after an upgrade the page offers the newer console, and what it has loaded goes on', needsBrowser, async () => {
  const { page } = await open('/console/');
  await rowsOf(page).nth(2).waitFor();
  await page.route('**/console/assets/part-*', (route) => route.fulfill({ status: 404 }));
  await page.route('**/console/', (route) =>
    route.fulfill({ status: 200, body: '<script src="main-other.js"></script>' }),
  );
  await show(page, `${checkout}?tab=yaml`);
  await page.getByText('The gateway has a newer console').waitFor();
  await page.getByText('could not be loaded').waitFor();
  await show(page, checkout);
  await page.getByText('Strategy').waitFor();
  await page.unroute('**/console/');
  await page.unroute('**/console/assets/part-*');
  await page.getByRole('button', { name: 'Load it' }).click();
  await page.getByLabel('Bearer token').waitFor();
  assert.equal(await page.getByText('newer console').count(), 0);
});
