// Whether a word of a page is a path of the repository, and whether that path is there. A word is one when it begins
// with one of the repository's folders, or ends in .ts or .mjs; a lone `name.ts` is any file of that name. In it `*`
// and `{a,b}` are globs; `…` and `<name>` stand for any part of a name.
import { globSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { root } from './pages.ts';

const folders: ReadonlySet<string> = new Set(
  readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
    .map(({ name }) => name),
);
const sources = globSync(`{${[...folders].join(',')}}/**/*.{ts,mjs}`, { cwd: root });
const sourceNames: ReadonlySet<string> = new Set(sources.map((file) => basename(file)));

function isPath(word: string): boolean {
  const [first = '', ...rest] = word.split('/');
  if (/[^\w./*{},<>…-]/.test(word)) return false;
  return (rest.length > 0 && folders.has(first)) || /^[^.].*\w\.(?:ts|mjs)$/.test(word);
}

function isThere(word: string): boolean {
  if (!word.includes('/') && sourceNames.has(word)) return true;
  const pattern = word.replaceAll(/…|<[^<>]*>/g, '*').replace(/\/$/, '');
  return globSync(pattern, { cwd: root }).length > 0;
}

/** Those of the words that are paths of the repository and are not there. */
export function missingPaths(words: readonly string[]): readonly string[] {
  return words.map((word) => word.replace(/^\.\/|[.,:;]+$/g, '')).filter((word) => isPath(word) && !isThere(word));
}
