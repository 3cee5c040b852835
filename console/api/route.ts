// The address bar holds the state of every view. This file makes a signal of the address, and changes the address.
// Views use ordinary links; a click on a link below /console/ changes the view without loading the page again.
import { signal } from '@preact/signals';

export const base = '/console/';

/** The address, parsed: the path below /console/ and the query. */
export interface Place {
  /** Decoded segments of the path, such as `['c', 'frankfurt', 'api', …]`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(
  readPlace(typeof location === 'undefined' ? base : location.pathname + location.search),
);

export function readPlace(address: string): Place {
  const [path = '', query = ''] = address.split('?', 2);
  const segments = path
    .slice(base.length)
    .split('/')
    .filter((segment) => segment !== '');
  return { segments: segments.map(decode), query: new URLSearchParams(query) };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns an address below /console/. Parameters that are empty or undefined are left out. */
export function address(segments: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '');
  const text = new URLSearchParams(pairs).toString();
  return base + segments.map(encodeSegment).join('/') + (text === '' ? '' : `?${text}`);
}

/** Encodes a path segment, but keeps colons: they are allowed in paths, and many names of RBAC objects contain them. */
export function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll('%3A', ':');
}

/** Returns the address of the present view with some query parameters changed. */
export function here(query: Readonly<Record<string, string | undefined>>): string {
  const { segments, query: now } = place.peek();
  return address(segments, { ...Object.fromEntries(now), ...query });
}

/**
 * Shows the view of an address. With `replace`, the browser's history gets no new entry, which is meant for changes
 * while the user types.
 */
export function go(to: string, replace = false): void {
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  place.value = readPlace(to);
}

/** Makes clicks on links and the Back button change the view without loading the page. To be called once. */
export function followLinks(): void {
  addEventListener('popstate', () => (place.value = readPlace(location.pathname + location.search)));
  document.addEventListener('click', (event) => {
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return;
    if (
      link.origin !== location.origin ||
      !link.pathname.startsWith(base) ||
      link.target !== '' ||
      link.hasAttribute('download')
    )
      return;
    event.preventDefault();
    go(link.pathname + link.search);
    scrollTo(0, 0);
  });
}
