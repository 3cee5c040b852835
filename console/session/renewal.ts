// Renews an OpenID Connect login by its refresh token before the ID token expires. At most one renewal runs at a time.
// While the provider does not answer, the renewal is repeated, and the views stay.
import { signal } from '@preact/signals';
import type { OpenIdSettings, Tokens } from './openid.ts';

/**
 * The result of a renewal: `refused` when only a new login helps, `unreachable` when the provider did not answer, so
 * that a later attempt may succeed.
 */
export type Renewal = 'renewed' | 'refused' | 'unreachable';

/**
 * Why the login will not be renewed: `no-refresh` when there is no usable refresh token and the ID token expires soon,
 * `unreachable` when the provider does not answer, `none` when nothing is wrong.
 */
export const obstacle = signal<'none' | 'no-refresh' | 'unreachable'>('none');

/** A token is renewed this many milliseconds before it expires, but not before three quarters of its life are over. */
const renewBeforeMs = 60_000;
/** Milliseconds from a failed renewal to the next one, while the provider does not answer. */
const retryMs = 10_000;

interface Renewed {
  readonly settings: OpenIdSettings;
  readonly onRenewed: (idToken: string) => void;
  tokens: Tokens;
}

let kept: Renewed | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let running: Promise<Renewal> | undefined;

/** Renews a login from now on, until `stopRenewal` is called. @param onRenewed called with each new ID token */
export function keepRenewed(settings: OpenIdSettings, tokens: Tokens, onRenewed: (idToken: string) => void): void {
  kept = { settings, tokens, onRenewed };
  schedule(tokens.idToken);
}

export function stopRenewal(): void {
  clearTimeout(timer);
  kept = undefined;
  obstacle.value = 'none';
}

/** Renews the login at once. A call while a renewal runs returns the result of that one. */
export function renewNow(): Promise<Renewal> {
  running ??= attempt().finally(() => (running = undefined));
  return running;
}

async function attempt(): Promise<Renewal> {
  const login = kept;
  const refreshToken = login?.tokens.refreshToken;
  if (login === undefined || refreshToken === undefined) return 'refused';
  clearTimeout(timer);
  try {
    const { refresh } = await import('./openid.ts');
    const tokens = await refresh(login.settings, refreshToken);
    if (kept === login && tokens === undefined) obstacle.value = 'no-refresh';
    if (kept !== login || tokens === undefined) return 'refused';
    login.tokens = tokens;
    login.onRenewed(tokens.idToken);
    schedule(tokens.idToken);
    return 'renewed';
  } catch {
    if (kept !== login) return 'refused';
    obstacle.value = 'unreachable';
    timer = setTimeout(() => void renewNow(), retryMs);
    return 'unreachable';
  }
}

function schedule(idToken: string): void {
  clearTimeout(timer);
  obstacle.value = 'none';
  const expiresAtMs = expiryOf(idToken);
  if (expiresAtMs === undefined) return;
  const leftMs = expiresAtMs - Date.now();
  timer = setTimeout(
    () => {
      if (kept?.tokens.refreshToken === undefined) obstacle.value = 'no-refresh';
      else void renewNow();
    },
    Math.max(0, leftMs - Math.min(renewBeforeMs, leftMs / 4)),
  );
}

/** Returns when a JWT expires, in milliseconds since 1970; undefined for a token that is not a JWT or has no `exp`. */
export function expiryOf(token: string): number | undefined {
  try {
    const payload = token.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/');
    const { exp } = JSON.parse(atob(payload)) as { exp?: number };
    return exp === undefined ? undefined : exp * 1000;
  } catch {
    return undefined;
  }
}
