// What tests of the console do with a page: views, rows and columns.
import type { Locator, Page } from 'playwright-core';

/** Goes to another view without loading the page, which would forget the login. */
export async function show(page: Page, path: string): Promise<void> {
  const to = JSON.stringify(path);
  await page.evaluate(`history.pushState(null, '', ${to}); dispatchEvent(new PopStateEvent('popstate'))`);
}

/** The rows of the table that are in the document. */
export function rowsOf(page: Page): Locator {
  return page.locator('.rows tbody tr:not([aria-hidden])');
}

/** The texts of a column of these rows, counted from 1. */
export function columnOf(page: Page, number: number): Promise<string[]> {
  return page.locator(`.rows tbody td:nth-child(${number})`).allInnerTexts();
}

/** Waits until the table of a search has its rows and is watched. */
export function isLive(page: Page): Promise<void> {
  return page.locator('.summary').getByText('live', { exact: true }).waitFor();
}
