import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeForwardLabel } from './forward-label.ts';

test('T130-T136: the forward label is taken out of a selector', () => {
  const take = (selector: string): unknown => {
    const taken = takeForwardLabel(selector.replaceAll('F', 'search.clusterpedia.io/forward'));
    return [taken.selector.replaceAll('search.clusterpedia.io/forward', 'F'), taken.forward];
  };
  for (const selector of ['', 'b=1,a=2', 'a=1,F-something=true', ',,,', 'F=b_', 'a b,F'])
    assert.deepEqual(take(selector), [selector, false]);
  for (const selector of ['F', 'F=true', 'F in (true)']) assert.deepEqual(take(selector), ['', true]);
  for (const selector of ['F,b=1,a=2', 'b=1,F,a=2', 'b=1,a=2,F', 'b=1,F=true,a=2'])
    assert.deepEqual(take(selector), ['a=2,b=1', true]);
  assert.deepEqual(take('env in (prod,stage),F,tier=frontend'), ['env in (prod,stage),tier=frontend', true]);
  assert.deepEqual(take('a=1,b!=2,F'), ['a=1,b!=2', true]);
  assert.deepEqual(take('a=1,F=false'), ['a=1', false]);
});
