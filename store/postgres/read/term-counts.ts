// Remembers how many rows have a term (a label or the value of an indexed path), so that a question by label need not
// ask the database for this number first.

/**
 * Milliseconds for which the number of rows with a term (a label or indexed value) is kept. The number only decides how
 * rows are searched, so an old one gives no wrong results.
 */
const rememberedMs = 30_000;
const mostRemembered = 10_000;

/** The numbers of rows that have a term, by the term's number, as read within the last half minute. */
export class TermCounts {
  readonly #counts = new Map<string, { readonly rows: number; readonly untilMs: number }>();

  of(id: string): number | undefined {
    const known = this.#counts.get(id);
    return known !== undefined && known.untilMs > performance.now() ? known.rows : undefined;
  }

  note(id: string, rows: number): void {
    if (this.#counts.size === mostRemembered) this.#counts.clear();
    this.#counts.set(id, { rows, untilMs: performance.now() + rememberedMs });
  }
}
