// Notices that the gateway serves another build of the console than the one that made this page, as after an upgrade.
// Parts that this page has not loaded yet may be gone then, and only loading the page again helps.
import { signal } from '@preact/signals';

/** True when the gateway serves another build of the console. */
export const outdated = signal(false);

/** Compares the build of this page with the one that the gateway serves now. */
export async function checkBuild(): Promise<void> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  const page = await fetch('/console/', { credentials: 'omit', cache: 'no-store' })
    .then((answer) => (answer.ok ? answer.text() : ''))
    .catch(() => '');
  if (page !== '' && !page.includes(own)) outdated.value = true;
}

/**
 * Loads a part of the console that is loaded on demand.
 * @throws Error (rejects) in words for people when it cannot be loaded
 */
export async function part<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    await checkBuild();
    throw new Error('This part of the console could not be loaded. Load the page again.', { cause: error });
  }
}
