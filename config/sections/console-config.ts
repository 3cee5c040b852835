// The section of the configuration about the console: whether it is served, and by which identity provider its users
// may log in.
import { onOff, text } from '../settings/kinds.ts';
import { readSettings } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';

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

/** The settings of the console. */
export const consoleSettings = {
  console: { kind: onOff, default: true, text: 'serve [the console](../how-to/console.md) below `/console/`' },
  consoleOidcIssuer: {
    kind: text,
    placeholder: '<url>',
    text: "identity provider by which the console's users may log in",
  },
  consoleOidcClientId: {
    kind: text,
    placeholder: '<id>',
    text: 'the public client of that provider that the console is',
  },
  // Kubernetes reads the user from the ID token, so only scopes that add claims to the ID token are requested.
  consoleOidcScopes: {
    kind: text,
    placeholder: '<scopes>',
    default: 'openid email profile',
    text: 'what the console asks the provider for',
  },
} satisfies Settings;

/**
 * Reads the settings of the console; undefined when it is not served. `written.fault` is called for each setting that
 * is wrong.
 */
export function readConsoleConfig(written: Written): ConsoleConfig | undefined {
  const {
    console: isServed,
    consoleOidcIssuer: issuer,
    consoleOidcClientId: clientId,
    consoleOidcScopes: scopes,
  } = readSettings(consoleSettings, written);
  const { fault } = written;
  if ((issuer === undefined) !== (clientId === undefined))
    fault('--console-oidc-client-id', '--console-oidc-issuer and --console-oidc-client-id must be given together');
  if (issuer !== undefined && !isHttps(issuer))
    fault('--console-oidc-issuer', 'must be the https URL of the issuer, as in the tokens');
  if (!scopes.split(' ').includes('openid')) fault('--console-oidc-scopes', 'must have the scope "openid"');
  if (!isServed) return undefined;
  return issuer === undefined || clientId === undefined ? {} : { openid: { issuer, clientId, scopes } };
}

function isHttps(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === 'https:';
}
