// The walls of the house: which room may import which. Easy to get wrong: a type-only import counts as well, since it
// ties two rooms together just the same.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const root = new URL('../..', import.meta.url).pathname;

/** Rooms each room may import besides itself. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  http: ['lib'],
  cache: ['http', 'lib'],
  auth: ['cache', 'http', 'lib'],
  routing: ['cache', 'http', 'lib'],
  search: ['auth', 'routing', 'cache', 'http', 'lib'],
  gateway: ['auth', 'routing', 'cache', 'search', 'http', 'lib'],
  sim: [],
  cli: [],
  // Speaks HTTP to the gateway; the control planes it measures against are the ones the e2e tests use. The index's
  // store is also measured alone.
  bench: ['test', 'search'],
  // Joins rooms into one executable; nothing imports it.
  bin: ['cli', 'gateway', 'sim', 'lib'],
};

function importsOf(file: string): string[] {
  const source = readFileSync(join(root, file), 'utf8');
  const found = source.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'"\n;]*?(?:\{[^}]*\}[^'"\n;]*?)?from\s*['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]\s*\)|(?:^|\n)import\s*['"](\.[^'"]+)['"]/g,
  );
  return [...found].map((match) => relative(root, join(root, dirname(file), (match[1] ?? match[2] ?? match[3])!)));
}

/** The imports that cross a wall, as `file -> imported`. */
function trespasses(file: string, imports: readonly string[]): string[] {
  const room = file.split('/')[0]!;
  return imports
    .filter((imported) => imported.includes('/'))
    .filter((imported) => {
      const other = imported.split('/')[0]!;
      return other !== room && !allowed[room]!.includes(other);
    })
    .map((imported) => `${file} -> ${imported}`);
}

test('imports between rooms flow one way', () => {
  const files = globSync(`{${Object.keys(allowed).join(',')}}/**/*.ts`, {
    cwd: root,
    exclude: (name) => name === 'node_modules',
  });
  assert.ok(files.length > 50, `only ${files.length} files were looked at`);
  const crossing = files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => trespasses(file, importsOf(file)));
  assert.deepEqual(crossing, []);
});

test('the import test sees a wall that is crossed', () => {
  assert.deepEqual(trespasses('cache/model/store.ts', ['gateway/chain.ts']), [
    'cache/model/store.ts -> gateway/chain.ts',
  ]);
  assert.ok(importsOf('gateway/chain.ts').includes('gateway/steps/forward.ts'));
});

test('only the questions of the index can be asked as the gateway itself by the way that is made for it, and it can only GET', () => {
  const files = globSync('{auth,cache,routing,search,gateway,cli,bin}/**/*.ts', { cwd: root });
  const users = files.filter((file) => importsOf(file).includes('routing/members/read-as-gateway.ts'));
  assert.deepEqual(users, ['search/sync/ask-member.ts']);
  const source = readFileSync(join(root, 'routing/members/read-as-gateway.ts'), 'utf8');
  assert.match(source, /\{ \.\.\.read, identity: 'self', method: 'GET' \}/);
  const reflectors = files.filter((file) => /^search\/(?!member-reviews)/.test(file) && !file.endsWith('.test.ts'));
  const others = reflectors.filter((file) => /identity: 'self'/.test(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(others, [], 'nothing else of the index names that identity');
});
