// Commands that the pages show can be typed: those of the program are read by its own parser with nothing behind it,
// npm's name scripts that are there, and paths of the repository in any of them exist. Every line of a block marked
// `sh` is a command; of a block with lines that begin with `$ ` only these are, the rest is output. A command of ours
// in any other block is a fault. A lone `…` stands for arguments that are left out, and then none is missing; so it is
// for commands of ours within a sentence.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CommanderError } from 'commander';
import type { Command } from 'commander';
import { makeProgram } from '../../bin/program.ts';
import { blocksOf, inlineCodeOf, pages, proseOf, root } from './pages.ts';
import type { Block } from './pages.ts';
import { missingPaths } from './repository-paths.ts';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

const prompted = /^ *\$ ((?:.*\\\n)*.*)$/gm;

/** What a reader of a block types. */
function scriptOf({ language, text }: Block): string {
  const typed = [...text.matchAll(prompted)].map(([, line]) => line!);
  if (typed.length > 0) return typed.join('\n');
  return language === 'sh' ? text : '';
}

const tokens = new RegExp(
  [
    String.raw`\\\n`,
    String.raw`(?<end>\n|[|;&()]+)`,
    String.raw`(?<redirection>\d?(?:>>?|<(?![a-z][\w.-]*>))(?:&\d)?)`,
    String.raw`#[^\n]*`,
    String.raw`(?<word>(?:"(?:\\[^]|[^"\\])*"|'[^']*'|\\[^\n]|<[a-z][\w.-]*>|[^\s|;&()<>"'\\])+)`,
    String.raw`\s`,
  ].join('|'),
  'g',
);

/** The words of each command of a script, without quotes, redirections and comments. */
function commandsOf(script: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let isTarget = false;
  for (const { groups } of script.matchAll(tokens)) {
    const { end, redirection, word } = groups!;
    if (end !== undefined) commands.push([]);
    else if (redirection !== undefined) isTarget = !redirection.includes('&');
    else if (word !== undefined) {
      if (!isTarget) commands.at(-1)!.push(word.replaceAll(/"((?:\\[^]|[^"\\])*)"|'([^']*)'|\\(.)/g, '$1$2$3'));
      isTarget = false;
    }
  }
  return commands.filter(({ length }) => length > 0);
}

/** The arguments of a command of the program; undefined for another command. */
function programArguments(typed: readonly string[]): readonly string[] | undefined {
  const words = typed.slice(typed.findIndex((word) => !/^\w+=/.test(word)));
  if (words[0] === 'portcullis' || words[0] === 'kubectl-portcullis') return words.slice(1);
  if (words[1] === 'portcullis' && (words[0] === 'npx' || words[0] === 'kubectl')) return words.slice(2);
  return words[0] === 'node' && words[1] === 'bin/portcullis.mjs' ? words.slice(2) : undefined;
}

/** Takes away what commands do; one with others below it does nothing itself. */
function withoutActions(command: Command): void {
  if (command.commands.length === 0) command.action(() => {});
  for (const child of command.commands) withoutActions(child);
}

/** What a command that takes arguments, or has others below it, is refused with when they are missing. */
const incomplete: ReadonlySet<string> = new Set([
  'commander.missingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.help',
]);

function programFault(args: readonly string[]): string | undefined {
  const quiet = { env: {}, homeDir: '', nowMs: () => 0, print: () => {}, note: () => {} };
  const program = makeProgram({ serve: async () => {}, demo: async () => {}, check: async () => {} }, quiet);
  withoutActions(program);
  try {
    program.parse(
      args.filter((arg) => arg !== '…'),
      { from: 'user' },
    );
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const isComplete = error.exitCode === 0 || (args.includes('…') && incomplete.has(error.code));
    return isComplete ? undefined : error.message;
  }
  return undefined;
}

function npmFault([, verb = '', script = '']: readonly string[]): string | undefined {
  const name = verb === 'run' ? script : ['test', 'start'].includes(verb) ? verb : undefined;
  return name === undefined || Object.hasOwn(scripts, name) ? undefined : `there is no script "${name}"`;
}

