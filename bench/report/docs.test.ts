import assert from 'node:assert/strict';
import { test } from 'node:test';

import { replaceGenerated } from './docs.ts';

test('what people wrote around the generated part stays as it is', () => {
  const first = replaceGenerated('# Performance\n\nBefore.\n', 'table 1');
  const page = `${first}\nAfter.\n`;
  const second = replaceGenerated(page, 'table 2');
  assert.ok(second.startsWith('# Performance\n\nBefore.\n'));
  assert.ok(second.endsWith('\nAfter.\n'));
  assert.ok(second.includes('table 2') && !second.includes('table 1'));
  assert.equal(replaceGenerated(second, 'table 2'), second);
});

test('a page that lost one mark is refused instead of guessed at', () => {
  const page = replaceGenerated('', 'table').replace('<!-- bench:end -->', '');
  assert.throws(() => replaceGenerated(page, 'table'), /only one/);
});
