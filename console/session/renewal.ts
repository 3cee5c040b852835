// Renews a login of OpenID Connect before its token expires, by a refresh token. There is never more than one renewal
// at a time. While the provider does not answer, it is asked again, and the views stay.
import { signal } from '@preact/signals';
import type { OpenIdSettings, Tokens } from './openid.ts';

/** What a renewal came to: `unreachable` when the provider did not answer, so that a later attempt may succeed. */
export type Renewal = 'renewed' | 'refused' | 'unreachable';

/**
 * What stands against the next renewal: `none`, `no-refresh` when the provider has given no refresh token and the token
 * expires soon, `unreachable` when the provider does not answer.
 */
export const obstacle = signal<'none' | 'no-refresh' | 'unreachable'>('none');

/** How many milliseconds before its expiry a token is renewed; for short lives, a quarter of the life. */
const renewBeforeMs = 60_000;
/** Milliseconds between two attempts while the provider does not answer. */
const retryMs = 10_000;

interface Renewed {
  readonly settings: OpenIdSettings;
  readonly onRenewed: (idToken: string) => void;
  tokens: Tokens;
}

let kept: Renewed | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let running: Promise<Renewal> | undefined;

/** Keeps a login renewed until `stopRenewal`. `onRenewed` is called with each new ID token. */
export function keepRenewed(settings: OpenIdSettings, tokens: Tokens, onRenewed: (idToken: string) => void): void {
  kept = { settings, tokens, onRenewed };
  schedule(tokens.idToken);
}

export function stopRenewal(): void {
  clearTimeout(timer);
  kept = undefined;
  obstacle.value = 'none';
}

/** Renews the login at once; those who ask while a renewal runs get its result. */
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

/** Returns when a JWT expires, in milliseconds since 1970; undefined for a token of another form. */
export function expiryOf(token: string): number | undefined {
  try {
    const payload = token.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/');
    const { exp } = JSON.parse(atob(payload)) as { exp?: number };
    return exp === undefined ? undefined : exp * 1000;
  } catch {
    return undefined;
  }
}
