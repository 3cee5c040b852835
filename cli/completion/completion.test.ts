import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Command, Option } from 'commander';
import { commandShape, everyCommand } from './command-shape.ts';
import { addCompletionCommand } from './completion.ts';
import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { zshCompletion } from './completion-zsh.ts';
import { makeFolder, recordingTerminal } from '../stub-gateway.fixture.ts';

/** A program with every kind of word that the scripts must know. */
function sampleProgram(): Command {
  const program = new Command('portcullis').option('--verbose', "the person's choice [really]: yes");
  program
    .command('serve')
    .description('run it')
    .option('--kubeconfig <file>', 'clusters; repeatable')
    .option('--data-dir <dir>', 'state')
    .option('--listen <host:port>', 'address')
    .addOption(new Option('--identity <mode>', 'as whom').choices(['impersonate', 'self']));
  program
    .command('get')
    .command('clusters')
    .alias('cluster')
    .addOption(new Option('-o, --output <format>', 'how').choices(['table', 'wide']));
  addCompletionCommand(program, recordingTerminal());
  return program;
}

const shell = (name: string, args: readonly string[]): string | undefined => {
  const result = spawnSync(name, args, { encoding: 'utf8' });
  if (result.error !== undefined) return undefined;
  assert.equal(result.status, 0, result.stderr);
  return result.stdout;
};
const has = (name: string): boolean => shell(name, ['-c', 'true']) !== undefined;

test('the shape of the program says what may follow each flag', () => {
  const serve = commandShape(sampleProgram()).commands[0];
  assert.deepEqual(
    serve?.flags.map(({ names, value, repeatable }) => [names.join(), value, repeatable]),
    [
      ['--kubeconfig', 'file', true],
      ['--data-dir', 'directory', false],
      ['--listen', 'text', false],
      ['--identity', ['impersonate', 'self'], false],
      ['-h,--help', 'none', false],
    ],
  );
  assert.deepEqual(
    everyCommand(commandShape(sampleProgram())).map(({ path }) => path.join(' ')),
    ['', 'serve', 'get', 'get clusters', 'completion'],
  );
});

describe('bash completion', { skip: !has('bash') && 'no bash here' }, () => {
  const script = bashCompletion(commandShape(sampleProgram()));
  const folder = makeFolder();

  /**
   * What bash would offer for the words, the last of them being completed; each is one of COMP_WORDS as bash splits
   * them.
   */
  const offer = (...words: string[]): string[] => {
    const quoted = ['portcullis', ...words].map((word) => `'${word}'`).join(' ');
    const lines = shell('bash', [
      '-c',
      `cd '${folder.path}'; ${script}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _portcullis; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
    return (lines ?? '').split('\n').filter((line) => line !== '');
  };

  test('is registered for both names of the executable', () => {
    const registered = shell('bash', ['-c', `${script}\ncomplete -p portcullis kubectl-portcullis`]);
    assert.equal(registered, 'complete -F _portcullis portcullis\ncomplete -F _portcullis kubectl-portcullis\n');
  });

  test('offers commands, flags, choices and values where each belongs', () => {
    assert.deepEqual(offer(''), ['serve', 'get', 'completion']);
    assert.deepEqual(offer('s'), ['serve']);
    assert.deepEqual(offer('serve', '--d'), ['--data-dir']);
    assert.deepEqual(offer('get', ''), ['clusters', 'cluster']);
    assert.deepEqual(offer('get', 'cluster', '-'), ['-o', '--output', '-h', '--help']);
    assert.deepEqual(offer('get', 'clusters', '-o', 'w'), ['wide']);
    assert.deepEqual(offer('get', 'clusters', '--output', '=', ''), ['table', 'wide']);
    assert.deepEqual(offer('get', 'clusters', '--output', '=', 'w'), ['wide']);
    assert.deepEqual(offer('serve', '--identity', ''), ['impersonate', 'self']);
    assert.deepEqual(offer('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(offer('serve', '--listen', ''), []);
    assert.deepEqual(offer('serve', '--listen', 'get', '--k'), ['--kubeconfig']);
  });

  test('offers files and folders, also with spaces and stars in their names', () => {
    folder.write('my config', '');
    folder.write('my*', '');
    mkdirSync(join(folder.path, 'my folder'));
    assert.deepEqual(offer('serve', '--kubeconfig', 'my').sort(), ['my config', 'my folder', 'my*']);
    assert.deepEqual(offer('serve', '--data-dir', 'm'), ['my folder']);
  });
});

test('the other scripts are valid in their shells, where those are installed', (t) => {
  const folder = makeFolder();
  const shape = commandShape(sampleProgram());
  const zsh = folder.write('_portcullis', zshCompletion(shape));
  const fish = folder.write('portcullis.fish', fishCompletion(shape));
  const checked = ['zsh', 'fish'].filter((name) => has(name));
  for (const name of checked) assert.equal(shell(name, ['-n', name === 'zsh' ? zsh : fish]), '');
  t.diagnostic(`checked by: ${checked.join(', ') || 'none is installed'}`);
});

test('quotes and brackets of a description stay text in zsh and fish', () => {
  const shape = commandShape(sampleProgram());
  assert.ok(zshCompletion(shape).includes(String.raw`'--verbose[the person'\''s choice \[really\]: yes]'`));
  assert.ok(fishCompletion(shape).includes(String.raw`-l verbose -d 'the person\'s choice [really]: yes'`));
});

test('fish knows files from folders, choices and free text', () => {
  const lines = fishCompletion(commandShape(sampleProgram())).split('\n');
  const line = (part: string): string => lines.find((text) => text.includes(part)) ?? '';
  assert.match(line('-l kubeconfig'), /-n '__fish_seen_subcommand_from serve' -l kubeconfig -r -F/);
  assert.match(line('-l data-dir'), /-x -a '\(__fish_complete_directories\)'/);
  assert.match(line('-l identity'), /-x -a 'impersonate self'/);
  assert.match(
    line("-a 'clusters'"),
    /__fish_seen_subcommand_from get; and not __fish_seen_subcommand_from clusters cluster/,
  );
});
