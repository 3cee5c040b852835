// Returns the page's nonce, which style elements made by libraries need. Browsers hide a nonce from CSS selectors, but
// not from scripts.
export function nonce(): string {
  return document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
}
