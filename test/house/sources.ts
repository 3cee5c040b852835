// The source files of the project and what each imports, as the checks of this folder read them.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from './pages.ts';

/** Every file of the project, from the root: those git has and those it would take. */
export const projectFiles: readonly string[] = execFileSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'],
  { cwd: root, encoding: 'utf8' },
)
  .split('\0')
  .filter((file) => file !== '');

/** The TypeScript files among them. */
export const sourceFiles: readonly string[] = projectFiles.filter((file) => /\.tsx?$/.test(file));

/** What a file holds. */
export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

const importForm =
  /(?:^|\n)\s*(?:import|export)\b[^'"\n;]*?(?:\{[^}]*\}[^'"\n;]*?)?from\s*['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)|(?:^|\n)import\s*['"](\.[^'"]+)['"]/g;

/** Files of the project that a source imports, types included, from the root. */
export function importsOf(file: string, text: string = textOf(file)): readonly string[] {
  return [...text.matchAll(importForm)].map((match) =>
    relative(root, join(root, dirname(file), (match[1] ?? match[2] ?? match[3])!)),
  );
}
