// A site of the console whose users log in by a real OpenID provider.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { freePort } from '../../controlplane/processes.ts';
import { makeKey } from '../../issuer.ts';
import { startOidcProvider } from '../../oidc-provider.ts';
import type { OidcProvider } from '../../oidc-provider.ts';
import { startConsoleSite } from './console-site.ts';
import type { ConsoleSite, SimulatorAddress, Visit } from './console-site.ts';
import { clusterRoleBinding, userSubject } from '../../site/rbac.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

export interface OpenIdSite {
  readonly site: ConsoleSite;
  readonly provider: OidcProvider;
  /** A browser of its own, logged in by the provider as `nobody`, who may do everything in every cluster. */
  logIn(path: string): Promise<Visit>;
  close(): Promise<void>;
}

export interface OpenIdSiteOptions {
  /** How long an ID token lives. Default: as long as the provider likes. */
  readonly idTokenSeconds?: number;
  /** Where the gateway reaches a cluster. Default: at the cluster's own address. */
  readonly addressOf?: SimulatorAddress;
}

/** Who logs in without saying who. */
const user = 'nobody';

export async function startOpenIdSite({ idTokenSeconds, addressOf }: OpenIdSiteOptions = {}): Promise<OpenIdSite> {
  const folder = tempDir('openid');
  const authority = await makeTestAuthority('provider');
  const port = await freePort();
  const provider = await startOidcProvider({
    authority,
    keys: [makeKey('RS256')],
    accounts: { [user]: { name: 'No Body' } },
    clientIds: ['console'],
    redirectUris: [`https://127.0.0.1:${port}/console/oidc`],
    ...(idTokenSeconds !== undefined && { idTokenSeconds }),
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
  const settings = {
    authenticationConfig,
    consoleOidcIssuer: provider.url,
    consoleOidcClientId: 'console',
    consoleOidcScopes: 'openid profile',
  };
  const mayDoAll = clusterRoleBinding(user, 'cluster-admin', userSubject(user));
  const site = await startConsoleSite(
    settings,
    port,
    (simulators) => {
      for (const { store } of simulators) store.apply(mayDoAll);
    },
    addressOf,
  );
  return {
    site,
    provider,
    async logIn(path) {
      const visit = await site.visit(path);
      await visit.page.getByRole('button', { name: /^Log in by 127/ }).click();
      await visit.page.getByRole('link', { name: user, exact: true }).waitFor();
      return visit;
    },
    async close() {
      await site.close();
      await provider.close();
    },
  };
}
