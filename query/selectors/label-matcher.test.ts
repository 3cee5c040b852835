import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelMatcher } from './label-matcher.ts';

test('terms are parted at commas outside parentheses', () => {
  const matches = labelMatcher('env in (dev, test),tier notin(a,b) , app=web,!gone')!;
  assert.equal(matches({ env: 'test', tier: 'c', app: 'web' }), true);
  assert.equal(matches({ env: 'prod', tier: 'c', app: 'web' }), false);
  assert.equal(matches({ env: 'dev', tier: 'b', app: 'web' }), false);
  assert.equal(matches({ env: 'dev', app: 'web', gone: '' }), false);
});

test('a parenthesis that stands alone is refused, whatever stands around it', () => {
  for (const selector of ['env in (dev', 'env in dev)', 'a,b)', '(a,b', 'a in (b),c)']) {
    assert.throws(() => labelMatcher(selector), { code: 'BAD_REQUEST' }, selector);
  }
});

test('what kube-apiserver refuses is refused, and a selector without requirements is no matcher', () => {
  for (const selector of [',', ',,', '!environment>5', '!-_-', 'a!=%^', '!!', 'tier=a>b', '=&', 'a,,b', 'x in']) {
    assert.throws(() => labelMatcher(selector), { code: 'BAD_REQUEST' }, selector);
  }
  assert.equal(labelMatcher(''), undefined);
  assert.equal(labelMatcher(' \t'), undefined);
  const above = labelMatcher('tier>5')!;
  assert.deepEqual(
    [above({ tier: '6' }), above({ tier: '5' }), above({ 'tier>5': '' }), above({})],
    [true, false, false, false],
  );
  // Own labels only.
  assert.equal(labelMatcher('constructor')!({}), false);
});

test('a selector of commas is refused at once (ATT-27)', () => {
  assert.throws(() => labelMatcher(','.repeat(256 * 1024)), { code: 'BAD_REQUEST' });
  assert.throws(() => labelMatcher(`${','.repeat(256 * 1024)})`), { code: 'BAD_REQUEST' });
});
