// The section of the configuration about the console: whether it is served, and by which identity provider its users
// may log in.
import { z } from 'zod';
import type { Fault } from '../values/values.ts';

/** Settings of the console when it is served. */
export interface ConsoleConfig {
  /** The identity provider that the log-in button leads to; undefined when there is no such button. */
  readonly openid?: { readonly issuer: string; readonly clientId: string; readonly scopes: string } | undefined;
  /**
   * Returns the token for the one-time code of a log-in link; undefined for a code that was used or is too old.
   * Security: only the demo has this function, because its tokens lead only to simulated clusters. In other gateways,
   * such a link could log a person in as another user.
   */
  readonly redeem?: ((code: string) => string | undefined) | undefined;
}

/** Schema of the console's settings in the configuration file. */
export const consoleFileFields = {
  console: z.boolean().optional(),
  consoleOidcIssuer: z.string().min(1).optional(),
  consoleOidcClientId: z.string().min(1).optional(),
  consoleOidcScopes: z.string().min(1).optional(),
};

/** The settings as the operator wrote them, in flags (text) or in the configuration file. */
export interface ConsoleInput {
  readonly console?: string | boolean;
  readonly consoleOidcIssuer?: string;
  readonly consoleOidcClientId?: string;
  readonly consoleOidcScopes?: string;
}

/**
 * Scopes that are requested by default. Kubernetes reads the user from the ID token, so only scopes that add claims to
 * the ID token are requested.
 */
const defaultScopes = 'openid email profile';

/**
 * Checks the settings of the console; undefined when it is not served. `fault` is called for each setting that is
 * wrong.
 */
export function readConsoleConfig(
  { console = true, consoleOidcIssuer: issuer, consoleOidcClientId: clientId, consoleOidcScopes }: ConsoleInput,
  fault: Fault,
): ConsoleConfig | undefined {
  const served = String(console);
  if (served !== 'true' && served !== 'false') fault('--console', 'must be "true" or "false"');
  if ((issuer === undefined) !== (clientId === undefined))
    fault('--console-oidc-client-id', '--console-oidc-issuer and --console-oidc-client-id must be given together');
  if (issuer !== undefined && !isHttps(issuer))
    fault('--console-oidc-issuer', 'must be the https URL of the issuer, as in the tokens');
  const scopes = consoleOidcScopes ?? defaultScopes;
  if (!scopes.split(' ').includes('openid')) fault('--console-oidc-scopes', 'must have the scope "openid"');
  if (served === 'false') return undefined;
  return issuer === undefined || clientId === undefined ? {} : { openid: { issuer, clientId, scopes } };
}

function isHttps(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:';
}
