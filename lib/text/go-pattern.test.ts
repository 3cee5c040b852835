import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { compileGoPattern, PatternError } from './go-pattern.ts';

describe('what Go accepts means the same here', () => {
  const cases: readonly (readonly [pattern: string, matching: readonly string[], other: readonly string[]])[] = [
    ['test-.*', ['test-1234', 'a test-'], ['test', 'Test-1']],
    ['test-group:.+', ['test-group:a'], ['test-group:']],
    ['cluster-\\d+', ['cluster-1', 'x-cluster-12y'], ['cluster-other', 'cluster-']],
    ['^a$', ['a'], ['ab', 'ba', '']],
    ['\\Aa\\z', ['a'], ['ab', 'ba']],
    ['^(?:dev|ops)-[a-z]{2,3}$', ['dev-ab', 'ops-abc'], ['dev-a', 'ops-abcd', 'qa-ab']],
    ['^a{2}$', ['aa'], ['a', 'aaa']],
    ['^a{2,}$', ['aa', 'aaaa'], ['a']],
    ['a{', ['a{'], ['a']],
    ['a{,2}', ['a{,2}'], ['aa']],
    ['(?i)admin', ['ADMIN', 'aDmIn'], ['adm1n']],
    ['(?i:a)b', ['Ab', 'ab'], ['aB']],
    ['(?i)a(?-i)b', ['Ab'], ['AB']],
    ['(?i)[^a]', ['b'], ['a', 'A']],
    ['(?P<team>x)y', ['xy'], ['x']],
    ['(?<team>x)y', ['xy'], ['y']],
    ['^[^-a]+$', ['bc'], ['a', '-', 'b-c']],
    ['^[]a]$', [']', 'a'], ['b']],
    ['^[a-]$', ['a', '-'], ['b']],
    ['^[[:alpha:]_]+$', ['ab_'], ['a1']],
    ['^[[:^digit:]]$', ['a'], ['1']],
    ['^[\\d.]+$', ['1.2'], ['a']],
    ['^\\p{Lu}\\pL$', ['Ab', 'Äö'], ['ab', 'A1']],
    ['^\\P{Lu}$', ['a'], ['A']],
    ['^\\p{Greek}$', ['α'], ['a']],
    ['^\\07$', ['\u0007'], ['7']],
    ['\\bops\\b', ['ops', 'dev ops'], ['devops']],
    ['\\Bps', ['ops'], ['ps']],
    ['\\Qa.b*\\E$', ['a.b*'], ['axb']],
    ['\\.', ['a.b'], ['ab']],
    ['^\\x41\\x{1F600}$', ['A\u{1F600}'], ['A']],
    ['^.$', ['\u{1F600}', 'ü'], ['ab', '']],
    ['(a*)*b', ['b', 'aab'], ['aa']],
    ['a*?b??', [''], []],
    ['', ['', 'x'], []],
    ['()', ['x'], []],
    ['a||b', ['', 'c'], []],
  ];
  for (const [pattern, matching, other] of cases) {
    test(pattern === '' ? 'the empty pattern' : pattern, () => {
      const matches = compileGoPattern(pattern);
      for (const text of matching) assert.equal(matches(text), true, text);
      for (const text of other) assert.equal(matches(text), false, text);
    });
  }
});

test('what Go refuses, or means otherwise than anybody here knows, is refused and not quoted', () => {
  const bad = ['*', '+a', 'a**', 'a*+', 'a{2}{3}', '(', ')', '(a', 'a)', '[a', '[b-a]', '[', '[]', '[[:nope:]]', '\\'];
  const foreign = [
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(?#x)',
    '(?x)a',
    '\\1',
    '\\C',
    '\\Z',
    '\\y',
    '\\p{Nobody}',
    '\\p',
    '\\xZZ',
  ];
  for (const pattern of [...bad, ...foreign, 'a{3,2}', 'a{1001}', '(?i', '|*', '(*)', '\\x{110000}', 'a\\']) {
    assert.throws(
      () => compileGoPattern(pattern),
      (error) => error instanceof PatternError && !error.message.includes(`"${pattern}"`),
      pattern,
    );
  }
  assert.throws(() => compileGoPattern('('.repeat(200) + ')'.repeat(200)), PatternError);
  for (const large of [
    '((a{100}){100}){100}',
    `(${'ab'.repeat(490)}){1000}`,
    `(\\Q${'(]'.repeat(400)}\\E[[:alpha:])]){1000}`,
  ])
    assert.throws(() => compileGoPattern(large), /too large/);
  assert.doesNotThrow(() => compileGoPattern('((a)){1000}'));
  assert.throws(() => compileGoPattern('a'.repeat(1_001)), PatternError);
});

test('patterns over which RegExp takes years come back (ATT-27)', { timeout: 30_000 }, () => {
  const text = `${'a'.repeat(1_000)}!`;
  for (const pattern of ['^(a+)+$', '^(a|aa)+$', '^(a*)*b$', '(a?){500}a{500}$', '^(([a-z])+.)+[A-Z]([a-z])+$'])
    assert.equal(compileGoPattern(pattern)(text), false);
});

test('on the syntax both have, it agrees with RegExp', () => {
  const piece = fc.constantFrom('a', 'b', '-', '.', '\\d', '[ab]', '[^a]', '^', '$', '\\b', '(a|b)', '(?:ab)', '(|b)');
  const repeat = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,2}', '*?');
  const part = fc.tuple(piece, repeat).map(([one, times]) => (/^[\^$]|^\\b$/.test(one) ? one : one + times));
  const pattern = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(''));
  const text = fc.array(fc.constantFrom('a', 'b', '-', '1', 'x'), { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(pattern, text, (source, subject) => {
      assert.equal(compileGoPattern(source)(subject), new RegExp(source).test(subject));
    }),
    { numRuns: 2_000 },
  );
});
