// Paths of the repository that the pages name in backticks are there; what counts as one is said in
// repository-paths.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inlineCodeOf, pages } from './pages.ts';
import { missingPaths } from './repository-paths.ts';

function missingIn(text: string): readonly string[] {
  return missingPaths(inlineCodeOf(text).flatMap((code) => code.split(/[\s'"()=]+/)));
}

test('paths that pages name in backticks are there', () => {
  const missing = pages.flatMap(({ path, text }) => missingIn(text).map((word) => `${path}: ${word}`));
  assert.deepEqual(missing, []);
});

test('a path that is not there is noticed', () => {
  const there = [
    'gateway/chain.ts',
    'cache/sources/',
    'relist.ts',
    'node bin/write-reference.ts',
    './charts/portcullis',
  ];
  const anyName = [
    'http/http2/http2-*.ts',
    'search/{table,watch}',
    'test/e2e/<name>.e2e.ts',
    'docs/decisions/0001-….md',
  ];
  const others = [
    'apps/v1',
    'clusters/proxy',
    'clusters.yaml',
    '/apis/gateway.portcullis.io',
    'portcullis/gateway',
    '.e2e.ts',
  ];
  for (const word of [...there, ...anyName, ...others]) assert.deepEqual(missingIn(`See \`${word}\`.`), []);
  const gone = [
    'gateway/gone.ts',
    'search/gone/',
    'gone.ts',
    'bench/gone-*.ts',
    'console/app.ts',
    'test/gone/<name>.ts',
  ];
  for (const word of gone) assert.deepEqual(missingIn(`See \`${word}\`.`), [word]);
});
