// How long a login lasts in the console in a real Chromium: tokens of a real OpenID provider expire within seconds.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../../site/polling.ts';
import { missingBrowser } from './browser.ts';
import { startOpenIdSite } from './console-openid-site.ts';
import type { OpenIdSite } from './console-openid-site.ts';
import { isLive, rowsOf, show } from './console-page.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const idTokenSeconds = 8;
let made: OpenIdSite;

before(async () => {
  if (missing === undefined) made = await startOpenIdSite({ idTokenSeconds });
});
after(() => made?.close());

test('a login outlives its tokens: they are renewed one at a time, and the watch goes on', needsBrowser, async () => {
  const { page, context, requests } = await made.logIn(
    '/console/search?kind=deployments.apps&q=cluster:frankfurt+ns:shop',
  );
  await isLive(page);
  const watches = (): number => requests.filter((url) => url.includes('watch=true')).length;
  const renewals = (): number => requests.filter((url) => url === `${made.provider.url}/token`).length - 1;
  const first = watches();
  await eventually('two renewals, and a watch with a new token', () => renewals() >= 2 && watches() > first, {
    timeoutMs: 4 * idTokenSeconds * 1000,
  });
  await isLive(page);
  made.site.simulators[0]!.store.update(
    'Deployment',
    'shop',
    'checkout',
    (next) => ((next['spec'] as { replicas: number }).replicas = 6),
  );
  await rowsOf(page).getByText('6/6').waitFor();
  assert.equal(context.pages().length, 1, 'no further tab');
  assert.ok(renewals() <= 5, `${renewals()} renewals`);
  await context.close();
});

test('a shell whose login has expired says so, and another one can be opened at once', needsBrowser, async () => {
  const { page, context } = await made.logIn(
    '/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0?tab=terminal',
  );
  await page.getByRole('button', { name: 'Open a shell' }).click();
  await page.getByText('open; Ctrl+Shift+E').waitFor();
  await page.getByText('open; Ctrl+Shift+E').waitFor({ state: 'detached' });
  assert.match(await page.locator('main .summary').innerText(), /expired/);
  await page.getByRole('button', { name: 'Open a new one' }).click();
  await page.getByText('open; Ctrl+Shift+E').waitFor();
  await context.close();
});

test(
  'while the provider is down one notice says so, the view stays, and the login goes on when it is back',
  needsBrowser,
  async () => {
    const { page, context } = await made.logIn('/console/search?kind=pods&q=cluster:frankfurt');
    await isLive(page);
    const rows = await rowsOf(page).count();
    let attempts = 0;
    await context.route(`${made.provider.url}/**`, (route) => {
      attempts += 1;
      return route.abort();
    });
    const notice = page.getByText('The identity provider does not answer');
    await notice.waitFor();
    // The gateway ends the watch when the token has expired, and refuses the next one.
    await page.locator('.summary').getByText('trying again').waitFor();
    assert.equal(await notice.count(), 1);
    assert.equal(await rowsOf(page).count(), rows, 'what was there can still be read');
    assert.equal(context.pages().length, 1);
    assert.ok(attempts < 20, `${attempts} attempts`);
    await context.unroute(`${made.provider.url}/**`);
    await notice.waitFor({ state: 'detached' });
    await isLive(page);
    await show(page, '/console/access');
    await page.getByText('OpenID Connect').waitFor();
    await context.close();
  },
);
