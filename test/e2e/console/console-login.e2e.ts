// Logging in to the console by a real OpenID provider, in a real Chromium.
// Landing tier: logging in to the console.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { OidcProvider } from '../../oidc-provider.ts';
import { missingBrowser } from './browser.ts';
import { startOpenIdSite } from './console-openid-site.ts';
import type { OpenIdSite } from './console-openid-site.ts';
import type { ConsoleSite, Visit } from './console-site.ts';

const missing = missingBrowser();
const needsBrowser = { skip: missing ?? false };
const deepLink = '/console/search?kind=pods&q=ns%3Ashop';
let made: OpenIdSite;
let site: ConsoleSite;
let provider: OidcProvider;

before(async () => {
  if (missing !== undefined) return;
  made = await startOpenIdSite();
  ({ site, provider } = made);
});
after(() => made?.close());
afterEach(() => site?.closeVisits());

function visit(path: string): Promise<Visit> {
  return site.visit(path);
}

const button = { name: /^Log in by 127\.0\.0\.1/ };

test(
  'a login by the provider is bound to this page by PKCE, state and nonce, and ends in the view that was asked for',
  needsBrowser,
  async () => {
    const { page, context, requests, complaints } = await visit(deepLink);
    await page.getByRole('button', button).click();
    await page.getByRole('link', { name: 'nobody', exact: true }).waitFor();
    const asked = new URL(requests.find((url) => url.startsWith(`${provider.url}/auth?`))!).searchParams;
    assert.deepEqual([asked.get('response_type'), asked.get('code_challenge_method')], ['code', 'S256']);
    for (const name of ['code_challenge', 'state', 'nonce']) assert.ok(asked.get(name)!.length >= 43, name);
    assert.equal(page.url(), site.url + deepLink);
    const kept = await page.evaluate('[{ ...localStorage }, { ...sessionStorage }]');
    assert.deepEqual(kept, [{}, {}]);
    const ours = (await context.cookies(site.url)).filter(({ name }) => !name.startsWith('_'));
    assert.deepEqual(ours, [], 'only the provider has cookies');
    assert.deepEqual(complaints, []);
    await page.goBack();
    assert.ok(!page.url().includes('code='), 'the code is in no entry of the history');
  },
);

test('an answer with another state is refused before its code is used', needsBrowser, async () => {
  const { page, requests } = await visit('/console/');
  // In place of the provider somebody answers who does not know the state.
  await page.route(`${provider.url}/auth?**`, (route) => {
    const answer = new URLSearchParams({ code: 'stolen', state: 'forged', iss: provider.url });
    return route.fulfill({ status: 302, headers: { location: `${site.url}/console/oidc?${answer}` } });
  });
  await page.getByRole('button', button).click();
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /state/);
  assert.ok(!page.url().includes('stolen'));
  assert.deepEqual(
    requests.filter((url) => url === `${provider.url}/token`),
    [],
  );
});

test(
  'an answer that this tab did not ask for is refused, and leaves nothing in the address',
  needsBrowser,
  async () => {
    const { page, requests } = await visit('/console/oidc?code=stolen&state=x');
    await page.getByText('not begun in this tab').waitFor();
    assert.ok(!page.url().includes('stolen'));
    assert.deepEqual(
      requests.filter((url) => url.startsWith(provider.url)),
      [],
    );
  },
);

test(
  'a link with a code logs nobody in outside of the demo, and the code is taken out of the address',
  needsBrowser,
  async () => {
    const { page, requests } = await visit('/console/#login=code');
    await page.getByLabel('Bearer token').waitFor();
    assert.ok(!page.url().includes('login'));
    assert.deepEqual(
      requests.filter((url) => url.endsWith('/login-link')),
      [],
    );
  },
);

test('a wrong token is told so, and a right one after it logs in', needsBrowser, async () => {
  const { page } = await visit('/console/');
  await page.getByLabel('Bearer token').fill('wrong');
  await page.getByRole('button', { name: 'Log in with the token' }).click();
  await page.getByText('does not know this token').waitFor();
  await page.getByLabel('Bearer token').fill(site.tokenOf('ada'));
  await page.getByRole('button', { name: 'Log in with the token' }).click();
  await page.getByRole('link', { name: 'ada', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Bearer token').waitFor();
});
