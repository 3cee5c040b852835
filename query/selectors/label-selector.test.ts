import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { parseLabelSelector, printLabelSelector } from './label-selector.ts';
import { lex, type TokenKind } from './lexer.ts';

function tokens(text: string): readonly TokenKind[] {
  const kinds: TokenKind[] = [];
  for (let token = lex(text, 0); token.kind !== 'end'; token = lex(text, token.end)) kinds.push(token.kind);
  return kinds;
}

function fault(selector: string): string {
  try {
    parseLabelSelector(selector);
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'BAD_REQUEST');
    return error.message;
  }
  return 'none';
}

test('single tokens are the longest match, and what is no symbol is a word (CP-103)', () => {
  for (const symbol of [',', 'notin', 'in', '=', '==', '>', '<', '!', '!=', '(', ')'])
    assert.deepEqual(lex(symbol, 0), { kind: symbol, text: symbol, end: symbol.length });
  assert.deepEqual(lex('', 0), { kind: 'end', text: '', end: 0 });
  for (const word of ['~', '||']) assert.deepEqual(lex(word, 0), { kind: 'word', text: word, end: word.length });
});

test('sequences of tokens, whatever the spaces (CP-104 to CP-105)', () => {
  assert.deepEqual(tokens('key in ( value )'), ['word', 'in', '(', 'word', ')']);
  assert.deepEqual(tokens('key notin ( value )'), ['word', 'notin', '(', 'word', ')']);
  assert.deepEqual(tokens('key in ( value1, value2 )'), ['word', 'in', '(', 'word', ',', 'word', ')']);
  assert.deepEqual(tokens('key'), ['word']);
  assert.deepEqual(tokens('!key'), ['!', 'word']);
  assert.deepEqual(tokens('()'), ['(', ')']);
  assert.deepEqual(tokens('x in (),y'), ['word', 'in', '(', ')', ',', 'word']);
  assert.deepEqual(tokens('== != (), = notin'), ['==', '!=', '(', ')', ',', '=', 'notin']);
  assert.deepEqual(tokens('key>2'), ['word', '>', 'word']);
  assert.deepEqual(tokens('key<1'), ['word', '<', 'word']);
});

test('label selectors of every operator (CP-018 to CP-025)', () => {
  const one = (selector: string): unknown => {
    const [requirement] = parseLabelSelector(selector);
    return [requirement!.key, requirement!.operator, ...requirement!.values];
  };
  assert.deepEqual(one('key1=value1'), ['key1', 'In', 'value1']);
  assert.deepEqual(one('key1.io == value1'), ['key1.io', 'In', 'value1']);
  assert.deepEqual(one('key1.io='), ['key1.io', 'In', '']);
  assert.deepEqual(one('key1!=value1'), ['key1', 'NotIn', 'value1']);
  assert.deepEqual(one('a/key1 in (value2, value1,value2)'), ['a/key1', 'In', 'value1', 'value2']);
  assert.deepEqual(one('key1 notin (value1)'), ['key1', 'NotIn', 'value1']);
  assert.deepEqual(one('key1.io'), ['key1.io', 'Exists']);
  assert.deepEqual(one('!key1.io'), ['key1.io', 'DoesNotExist']);
  assert.deepEqual(one('key1>5'), ['key1', 'Gt', '5']);
  assert.deepEqual(one('key1 < 5'), ['key1', 'Lt', '5']);
  assert.deepEqual(one('in in (in,notin)'), ['in', 'In', 'in', 'notin']);
  for (const selector of ['x in ()', 'x in (,)', 'x in (,,)']) assert.deepEqual(one(selector), ['x', 'In', '']);
  assert.deepEqual(one('x in (,a)'), ['x', 'In', '', 'a']);
  assert.deepEqual(one('x in (a,)'), ['x', 'In', '', 'a']);
  assert.equal(printLabelSelector(parseLabelSelector('z,b notin (y,x),a=1,!c')), 'a=1,b notin (x,y),!c,z');
  assert.deepEqual(parseLabelSelector('  '), []);
});

test('a selector that cannot be read is refused in the words of kube-apiserver', () => {
  assert.equal(fault('a='), 'none');
  assert.equal(fault(',a'), "found ',', expected: !, identifier, or 'end of string'");
  assert.equal(fault('a,'), "found '', expected: identifier after ','");
  assert.equal(fault('a b'), "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  assert.equal(fault('a in b'), "unable to parse requirement: found 'b' expected: '('");
  assert.equal(fault('a in (b c)'), "unable to parse requirement: found 'c', expected: ',' or ')'");
  assert.equal(fault('a=='), 'none');
  assert.equal(fault('a==='), "unable to parse requirement: found '=', expected: identifier");
  assert.equal(fault('!a=b'), "found '=', expected: ',' or 'end of string'");
  assert.equal(
    fault('a>b'),
    `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
  );
  assert.match(
    fault('a=b_'),
    /^unable to parse requirement: values\[0]\[a]: Invalid value: "b_": a valid label must be an/,
  );
  assert.match(fault('a_'), /^unable to parse requirement: <nil>: Invalid value: "a_": name part must consist of/);
  assert.match(fault(`${'a'.repeat(64)}=x`), /name part must be no more than 63 bytes$/);
  assert.match(fault('/a'), /: prefix part must be non-empty$/);
  assert.match(fault('A.b/c'), /prefix part a lowercase RFC 1123 subdomain must consist/);
  assert.match(fault('a/b/c'), /a valid label key must consist of .* with an optional DNS subdomain prefix and '\/'/);
});

test('selectors over the limits are refused, and long hostile ones are read to their end', () => {
  assert.match(fault('a,'.repeat(300)), /more than 256 requirements/);
  assert.match(fault('a'.repeat(70_000)), /longer than/);
  for (const piece of ['a.', 'a-', '(', ',', ' ', '!', "['", 'a in (', '"']) {
    assert.notEqual(fault(`k in (${piece.repeat(30_000 / piece.length)}`), 'none');
    fault(piece.repeat(30_000 / piece.length));
  }
});
