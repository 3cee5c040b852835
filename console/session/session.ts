// Knows who is logged in. The token is kept only in this page's memory, so a reload or another tab begins without one.
// After every login the gateway is asked which user it sees (SelfSubjectReview).
import { batch, signal } from '@preact/signals';
import { forgetKinds } from '../live/kinds.ts';
import { here } from '../api/route.ts';
import { ApiError, askJson, post, setToken, whenUnauthenticated } from '../api/api.ts';
import type { OpenIdSettings } from './openid.ts';
import { expiryOf, keepRenewed, renewNow, stopRenewal } from './renewal.ts';

/** The ways to log in that the gateway accepts, as it tells everybody in /console/config.json. */
export interface LoginSettings {
  readonly openid?: OpenIdSettings;
  /** Whether the gateway accepts client certificates. */
  readonly certificate: boolean;
  /** Whether a link may log in by a one-time code in its fragment (`#login=`). Only the demo allows that. */
  readonly link: boolean;
}

export interface Identity {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type Way = 'token' | 'OpenID Connect' | 'client certificate' | 'demo link';

export interface Session {
  readonly identity: Identity;
  readonly way: Way;
  /** When the token expires, in Unix milliseconds; undefined when the token does not say. */
  readonly expiresAtMs: number | undefined;
}

export const settings = signal<LoginSettings | undefined>(undefined);
export const session = signal<Session | undefined>(undefined);
/** True until the page knows whether the user is logged in. */
export const starting = signal(true);
/** Why the last session ended or the last login failed; '' for no reason to show. */
export const trouble = signal('');
/** The user that the gateway sees by the browser's client certificate; undefined without one. */
export const certificateUser = signal<Identity | undefined>(undefined);

const selfReview = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

async function whoAmI(): Promise<Identity> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { status } = await post<{ status: { userInfo: Identity } }>(selfReview, body);
  return status.userInfo;
}

/**
 * Called once when the page loads. Finishes a login at the provider, or logs in by the demo's link. Otherwise the login
 * view is shown.
 */
export async function startSession(): Promise<void> {
  whenUnauthenticated(onUnauthenticated);
  // The fragment is removed from the address before any request, so that nobody copies an address that contains the
  // code.
  const code = /^#login=([\w-]+)$/.exec(location.hash)?.[1];
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
  try {
    const answer = await fetch('/console/config.json', { credentials: 'omit', cache: 'no-store' });
    settings.value = (await answer.json()) as LoginSettings;
    if (location.pathname === '/console/oidc') await finishOpenId();
    else if (code !== undefined && settings.value.link) await logInByLink(code);
    else if (settings.value.certificate) certificateUser.value = await whoAmI().catch(() => undefined);
  } catch (error) {
    trouble.value = messageOf(error);
  } finally {
    starting.value = false;
  }
}

/** Exchanges the one-time code of a link for a token. */
async function logInByLink(code: string): Promise<void> {
  const { token } = await askJson<{ token: string }>('/console/login-link', {
    method: 'POST',
    more: { 'portcullis-login-code': code },
  });
  await logIn(token, 'demo link');
}

/**
 * Logs in with a bearer token.
 * @throws Error (rejects) when the gateway does not accept the token; ApiError when the request fails otherwise
 */
export async function logIn(token: string, way: Way): Promise<void> {
  setToken(token);
  try {
    const identity = await whoAmI();
    batch(() => {
      forgetKinds();
      trouble.value = '';
      session.value = { identity, way, expiresAtMs: expiryOf(token) };
    });
  } catch (error) {
    setToken(undefined);
    if (error instanceof ApiError && error.status === 401)
      throw new Error('The gateway does not know this token.', { cause: error });
    throw error;
  }
}

/** Logs in as the user that the browser's client certificate names. */
export function continueWithCertificate(): void {
  const identity = certificateUser.peek();
  if (identity !== undefined) session.value = { identity, way: 'client certificate', expiresAtMs: undefined };
}

/** Ends the session and shows the login view with the reason. All other views disappear, which closes their streams. */
export function end(reason: string): void {
  setToken(undefined);
  stopRenewal();
  batch(() => {
    forgetKinds();
    session.value = undefined;
    trouble.value = reason;
  });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Sends the browser to the identity provider. After the login, the present view is shown again. */
export async function goToProvider(): Promise<void> {
  const { beginLogin } = await import('./openid.ts');
  await beginLogin(settings.peek()!.openid!, location.pathname === '/console/oidc' ? '/console/' : here({}));
}

async function finishOpenId(): Promise<void> {
  const { finishLogin } = await import('./openid.ts');
  const { tokens, back } = await finishLogin(settings.peek()!.openid!);
  history.replaceState(null, '', back);
  dispatchEvent(new PopStateEvent('popstate'));
  await logIn(tokens.idToken, 'OpenID Connect');
  keepRenewed(settings.peek()!.openid!, tokens, (idToken) => {
    setToken(idToken);
    session.value = { ...session.peek()!, expiresAtMs: expiryOf(idToken) };
  });
}

/**
 * Called when the gateway answers 401: renews the login, or ends the session when the provider refuses. Resolves to
 * whether the login was renewed.
 */
async function onUnauthenticated(): Promise<boolean> {
  if (session.peek() === undefined) return false;
  const result = await renewNow();
  if (result === 'refused') end('Your login has ended: the gateway no longer takes it.');
  return result === 'renewed';
}
