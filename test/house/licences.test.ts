// The licences of what the console ships: listed in a file that it serves, as the lock file has them, and all of them
// free to pass on.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { root } from './pages.ts';
import { tempDir } from '../pretend/temp-dir.ts';

/** Licences under which code may be shipped when its text goes along. */
const permissive = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD']);
const folder = tempDir('licences');
const assets = join(folder, 'assets');

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly license?: string }>>;
}

before(() => execFileSync(process.execPath, [join(root, 'console/build.ts'), assets]));

/** From name to what the list of the built console says of it. */
function listed(): ReadonlyMap<string, { readonly version: string; readonly licence: string; readonly text: string }> {
  const entries = readFileSync(join(assets, 'licences.txt'), 'utf8').split('\n----\n\n');
  return new Map(
    entries.map((entry) => {
      const [, name = '', version = '', licence = '', text = ''] =
        /^(\S+) (\S+) \(([^)]+)\)\n\n(.*)$/s.exec(entry) ?? [];
      return [name, { version, licence, text }];
    }),
  );
}

test('every package in the console is listed in the version of the lock file, with the text of its licence', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as LockFile;
  const list = listed();
  assert.ok(list.size >= 10, `${list.size} packages`);
  for (const [name, { version, licence, text }] of list) {
    const locked = packages[`node_modules/${name}`];
    assert.deepEqual([version, licence], [locked?.version, locked?.license], name);
    assert.ok(permissive.has(licence), `${name}: ${licence}`);
    assert.match(text, /Copyright/i, `${name} has no text of a licence`);
  }
});

test('every package that a file of the console imports is listed', () => {
  const sources = globSync('console/**/*.{ts,tsx,css}', {
    cwd: root,
    exclude: (name) => /\.test\.ts$|build\.ts$/.test(name),
  });
  const imported = new Set(
    sources.flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /(?:^import (?!type )[^;]*?from |^@import |import\()['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)/gm,
        ),
      ].map(([, name]) => name!),
    ),
  );
  assert.ok(imported.size >= 10, [...imported].join());
  const list = listed();
  for (const name of imported) assert.ok(list.has(name), name);
});

test('nothing that is shipped names an address to load from', () => {
  const shipped = globSync('*.{js,css,html,svg}', { cwd: assets });
  assert.ok(shipped.length >= 6);
  for (const file of shipped) {
    const text = readFileSync(join(assets, file), 'utf8');
    const addresses = [...text.matchAll(/\b(?:https?|wss?):\/\/([\w.-]+)/g)].map(([, host]) => host);
    // Names of XML vocabularies, and the example on the page of the design: a link, which is followed only by a click.
    assert.deepEqual(
      addresses.filter((host) => host !== 'www.w3.org' && host !== 'example.com'),
      [],
      file,
    );
    const loaded = [...text.matchAll(/url\(\s*["']?([^)"']*)/g)].map(([, target]) => target!);
    assert.deepEqual(
      loaded.filter((target) => !target.startsWith('data:')),
      [],
      file,
    );
  }
});
