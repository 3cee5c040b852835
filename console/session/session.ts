// Who is logged in. The token lives in this page's memory and nowhere else: a reload or another tab begins without one.
// What another way of logging in brings ends here too: the gateway says who it is.
import { batch, signal } from '@preact/signals';
import { forgetKinds } from '../live/kinds.ts';
import { here } from '../route.ts';
import { ApiError, hasToken, post, setToken, whenUnauthenticated } from './api.ts';
import type { OpenIdSettings, Tokens } from './openid.ts';

/** What the gateway tells everybody about logging in. */
export interface LoginSettings {
  readonly openid?: OpenIdSettings;
  /** Whether the gateway takes client certificates. */
  readonly certificate: boolean;
  /** Whether a link may carry a token behind its `#`: only the demo's does. */
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
  /** When the token ends; undefined when it does not say. */
  readonly expiresAtMs: number | undefined;
}

export const settings = signal<LoginSettings | undefined>(undefined);
export const session = signal<Session | undefined>(undefined);
/** True until it is known whether somebody is logged in. */
export const starting = signal(true);
/** Why the last session ended or the last login failed; '' when there is nothing to say. */
export const trouble = signal('');
/** Who the browser's client certificate would log in. */
export const certificateUser = signal<Identity | undefined>(undefined);

const selfReview = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

async function whoAmI(): Promise<Identity> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const { status } = await post<{ status: { userInfo: Identity } }>(selfReview, body);
  return status.userInfo;
}

/** Begins the page: a login that comes back from the provider, the demo's link, or the login view. */
export async function startSession(): Promise<void> {
  whenUnauthenticated(() => {
    if (session.peek() !== undefined) end('Your login has ended: the gateway no longer takes it.');
  });
  // Before anything is asked: an address that somebody copies later must not hold it.
  const linked = /^#token=([\w.~+/=-]+)$/.exec(location.hash)?.[1];
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search);
  try {
    const answer = await fetch('/console/config.json', { credentials: 'omit', cache: 'no-store' });
    settings.value = (await answer.json()) as LoginSettings;
    if (location.pathname === '/console/oidc') await finishOpenId();
    else if (linked !== undefined && settings.value.link) await logIn(linked, 'demo link');
    else if (settings.value.certificate) certificateUser.value = await whoAmI().catch(() => undefined);
  } catch (error) {
    trouble.value = messageOf(error);
  } finally {
    starting.value = false;
  }
}

/**
 * Logs in with a bearer token.
 * @throws ApiError (rejects) when the gateway does not take it
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

/** Goes on as whom the browser's client certificate names. */
export function continueWithCertificate(): void {
  const identity = certificateUser.peek();
  if (identity !== undefined) session.value = { identity, way: 'client certificate', expiresAtMs: undefined };
}

/** Ends the session: open streams end, since the views that hold them go. */
export function end(reason: string): void {
  setToken(undefined);
  clearTimeout(renewal);
  batch(() => {
    forgetKinds();
    session.value = undefined;
    trouble.value = reason;
  });
}

/** When a JWT ends. A token of another form does not say. */
function expiryOf(token: string): number | undefined {
  try {
    const payload = token.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/');
    const { exp } = JSON.parse(atob(payload)) as { exp?: number };
    return exp === undefined ? undefined : exp * 1000;
  } catch {
    return undefined;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Leaves for the identity provider; it leads back to this very view. */
export async function goToProvider(): Promise<void> {
  const { beginLogin } = await import('./openid.ts');
  await beginLogin(settings.peek()!.openid!, location.pathname === '/console/oidc' ? '/console/' : here({}));
}

async function finishOpenId(): Promise<void> {
  const { finishLogin } = await import('./openid.ts');
  const { tokens, back } = await finishLogin(settings.peek()!.openid!);
  history.replaceState(null, '', back);
  dispatchEvent(new PopStateEvent('popstate'));
  await take(tokens);
}

let renewal: ReturnType<typeof setTimeout> | undefined;
/** Milliseconds before its end that a token is renewed, or that the page says it will end. */
const renewBeforeMs = 60_000;
/** The login ends soon and cannot be renewed without leaving the page. */
export const endsSoon = signal(false);

async function take(tokens: Tokens): Promise<void> {
  await logIn(tokens.idToken, 'OpenID Connect');
  scheduleRenewal(tokens);
}

function scheduleRenewal(tokens: Tokens): void {
  clearTimeout(renewal);
  endsSoon.value = false;
  const expiresAtMs = session.peek()?.expiresAtMs;
  if (expiresAtMs === undefined) return;
  renewal = setTimeout(() => void renew(tokens), Math.max(0, expiresAtMs - Date.now() - renewBeforeMs));
}

async function renew(tokens: Tokens): Promise<void> {
  if (!hasToken()) return;
  if (tokens.refreshToken === undefined) {
    endsSoon.value = true;
    return;
  }
  try {
    const { refresh } = await import('./openid.ts');
    const next = await refresh(settings.peek()!.openid!, tokens.refreshToken);
    const renewed = { ...next, refreshToken: next.refreshToken ?? tokens.refreshToken };
    setToken(renewed.idToken);
    session.value = { ...session.peek()!, expiresAtMs: expiryOf(renewed.idToken) };
    scheduleRenewal(renewed);
  } catch {
    endsSoon.value = true;
  }
}
