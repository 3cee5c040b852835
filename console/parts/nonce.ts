// Returns the nonce of the page's Content-Security-Policy, which style elements made by libraries need. It is read from
// a script element: browsers hide the nonce attribute from CSS selectors, but not the property from scripts.
export function nonce(): string {
  return document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
}
