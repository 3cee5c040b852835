import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { hasTooManyParts, mostParts } from './yaml-parts.ts';

const many = mostParts + 1;

test('whatever makes many entries is noticed before it is parsed (ATT-29, ATT-63)', () => {
  const texts = {
    keys: Array.from({ length: many }, (_, i) => `k${i}: v`).join('\n') + '\n',
    'lines that end otherwise': 'a: 1\r'.repeat(many),
    'a flow list': `[${'x,'.repeat(many)}]`,
    'a flow map': `{${Array.from({ length: many }, (_, i) => `k${i}: 1`).join()},}`,
    'lists in lists': '['.repeat(many),
    'maps in maps': '{a: '.repeat(many),
    'lists in one line': '- '.repeat(many),
    'lists with tabs': '-\t'.repeat(many),
    'keys in one line': '? '.repeat(many),
    'values in one line': 'a: '.repeat(many),
    'values with tabs': 'a:\t'.repeat(many),
    anchors: '&a '.repeat(many),
    aliases: '*a '.repeat(many),
    tags: '!a '.repeat(many),
  };
  assert.deepEqual(
    Object.entries(texts).filter(([, text]) => !hasTooManyParts(text)),
    [],
  );
});

test('long values are no parts', () => {
  for (const text of [
    `a: "${'QUJD'.repeat(100_000)}"`,
    `a: |\n${'  QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo\n'.repeat(3_000)}`,
  ]) {
    assert.ok(!hasTooManyParts(text));
    assert.equal(parseDocument(text).errors.length, 0);
  }
});

test('a kubeconfig of three hundred contexts is read', () => {
  const one = (i: number): string => `
- name: arn:aws:eks:eu-west-1:123456789012:cluster/c${i}
  cluster:
    server: https://c${i}.example.org:6443
    certificate-authority-data: ${'QUJD'.repeat(700)}
  context: {cluster: c${i}, user: u${i}}
  user: {token: "t${i}"}`;
  assert.equal(hasTooManyParts(Array.from({ length: 300 }, (_, i) => one(i)).join('\n')), false);
});
