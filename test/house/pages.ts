// The pages of the project as the checks of this folder read them: which there are, and what in them is code. A `#` in
// a block of code is no heading.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Root of the checkout. */
export const root = join(import.meta.dirname, '../..');

/** One page. */
export interface Page {
  /** From the root. */
  readonly path: string;
  readonly text: string;
}

/** A fenced block of code. */
export interface Block {
  /** What stands behind the opening fence; '' for nothing. */
  readonly language: string;
  readonly text: string;
}

/** Every page that is written for readers. */
export const pages: readonly Page[] = globSync(
  ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs/**/*.md', 'charts/**/*.md'],
  { cwd: root },
).map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

const fence = /^( *)(`{3,}|~{3,})([^\n`]*)\n([\s\S]*?)^ *\2[`~]* *$/gm;

/** The fenced blocks of a page. */
export function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(fence)].map(([, , , language, code]) => ({ language: language!.trim(), text: code! }));
}

/** A page without its blocks of code. */
export function proseOf(text: string): string {
  return text.replaceAll(fence, '');
}

/** What stands in backticks within the prose of a page. */
export function inlineCodeOf(text: string): readonly string[] {
  return [...proseOf(text).matchAll(/(`+)([\s\S]+?)(?<!`)\1(?!`)/g)].map(([, , code]) => code!.trim());
}
