// Keeps whoever answers lists from holding the gateway by one that never ends.
import { MalformedAnswer } from '../lib/json/json-scan.ts';

/**
 * Notices that the pages of a list repeat, so that the list would never end. Only one earlier token is kept, a later
 * one after each doubling of the number of pages (Brent's algorithm).
 */
export class Pages {
  #kept = '';
  #left = 1;
  #step = 1;

  /**
   * To be called with the token of each page but the last. @throws MalformedAnswer when the token has occurred before
   */
  follow(continueToken: string): void {
    if (continueToken === this.#kept) throw new MalformedAnswer('a list whose pages repeat');
    this.#left -= 1;
    if (this.#left > 0) return;
    this.#kept = continueToken;
    this.#step *= 2;
    this.#left = this.#step;
  }
}