function faultOf(words: readonly string[]): string | undefined {
  const args = programArguments(words);
  const fault = args !== undefined ? programFault(args) : words[0] === 'npm' ? npmFault(words) : undefined;
  const [missing] = missingPaths(words);
  return fault ?? (missing === undefined ? undefined : `there is no ${missing}`);
}

const ours = /^(?:npx |kubectl )?portcullis .*|^npm (?:run|start|test)\b.*/gm;

function faultsOfScript(script: string): readonly string[] {
  return commandsOf(script).flatMap((words) => {
    const fault = faultOf(words);
    return fault === undefined ? [] : [`${words.join(' ')}: ${fault}`];
  });
}

function faultsIn(text: string): readonly string[] {
  const inBlocks = blocksOf(text).flatMap((block) => {
    const script = scriptOf(block);
    if (script !== '') return faultsOfScript(script);
    return [...block.text.matchAll(ours)].map(([line]) => `${line}: its block is not marked as sh`);
  });
  const inSentences = inlineCodeOf(text).filter((code) => code.search(ours) === 0);
  return [...inBlocks, ...inSentences.flatMap((code) => faultsOfScript(`${code} …`))];
}

test('commands that pages show can be typed', () => {
  // A block that is not closed would hide what is behind it.
  for (const { path, text } of pages) assert.doesNotMatch(proseOf(text), /^ *(?:```|~~~)/m, path);
  const shown = pages.flatMap(({ text }) => blocksOf(text)).flatMap((block) => commandsOf(scriptOf(block)));
  assert.ok(shown.filter((words) => programArguments(words) !== undefined).length > 40);
  assert.ok(shown.filter(([name]) => name === 'npm').length > 10);
  assert.deepEqual(
    pages.flatMap(({ path, text }) => faultsIn(text).map((fault) => `${path}: ${fault}`)),
    [],
  );
});

test('a command that cannot be typed is noticed', () => {
  const sh = (script: string): readonly string[] => faultsIn(`\`\`\`sh\n${script}\n\`\`\`\n`);
  for (const fine of [
    'npx portcullis serve --listen 127.0.0.1:1 \\\n  --identity self  # alone',
    'kubectl portcullis get clusters -o wide | grep x && npm run test:e2e -- test/e2e/<name>.e2e.ts 2>&1 > out.txt',
    'portcullis completion …; portcullis serve --workers 2 …',
    'TOKEN=x; echo "a | portcullis nothing" \'; npm run nothing\'',
    'portcullis serve --help',
  ])
    assert.deepEqual(sh(fine), [], fine);
  for (const [wrong, fault] of [
    ['portcullis serve --lisen 127.0.0.1:1', /unknown option '--lisen'/],
    ['KUBECONFIG="a b" npx portcullis serv', /unknown command 'serv'/],
    ['kubectl portcullis completion', /missing required argument 'shell'/],
    ['kubectl portcullis get', /\(outputHelp\)/],
    ['portcullis serve --listen', /argument missing/],
    ['portcullis serve --identity nobody', /'nobody' is invalid/],
    ['portcullis get clusters extra', /too many arguments/],
    [
      'cat x | portcullis generate member-access --gateway-service-account a/b --gone | kubectl apply -f -',
      /unknown option '--gone'/,
    ],
    ['a && npm run gone', /there is no script "gone"/],
    ['npm run faults -- test/faults/gone.e2e.ts', /there is no test\/faults\/gone.e2e.ts/],
    ['helm install x ./charts/gone', /there is no charts\/gone/],
  ] as const) {
    const faults = sh(wrong);
    assert.equal(faults.length, 1, wrong);
    assert.match(faults[0]!, fault);
  }
  assert.deepEqual(faultsIn('```text\nportcullis gone\n```\n'), ['portcullis gone: its block is not marked as sh']);
  assert.deepEqual(faultsIn('Run `portcullis generate member-access` or `npm run fuzz`.'), []);
  assert.equal(faultsIn('Run `portcullis generate member-acces` or `npm run fuz`.').length, 2);
  assert.deepEqual(faultsIn('```text\nUsage: portcullis gone\nportcullis: gone\n```\n'), []);
  assert.equal(faultsIn('```text\n$ portcullis gone\nportcullis: gone\n```\n').length, 1);
});
