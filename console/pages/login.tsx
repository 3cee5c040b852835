// The login view, with those ways to log in that the gateway accepts. It leaves the address as it is, so that after
// login the page shows the view that the address names.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Notice } from '../parts/parts.tsx';
import { useTitle } from '../live/resource.ts';
import {
  certificateUser,
  continueWithCertificate,
  goToProvider,
  logIn,
  messageOf,
  settings,
  trouble,
} from '../session/session.ts';

export function LoginPage(): JSX.Element {
  useTitle(() => 'Log in');
  const busy = useSignal(false);
  const attempt = async (login: () => Promise<void>): Promise<void> => {
    busy.value = true;
    trouble.value = '';
    await login().catch((error: unknown) => (trouble.value = messageOf(error)));
    busy.value = false;
  };
  const onToken = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem('token') as HTMLInputElement;
    void attempt(() => logIn(field.value.trim(), 'token'));
  };
  const { openid } = settings.value ?? {};
  return (
    <section class="login">
      <h1>Log in</h1>
      <p>You see and do here what your own rights in each cluster allow, as with kubectl.</p>
      {trouble.value !== '' && <Notice tone="bad" title={trouble.value} />}
      {openid && (
        <button type="button" class="main" disabled={busy} onClick={() => void attempt(goToProvider)}>
          Log in by {new URL(openid.issuer).host}
        </button>
      )}
      {certificateUser.value && (
        <button type="button" class="main" onClick={continueWithCertificate}>
          Continue as {certificateUser.value.username} with your browser’s certificate
        </button>
      )}
      <form onSubmit={onToken}>
        <input
          class="unseen"
          name="username"
          autocomplete="username"
          value="token"
          tabIndex={-1}
          aria-hidden="true"
          readOnly
        />
        <label for="token">Bearer token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required spellcheck={false} />
        <button type="submit" class={openid ? '' : 'main'} disabled={busy}>
          {busy.value ? 'Asking the gateway …' : 'Log in with the token'}
        </button>
      </form>
      <p class="quiet">
        The token stays in this page’s memory and is gone with it: no cookie, nothing in the browser’s storage. Where a
        token comes from: <code>kubectl config view --raw --minify</code>, or whoever runs this gateway.
      </p>
    </section>
  );
}
