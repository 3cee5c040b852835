// A day of the console in a real Chromium, in minutes: every hour a cluster goes away and comes back, tokens expire
// many times, and the gateway is started again every sixth hour. The page is loaded once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startBalancer } from '../../hub/balancer.ts';
import type { Balancer } from '../../hub/balancer.ts';
import { eventually } from '../../site/polling.ts';
import { missingBrowser } from './browser.ts';
import { startOpenIdSite } from './console-openid-site.ts';
import type { OpenIdSite } from './console-openid-site.ts';
import { isLive, rowsOf, show } from './console-page.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const hours = 24;
const idTokenSeconds = 8;
/** From the second hour on the page has loaded all its parts, and V8 has compiled what it runs often. */
const settledHour = 6;
const moreHeapBytes = 3_000_000;
const moreNodes = 500;
const pod = '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0';
/** What somebody looks at in the course of an hour, and a text by which each view has what it shows. */
const views = [
  ['/console/access', 'You are'],
  ['/console/health', 'Checks of the gateway'],
  [pod, 'Conditions'],
  [`${pod}?tab=yaml`, 'apiVersion'],
  [`${pod}?tab=events`, 'kubectl'],
  [`${pod}?tab=logs`, 'following'],
] as const;
/** The port of the cluster that comes and goes; none while it is away. */
const ports: number[] = [];
let balancer: Balancer;
let made: OpenIdSite;

before(async () => {
  if (missing !== undefined) return;
  balancer = await startBalancer(ports);
  made = await startOpenIdSite({
    idTokenSeconds,
    addressOf: ({ name, url }) => {
      if (name !== 'virginia') return url;
      ports[0] = Number(new URL(url).port);
      return `https://127.0.0.1:${balancer.port}`;
    },
  });
});
after(async () => {
  await made?.close();
  balancer?.close();
});

/** What the page holds after its garbage is collected. */
async function weigh(page: Page): Promise<{ readonly heapBytes: number; readonly nodes: number }> {
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devTools.send('Runtime.getHeapUsage');
  const { nodes } = await devTools.send('Memory.getDOMCounters');
  await devTools.detach();
  return { heapBytes: usedSize, nodes };
}

/** The cluster goes away, the page says so by itself, the cluster comes back, and the page says that too. */
async function flap(page: Page): Promise<void> {
  await show(page, '/console/clusters');
  const row = rowsOf(page).filter({ hasText: 'virginia' });
  await row.getByText('Available', { exact: true }).waitFor();
  const [port] = ports.splice(0);
  balancer.cut();
  await row.getByText('Available', { exact: true }).waitFor({ state: 'detached' });
  ports[0] = port!;
  await row.getByText('Available', { exact: true }).waitFor();
}

/** Changes something in a cluster, and waits until a search that is open shows it. */
async function changeAndSee(page: Page, hour: number): Promise<void> {
  await show(page, '/console/search?kind=configmaps&q=cluster:frankfurt+name:hour');
  await isLive(page);
  made.site.simulators[0]!.store.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `hour-${hour}`, namespace: 'shop' },
    data: {},
  });
  await rowsOf(page).getByText(`hour-${hour}`, { exact: true }).waitFor();
}

test(
  'in a day of clusters that come and go, tokens that expire and gateways that are started again, no page is loaded anew, and none grows',
  needsBrowser,
  async (t) => {
    const { page, context, requests } = await made.logIn('/console/');
    await page.evaluate('window.same = true');
    const renewals = (): number => requests.filter((url) => url === `${made.provider.url}/token`).length - 1;
    let settled: Awaited<ReturnType<typeof weigh>> | undefined;
    for (let hour = 0; hour < hours; hour++) {
      await flap(page);
      const before = renewals();
      if (hour % 6 === 5) await made.site.restart();
      await changeAndSee(page, hour);
      for (const [path, text] of views) {
        await show(page, path);
        await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
      }
      await eventually('the login is renewed', () => renewals() > before, { timeoutMs: 4 * idTokenSeconds * 1000 });
      if (hour === settledHour) settled = await weigh(page);
    }
    await changeAndSee(page, hours);
    assert.equal(await page.evaluate('window.same'), true, 'the page was loaded anew');
    await show(page, views[0][0]);
    await page.getByText('OpenID Connect').waitFor();
    const end = await weigh(page);
    t.diagnostic(
      `${hours} hours, ${renewals()} renewals; after hour ${settledHour} ${JSON.stringify(settled)}, at the end ${JSON.stringify(end)}`,
    );
    assert.ok(end.heapBytes - settled!.heapBytes < moreHeapBytes, 'the heap grows');
    assert.ok(end.nodes - settled!.nodes < moreNodes, 'the document grows');
    assert.equal(context.pages().length, 1);
    assert.equal(await page.getByRole('alert').count(), 0);
    await context.close();
  },
);
