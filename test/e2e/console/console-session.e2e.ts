// How long a login lasts in the console in a real Chromium: tokens of a real OpenID provider expire within seconds.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../../../routing/dial/authority.fixture.ts';
import { freePort } from '../../controlplane/processes.ts';
import { makeKey } from '../../issuer.ts';
import { startOidcProvider } from '../../oidc-provider.ts';
import type { OidcProvider } from '../../oidc-provider.ts';
import { eventually } from '../../site/polling.ts';
import { isLive, rowsOf, show } from './console-page.ts';
import { missingChromium, startConsoleSite } from './console-site.ts';
import type { ConsoleSite, Visit } from './console-site.ts';

const missing = missingChromium();
const needsBrowser = { skip: missing ?? false };
const folder = mkdtempSync(join(tmpdir(), 'portcullis-session-'));
const idTokenSeconds = 8;
let provider: OidcProvider;
let site: ConsoleSite;

before(async () => {
  if (missing !== undefined) return;
  const authority = await makeTestAuthority('provider');
  const port = await freePort();
  provider = await startOidcProvider({
    authority,
    keys: [makeKey('RS256')],
    accounts: { nobody: { name: 'No Body' } },
    clientIds: ['console'],
    redirectUris: [`https://127.0.0.1:${port}/console/oidc`],
    idTokenSeconds,
  });
  const authenticationConfig = join(folder, 'authentication.yaml');
  const issuer = { url: provider.url, audiences: ['console'], certificateAuthority: authority.ca };
  writeFileSync(
    authenticationConfig,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthenticationConfiguration',
      jwt: [{ issuer, claimMappings: { username: { claim: 'sub', prefix: '' } } }],
    }),
  );
  const console = { consoleOidcIssuer: provider.url, consoleOidcClientId: 'console' };
  site = await startConsoleSite({ authenticationConfig, ...console, consoleOidcScopes: 'openid profile' }, port);
  for (const { store } of site.simulators) {
    store.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'nobody' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'nobody' }],
    });
  }
});
after(async () => {
  await site?.close();
  await provider?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A tab, logged in by the provider. */
async function logIn(path: string): Promise<Visit> {
  const visit = await site.visit(path);
  await visit.page.getByRole('button', { name: /^Log in by 127/ }).click();
  await visit.page.getByRole('link', { name: 'nobody', exact: true }).waitFor();
  return visit;
}

test('a login outlives its tokens: they are renewed one at a time, and the watch goes on', needsBrowser, async () => {
  const { page, context, requests } = await logIn('/console/search?kind=deployments.apps&q=cluster:frankfurt+ns:shop');
  await isLive(page);
  const watches = (): number => requests.filter((url) => url.includes('watch=true')).length;
  const renewals = (): number => requests.filter((url) => url === `${provider.url}/token`).length - 1;
  const first = watches();
  await eventually('two renewals, and a watch with a new token', () => renewals() >= 2 && watches() > first, {
    timeoutMs: 4 * idTokenSeconds * 1000,
  });
  await isLive(page);
  site.simulators[0]!.store.update(
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
  const { page, context } = await logIn('/console/c/frankfurt/api/v1/namespaces/shop/pods/postgres-0?tab=terminal');
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
    const { page, context } = await logIn('/console/search?kind=pods&q=cluster:frankfurt');
    await isLive(page);
    const rows = await rowsOf(page).count();
    let attempts = 0;
    await context.route(`${provider.url}/**`, (route) => {
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
    await context.unroute(`${provider.url}/**`);
    await notice.waitFor({ state: 'detached' });
    await isLive(page);
    await show(page, '/console/access');
    await page.getByText('OpenID Connect').waitFor();
    await context.close();
  },
);
