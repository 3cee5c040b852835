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

/** The room of a file: its folder at the root; '' for files that are in none. */
export function roomOf(file: string): string {
  return file.includes('/') ? file.split('/')[0]! : '';
}

/** Every room: folders at the root that hold TypeScript. */
export const rooms: readonly string[] = [...new Set(sourceFiles.map(roomOf))].filter(Boolean).toSorted();

/** Rooms that do not run in a cluster or on a user's machine. The console runs in a browser, with rules of its own. */
const notProduction = ['bench', 'console', 'packaging', 'test'];

/** Rooms whose code is a part of every release, of every name that is not known as something else. */
export const productionRooms: readonly string[] = rooms.filter((room) => !notProduction.includes(room));

/** Files of those rooms, without tests and what is for tests. */
export const productionFiles: readonly string[] = projectFiles.filter(
  (file) =>
    productionRooms.includes(roomOf(file)) && /\.(?:tsx?|mjs)$/.test(file) && !/\.(?:test|fixture)\.ts$/.test(file),
);

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
