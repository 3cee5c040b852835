// Which room may import which, and that no files import each other in a circle. An import of a type counts as any
// other: it ties two files together just the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, productionFiles, roomOf, rooms, sourceFiles, textOf } from './sources.ts';

/** Rooms each room may import besides itself. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  http: ['lib'],
  model: ['lib'],
  kube: ['model', 'lib'],
  cache: ['kube', 'model', 'lib'],
  auth: ['kube', 'model', 'http', 'lib'],
  routing: ['model', 'http', 'lib'],
  query: ['model', 'tables', 'lib'],
  store: ['query', 'model', 'lib'],
  rights: ['store', 'query', 'auth', 'model', 'lib'],
  sync: ['store', 'query', 'routing', 'kube', 'model', 'tables', 'lib'],
  search: ['sync', 'rights', 'store', 'query', 'auth', 'routing', 'model', 'http', 'tables', 'lib'],
  request: ['auth', 'routing', 'model', 'http', 'lib'],
  config: ['request', 'search', 'sync', 'rights', 'store', 'auth', 'cache', 'model', 'lib'],
  api: ['request', 'search', 'sync', 'query', 'auth', 'routing', 'cache', 'kube', 'model', 'http', 'lib'],
  gateway: [
    'api',
    'config',
    'request',
    'search',
    'sync',
    'query',
    'import',
    'join',
    'tenants',
    'distribute',
    'controllers',
    'auth',
    'routing',
    'cache',
    'kube',
    'model',
    'http',
    'lib',
    'store',
  ],
  tables: ['lib'],
  controllers: ['kube', 'model', 'lib'],
  import: ['controllers', 'cache', 'kube', 'model', 'lib'],
  distribute: ['controllers', 'auth', 'routing', 'kube', 'model', 'tables', 'lib'],
  tenants: ['import', 'distribute', 'controllers', 'auth', 'kube', 'model', 'lib'],
  join: ['import', 'tenants', 'distribute', 'controllers', 'routing', 'cache', 'kube', 'model', 'lib'],
  sim: ['tables'],
  cli: ['kube', 'lib'],
  // Runs in a browser and speaks HTTP to the gateway.
  console: ['lib'],
  // Joins rooms into one executable; nothing imports it.
  bin: ['gateway', 'config', 'import', 'join', 'tenants', 'cli', 'sim', 'lib'],
  // Scripts that a release is made with.
  packaging: [],
  // Speaks HTTP to the gateway; the control planes it measures against are the ones the e2e tests use. The index's
  // store is also measured alone.
  bench: ['test', 'search', 'sync', 'rights', 'store', 'query', 'auth', 'routing', 'model', 'http'],
};

/** The rows `| room | what for | may import |` of the page's section "The rooms". */
function roomsOfPage(page: string): Readonly<Record<string, readonly string[]>> {
  const section = page.split(/^## /m).find((part) => part.startsWith('The rooms\n')) ?? '';
  const rows = section.matchAll(/^\| `(\w+)` \|.*\|([^|]*)\|$/gm);
  return Object.fromEntries(
    [...rows].map(([, room, others]) => [room!, [...others!.matchAll(/`(\w+)`/g)].map(([, other]) => other!)]),
  );
}

/** What only tests use, in the room of tests for all others: servers, objects and certificates. */
const forFixtures = 'test/pretend/';

/** The imports that the table does not allow, as `file -> imported`. */
function trespasses(file: string, imports: readonly string[]): string[] {
  const room = roomOf(file);
  return imports
    .filter((imported) => imported.includes('/'))
    .filter((imported) => !(file.endsWith('.fixture.ts') && imported.startsWith(forFixtures)))
    .filter((imported) => {
      const other = roomOf(imported);
      return other !== room && !allowed[room]!.includes(other);
    })
    .map((imported) => `${file} -> ${imported}`);
}

/** A circle for each import that closes one, as `a -> b -> a`. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file].join(' -> '));
    if (start >= 0 || done.has(file)) return;
    for (const imported of graph.get(file) ?? []) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return circles;
}

test('imports between rooms flow one way', () => {
  const files = sourceFiles.filter((file) => Object.hasOwn(allowed, roomOf(file)));
  assert.ok(files.length > 500, `only ${files.length} files were looked at`);
  const crossing = files
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => trespasses(file, importsOf(file)));
  assert.deepEqual(crossing, []);
});

test('every room but the tests has a row of what it may import', () => {
  assert.deepEqual(
    Object.keys(allowed).toSorted(),
    rooms.filter((room) => room !== 'test'),
  );
});

test('the page of the architecture names the rooms and what each may import', () => {
  assert.deepEqual(roomsOfPage(textOf('docs/architecture.md')), allowed);
});

test('no files import each other in a circle, types included', () => {
  assert.deepEqual(circlesIn(new Map(sourceFiles.map((file) => [file, importsOf(file)]))), []);
});

test('an import upwards, a room the page has otherwise, and a circle are noticed', () => {
  assert.deepEqual(trespasses('model/store.ts', ['gateway/chain.ts', 'lib/x.ts', 'model/y.ts']), [
    'model/store.ts -> gateway/chain.ts',
  ]);
  const pretended = ['test/pretend/server.ts', 'test/site/hub.ts'];
  assert.deepEqual(trespasses('kube/hub.fixture.ts', pretended), ['kube/hub.fixture.ts -> test/site/hub.ts']);
  assert.equal(trespasses('kube/hub.ts', pretended).length, 2);
  assert.ok(importsOf('gateway/chain.ts').includes('gateway/steps/forward.ts'));
  const forms =
    "import type { A } from './a.ts';\nexport {\n  b,\n} from '../b.ts';\nimport './c.ts';\nimport('./d.ts');";
  assert.deepEqual(importsOf('x/y/z.ts', forms), ['x/y/a.ts', 'x/b.ts', 'x/y/c.ts', 'x/y/d.ts']);
  const page =
    '## The rooms\n\n| Room | x | May import |\n| `a` | b | |\n| `b` | c | `a`, `c` |\n\n## Others\n| `d` | e | |';
  assert.deepEqual(roomsOfPage(page), { a: [], b: ['a', 'c'] });
  const graph = { a: ['b'], b: ['c', 'd'], c: ['d'], d: ['b'], e: ['a', 'c'], f: ['f'] };
  assert.deepEqual(circlesIn(new Map(Object.entries(graph))), ['b -> c -> d -> b', 'f -> f']);
});

test('the one way to ask a member as the gateway itself can only GET, and only the questions of the index use it', () => {
  const users = productionFiles.filter((file) => importsOf(file).includes('routing/members/read-as-gateway.ts'));
  assert.deepEqual(users, ['sync/ask-member.ts']);
  assert.match(textOf('routing/members/read-as-gateway.ts'), /\{ \.\.\.read, identity: 'self', method: 'GET' \}/);
  const others = productionFiles.filter(
    (file) => /^(?:search|sync|rights|store|query)\//.test(file) && /identity: 'self'/.test(textOf(file)),
  );
  assert.deepEqual(others, [], 'nothing else of the index names that identity');
});
