// Diffs of many clusters. A change that is the same in a hundred clusters is stored and printed once, with the names of
// the clusters.
import { createHash } from 'node:crypto';
import { printable } from '../../terminal/failure.ts';

/** Maximum number of characters of diffs to store. Further diffs are left out and only counted. */
const mostCharacters = 64 * 1024 * 1024;

/** Collects the diffs of all clusters until the end of a run. */
export class DiffCollection {
  readonly #texts = new Map<string, { readonly text: string; readonly clusters: string[] }>();
  #characters = 0;
  /** Number of diffs that were left out because `mostCharacters` was reached. */
  leftOut = 0;

  add(cluster: string, text: string): void {
    if (text === '') return;
    const hash = createHash('sha256').update(text).digest('base64');
    const known = this.#texts.get(hash);
    if (known !== undefined) {
      known.clusters.push(cluster);
    } else if (this.#characters + text.length > mostCharacters) {
      this.leftOut++;
    } else {
      this.#characters += text.length;
      this.#texts.set(hash, { text, clusters: [cluster] });
    }
  }

  /**
   * Yields each diff after a comment line with the names of the clusters that have this diff; `patch` ignores such
   * lines.
   */
  *print(): Iterable<string> {
    for (const { text, clusters } of this.#texts.values()) {
      yield `# ${printable(clusters.toSorted().join(', '))}\n${printable(text)}`;
    }
  }
}
