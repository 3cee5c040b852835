import assert from 'node:assert/strict';
import { test } from 'node:test';
import { safeBack } from './openid.ts';

test('a login leads back to a view of the console, and nowhere else', () => {
  assert.equal(safeBack('/console/search?kind=pods&q=ns%3Ashop'), '/console/search?kind=pods&q=ns%3Ashop');
  for (const back of [
    'https://evil.example/',
    '//evil.example/console/',
    '/console//evil.example/',
    '/console/\\evil.example',
    '/\\evil.example',
    '/clusters/a/proxy/',
    'javascript:alert(1)',
    '',
  ])
    assert.equal(safeBack(back), '/console/', back);
});
