// Notices that the gateway serves another build of the console than this page came from, for example after an upgrade.
// Code that this page loads only on demand may not be served any more, and only a reload of the page helps.
import { signal } from '@preact/signals';

/** True once a check has found that the gateway serves another build of the console. */
export const outdated = signal(false);

/** Compares the script that this page uses with the one in the page that the gateway serves now. */
export async function checkBuild(): Promise<void> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  const page = await fetch('/console/', { credentials: 'omit', cache: 'no-store' })
    .then((answer) => (answer.ok ? answer.text() : ''))
    .catch(() => '');
  if (page !== '' && !page.includes(own)) outdated.value = true;
}

/**
 * Loads code of the console that is loaded on demand.
 * @throws Error (rejects) with a message for the user when it cannot be loaded
 */
export async function part<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    await checkBuild();
    throw new Error('This part of the console could not be loaded. Load the page again.', { cause: error });
  }
}
