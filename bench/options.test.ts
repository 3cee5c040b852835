import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseOptions, UsageError, type Options } from './options.ts';
import { minimumRounds } from './figures/statistics.ts';

const known = { scenarios: ['get-1', 'get-16'], targets: ['go', 'nginx'] };
const parse = (...argv: string[]) => parseOptions(argv, known) as Options;

test('without flags everything runs on a real member, with enough rounds for a check', () => {
  const options = parse();
  assert.equal(options.member, 'kube-apiserver');
  assert.ok(options.rounds >= minimumRounds);
  assert.deepEqual([options.scenarios, options.targets, options.quick], [[], [], false]);
});

test('quick is short and on the stub unless told otherwise', () => {
  assert.equal(parse('--quick').member, 'stub');
  assert.ok(parse('--quick').rounds < 5);
  assert.equal(parse('--quick', '--backend', 'kube-apiserver').member, 'kube-apiserver');
});

test('what runs only when named runs with --all too', () => {
  assert.deepEqual([parse().all, parse('--all').all], [false, true]);
});

test('names can be repeated and unknown ones are refused with the known ones', () => {
  assert.deepEqual(parse('--scenario', 'get-1', '--scenario', 'get-16').scenarios, ['get-1', 'get-16']);
  assert.throws(() => parse('--target', 'apache'), /there are go, nginx/);
});

test('numbers must be positive, and whole where they count something', () => {
  assert.throws(() => parse('--rounds', '0'), UsageError);
  assert.throws(() => parse('--rounds', '2.5'), UsageError);
  assert.throws(() => parse('--seconds', 'x'), UsageError);
  assert.equal(parse('--seconds', '0.5').seconds, 0.5);
});

test('another checkout is named by its folder', () => {
  assert.deepEqual([parse().against, parse('--against', '/src/before').against], [undefined, '/src/before']);
});

test('figures of a quick run never reach the documentation', () => {
  assert.throws(() => parse('--quick', '--write-docs'), UsageError);
});

test('an unknown flag shows the usage', () => {
  assert.throws(() => parse('--fast'), /--scenario NAME/);
  assert.equal(parseOptions(['--help'], known), 'help');
});
