// The nonce of this page, which style elements made by libraries need. A browser hides it from selectors, but not from
// code.
export function nonce(): string {
  return document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
}
