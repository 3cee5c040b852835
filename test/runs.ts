// Which test file belongs to which run, read from the tree: a new room or a new file is run without being named
// anywhere. test/house/runs.test.ts finds files that no run takes.
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, testFiles } from './runner.ts';

/** Folders of tests that open sockets: each file of them is run in a process of its own. */
const socketTests = 'test/{integration,attack}/**/*.test.ts';
const endToEndTests = 'test/**/*.e2e.ts';

/** Folders at the root that hold TypeScript files, whatever git has of them. */
export const rooms: readonly string[] = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !/^\.|^node_modules$|^dist$/.test(entry.name))
  .map(({ name }) => name)
  .filter((room) => globSync(`${room}/**/*.{ts,tsx}`, { cwd: root }).some((file) => !file.includes('node_modules')))
  .toSorted();

/** Files of `npm test` that open sockets, with a gateway in the process of the test. */
export const socketFiles: readonly string[] = testFiles(socketTests);

/** All other files of `npm test`. */
export const unitFiles: readonly string[] = testFiles(...rooms.map((room) => `${room}/**/*.test.ts`)).filter(
  (file) => !socketFiles.includes(file),
);

/** Files on real control planes and beside programs of others: `npm run test:e2e:all`. */
export const endToEndFiles: readonly string[] = testFiles(endToEndTests);

/** What the opening comment of a file says behind `<key>: `; undefined where it does not say it. */
export function openingLine(text: string, key: string): string | undefined {
  const opening = /^(?:\/\/.*\n)*/.exec(text)?.[0] ?? '';
  return new RegExp(`^// ${key}: (.+)$`, 'm').exec(opening)?.[1];
}

/** Whether a file runs before every landing: it says in its opening comment which promise it proves. */
export function isLandingFile(file: string): boolean {
  return openingLine(readFileSync(join(root, file), 'utf8'), 'Landing tier') !== undefined;
}

/** Whether a file says in its opening comment that others would disturb it. */
export function runsAlone(file: string): boolean {
  return openingLine(readFileSync(join(root, file), 'utf8'), 'Runs alone') !== undefined;
}
