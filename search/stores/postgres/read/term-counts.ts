// Remembers how many rows have a term, so that a question by label need not ask for it first.

/** How long the number of rows with a term is remembered, in milliseconds. It only decides how rows are looked for. */
const rememberedMs = 30_000;
const mostRemembered = 10_000;

/** The numbers of rows with a term that were read lately. */
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
