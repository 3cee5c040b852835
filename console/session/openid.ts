// Login by an OpenID Connect provider: authorization code flow with PKCE, as a public client. While the browser is at
// the provider, sessionStorage holds only the values that the answer is checked with (verifier, state, nonce). They are
// deleted before the answer is read.
import * as oauth from 'oauth4webapi';

export interface OpenIdSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: string;
}

export interface Tokens {
  readonly idToken: string;
  readonly refreshToken: string | undefined;
}

interface Pending {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** Address below /console/ that is shown after the login. */
  readonly back: string;
}

const pendingKey = 'portcullis-login';
const redirectUri = (): string => `${location.origin}/console/oidc`;
/** A public client has no secret; PKCE ties the authorization code to this page. */
const noSecret = oauth.None();

async function providerOf({ issuer }: OpenIdSettings): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url));
}

/** Sends the browser to the provider's login page. */
export async function beginLogin(settings: OpenIdSettings, back: string): Promise<void> {
  const provider = await providerOf(settings);
  if (provider.authorization_endpoint === undefined)
    throw new Error('The identity provider names no authorization endpoint.');
  const pending: Pending = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    back,
  };
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
  const url = new URL(provider.authorization_endpoint);
  const parameters = {
    client_id: settings.clientId,
    redirect_uri: redirectUri(),
    response_type: 'code',
    scope: settings.scopes,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/**
 * Reads the provider's answer from the address of the page, and exchanges its code for tokens.
 * @throws Error (rejects) when the provider refused, or the answer does not belong to a login that this tab began
 */
export async function finishLogin(
  settings: OpenIdSettings,
): Promise<{ readonly tokens: Tokens; readonly back: string }> {
  const answered = new URL(location.href);
  history.replaceState(null, '', '/console/');
  const stored = sessionStorage.getItem(pendingKey);
  sessionStorage.removeItem(pendingKey);
  if (stored === null) throw new Error('This login was not begun in this tab. Log in again.');
  const pending = JSON.parse(stored) as Pending;
  const provider = await providerOf(settings);
  const client: oauth.Client = { client_id: settings.clientId };
  const parameters = oauth.validateAuthResponse(provider, client, answered, pending.state);
  const answer = await oauth.authorizationCodeGrantRequest(
    provider,
    client,
    noSecret,
    parameters,
    redirectUri(),
    pending.verifier,
  );
  const result = await oauth.processAuthorizationCodeResponse(provider, client, answer, {
    expectedNonce: pending.nonce,
    requireIdToken: true,
  });
  return { tokens: tokensOf(result), back: safeBack(pending.back) };
}

/**
 * Exchanges a refresh token for new tokens. The refresh token is kept in memory only, like the bearer token.
 * @returns the new tokens; undefined when the provider refuses the refresh token, so that only another login helps
 * @throws Error (rejects) when the provider cannot be reached or fails, so that another attempt may help
 */
export async function refresh(settings: OpenIdSettings, refreshToken: string): Promise<Tokens | undefined> {
  const provider = await providerOf(settings);
  const client: oauth.Client = { client_id: settings.clientId };
  const answer = await oauth.refreshTokenGrantRequest(provider, client, noSecret, refreshToken);
  try {
    const tokens = tokensOf(await oauth.processRefreshTokenResponse(provider, client, answer));
    return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError) return undefined;
    throw error;
  }
}

function tokensOf({ id_token: idToken, refresh_token: refreshToken }: oauth.TokenEndpointResponse): Tokens {
  if (idToken === undefined) throw new Error('The identity provider gave no ID token.');
  return { idToken, refreshToken };
}

/**
 * Returns the address to show after a login. Security: an address that is not a view of the console is replaced by
 * `/console/`.
 */
export function safeBack(back: string): string {
  return /^\/console\/(?!\/)[^\\]*$/.test(back) ? back : '/console/';
}
