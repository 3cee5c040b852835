// Diffs of many clusters. The same change in a hundred clusters is kept and printed once, with their names.
import { createHash } from 'node:crypto';
import { printable } from '../../failure.ts';

/** Maximum number of characters of diffs to keep. Further diffs are only counted. */
const mostCharacters = 64 * 1024 * 1024;

/** Collects diffs until the end of a run. */
export class DiffCollection {
  readonly #texts = new Map<string, { readonly text: string; readonly clusters: string[] }>();
  #characters = 0;
  /** Number of diffs that were left out because there were too many. */
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

  /** Yields each diff after a comment line with the names of its clusters; `patch` ignores such comments. */
  *print(): Iterable<string> {
    for (const { text, clusters } of this.#texts.values()) {
      yield `# ${printable(clusters.toSorted().join(', '))}\n${printable(text)}`;
    }
  }
}
