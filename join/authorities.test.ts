import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connections } from '../routing/members/target.ts';
import { makeAuthorities } from './authorities.ts';

test('no authority is watched after the end, whoever still asks', () => {
  const looked: string[] = [];
  const authorities = makeAuthorities({
    store: { get: (name) => void looked.push(name) as undefined },
    connections: {} as Connections,
    onChange: () => undefined,
    onFault: () => undefined,
    onError: () => undefined,
  });
  authorities.follow('before', 'ns');
  authorities.close();
  const before = looked.length;
  assert.ok(before > 0);
  authorities.follow('after', 'ns');
  assert.deepEqual(looked.slice(before), []);
});
