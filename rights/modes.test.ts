import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeModes } from './modes.ts';

const complete = (incarnation: string) => ({ incarnation, mode: 'rbac', why: 'rules-complete' });
const incomplete = (incarnation: string) => ({ incarnation, mode: 'review', why: 'rules-incomplete' });
const mismatch = (incarnation: string) => ({ incarnation, mode: 'review', why: 'mismatch' });

function merged(kept: readonly object[], own: readonly object[]): unknown {
  return JSON.parse(mergeModes(JSON.stringify(kept), JSON.stringify(own)));
}

test('what one process learns of a cluster is added to what others know, and the newer answer counts', () => {
  assert.deepEqual(merged([complete('a'), complete('b')], [incomplete('b'), complete('c')]), [
    complete('a'),
    incomplete('b'),
    complete('c'),
  ]);
  assert.deepEqual(JSON.parse(mergeModes('', JSON.stringify([complete('a')]))), [complete('a')]);
});

test('a cluster whose RBAC was seen to disagree stays with reviews, whatever another process believes', () => {
  assert.deepEqual(merged([mismatch('a')], [complete('a')]), [mismatch('a')]);
  assert.deepEqual(merged([complete('a')], [mismatch('a')]), [mismatch('a')]);
});
