// The inputs kept in the tree, `corpus/<target>.jsonl`: where every run starts and what `npm test` replays. An input
// that once showed a fault stays here for ever, so lines are added, never changed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Input } from './target.ts';

/**
 * Inputs of a target, one a line of JSON; `#` begins a remark.
 * @throws Error when the file is missing or a line is no JSON
 */
export function readCorpus(target: string): readonly Input[] {
  const file = join(import.meta.dirname, 'corpus', `${target}.jsonl`);
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line, index) => {
      try {
        return JSON.parse(line) as Input;
      } catch (cause) {
        throw new Error(`${file}: input ${index + 1} is no JSON`, { cause });
      }
    });
}
