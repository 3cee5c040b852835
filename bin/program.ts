// The command line as a commander program: its commands, their help and their exit codes. Exit codes are 0 for done, 1
// for failed, 2 for a wrong flag or configuration. commander itself exits with 1 for a wrong flag, so this file changes
// that code to 2.
import { basename } from 'node:path';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { addAccessCommands } from '../cli/access/access-commands.ts';
import { addApplyCommands } from '../cli/apply/apply-commands.ts';
import { addCompletionCommand } from '../cli/completion/completion.ts';
import { describeFailure, exitCodeOf, exitCodes, Failure } from '../cli/terminal/failure.ts';
import { addGenerateCommand } from '../cli/member-access/generate-member-access.ts';
import { addGetCommand } from '../cli/get-clusters.ts';
import { addIndexCommand } from '../cli/index-operations/index-commands.ts';
import { addJoinCommands } from '../cli/join/join-commands.ts';
import { addKubeconfigCommand } from '../cli/kubeconfig/kubeconfig.ts';
import { addWorksCommands } from '../cli/works/works-commands.ts';
import { processTerminal } from '../cli/terminal/terminal.ts';
import type { Terminal } from '../cli/terminal/terminal.ts';
import { addVersionCommand, packageVersion } from '../cli/version.ts';
import { addCheckCommand, check } from './check.ts';
import { buildMissingConsole } from './console-files.ts';
import { addGenerateCrds } from './generate-crds.ts';
import { addServeFlags } from './serve-flags.ts';
import type { DemoOptions, LongRunningVerbs, ServeOptions } from './verbs.ts';

/**
 * Width of help texts in characters. It is fixed, so that the generated page about the command line is the same on
 * every terminal.
 */
const helpWidth = 100;

const programExamples = `
Examples:
  # see it work: simulated clusters, nothing else needed
  $ portcullis demo

  # a gateway for the clusters of your kubeconfig
  $ portcullis serve --kubeconfig ~/.kube/config --token-auth-file tokens.csv

  # kubectl contexts for them, then the clusters and their state
  $ portcullis kubeconfig --server https://127.0.0.1:8443 --certificate-authority ca.crt --token "$TOKEN" --all --merge ~/.kube/config
  $ portcullis get clusters`;

const demoExamples = `
Examples:
  $ portcullis demo
  $ portcullis demo --clusters 5 --listen 127.0.0.1:9443 --kubeconfig-out demo.kubeconfig`;

const serveExamples = `
Examples:
  # users from a token file (token,user,uid,"group1,group2"), clusters from two kubeconfigs
  $ portcullis serve --kubeconfig ~/.kube/config --kubeconfig team.yaml --token-auth-file tokens.csv

  # users with client certificates, limited by rules, for other machines too
  $ portcullis serve --listen 0.0.0.0:8443 --kubeconfig clusters.yaml --client-ca-file users-ca.crt --authorization-rules rules.yaml

  # behind a hub: its users, its RBAC, the clusters its objects describe
  $ portcullis serve --hub-kubeconfig hub.yaml --sources ocm,cluster-gateway

  # just for yourself, with the rights your kubeconfig already has
  $ portcullis serve --kubeconfig ~/.kube/config --identity self

  # everything in a file; flags override it
  $ portcullis serve --config portcullis.yaml --listen 127.0.0.1:9443`;

/**
 * Builds the commander program; no command runs before the program parses arguments.
 * @param verbs the functions that run `serve`, `demo` and `check`
 * @param name name of the executable in usage lines
 */
export function makeProgram(verbs: LongRunningVerbs, terminal: Terminal, name = 'portcullis'): Command {
  const program = new Command(name)
    .description('One door to every Kubernetes cluster.')
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text),
      writeErr: (text) => terminal.note(text),
      outputError: (text, write) => write(withoutValue(text).replace(/^error: /, 'portcullis: ')),
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText('after', programExamples);
  addDemo(program, verbs);
  addCheckCommand(program, addServe(program, verbs, terminal), verbs);
  addKubeconfigCommand(program, terminal);
  addGetCommand(program, terminal);
  addIndexCommand(program, terminal);
  addAccessCommands(program, terminal);
  addApplyCommands(program, terminal);
  addJoinCommands(program, terminal);
  addWorksCommands(program, terminal);
  addGenerateCommand(program, terminal);
  addGenerateCrds(program, terminal);
  addVersionCommand(program, terminal);
  addCompletionCommand(program, terminal);
  adviseAfterErrors(program, name);
  return program;
}

/**
 * Runs one command.
 * @param args arguments without node and script, for example `['get', 'clusters']`
 * @returns the exit code; never rejects
 */
export async function run(
  args: readonly string[],
  verbs: LongRunningVerbs,
  terminal: Terminal,
  name?: string,
): Promise<number> {
  let code: number = exitCodes.ok;
  const recording: LongRunningVerbs = {
    serve: async (options) => void (code = (await verbs.serve(options)) ?? exitCodes.ok),
    demo: async (options) => void (code = (await verbs.demo(options)) ?? exitCodes.ok),
    check: async (options) => void (code = (await verbs.check(options)) ?? exitCodes.ok),
  };
  try {
    await makeProgram(recording, terminal, name).parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // commander has printed its message already. --help and --version end here too, with the exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    terminal.note(describeFailure(error));
    return exitCodeOf(error);
  }
}

/** Entry point of the executable. `argv` is process.argv; resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  // A reader such as `head` in `portcullis … | head` closes standard output early, which is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const isPlugin = basename(argv[1] ?? '').startsWith('kubectl-');
  // The code of the gateway is imported only for the commands that need it, so that all other commands start quickly.
  const verbs: LongRunningVerbs = {
    serve: async (options) => {
      if (String(options.console) !== 'false') await buildMissingConsole();
      return (await import('../gateway/workers/serve.ts')).serve(options);
    },
    demo: async (options) => {
      await buildMissingConsole();
      return (await loadDemo()).demo(options);
    },
    check: (options) => check(options, processTerminal()),
  };
  return run(argv.slice(2), verbs, processTerminal(), isPlugin ? 'kubectl portcullis' : 'portcullis');
}

/**
 * Imports the demo.
 * @throws Failure (rejects) in the container image, which has no simulated clusters
 */
async function loadDemo(): Promise<typeof import('./demo.ts')> {
  try {
    return await import('./demo.ts');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new Failure(
      'the demo is not part of this installation',
      'Run it from the npm package (portcullis demo) or from a checkout (npm ci && npm start).',
      { cause: error },
    );
  }
}

function addDemo(program: Command, verbs: LongRunningVerbs): void {
  program
    .command('demo')
    .description('run a gateway with simulated clusters, and print commands to try')
    .option('--listen <host:port>', 'address of the gateway', '127.0.0.1:8443')
    .option('--ops-listen <host:port>', 'address of metrics and debug pages, plain HTTP', '127.0.0.1:8090')
    .addOption(new Option('--clusters <number>', 'how many clusters, 1 to 100').default(3).argParser(parseClusterCount))
    .option('--kubeconfig-out <file>', 'where to write the kubeconfig (default: the demo says where)')
    .addHelpText('after', demoExamples)
    .action(async (options: DemoOptions) => void (await verbs.demo(options)));
}

function addServe(program: Command, verbs: LongRunningVerbs, terminal: Terminal): Command {
  const serve = program.command('serve').description('run a gateway for the clusters of kubeconfig files and of a hub');
  addServeFlags(serve, (text) => terminal.note(text));
  return serve
    .addHelpText('after', serveExamples)
    .action(async (options: ServeOptions) => void (await verbs.serve(options)));
}

function parseClusterCount(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text) || Number(text) > 100)
    throw new InvalidArgumentError('It must be a number from 1 to 100.');
  return Number(text);
}

/**
 * Makes every error about wrong flags of `command` and its subcommands end with advice to run the command's --help.
 * @param path the words with which the command is called, such as `portcullis get`
 */
function adviseAfterErrors(command: Command, path: string): void {
  command.showHelpAfterError(`Run "${path} --help" to see what is possible.`);
  for (const child of command.commands) adviseAfterErrors(child, `${path} ${child.name()}`);
}

/**
 * Security: removes the value of an unknown flag from an error message and keeps the flag's name, since the value may
 * be a secret: `--tokn=SECRET`.
 */
function withoutValue(text: string): string {
  return text.replace(/'(--?[^'=\s]+)=[^']*'/g, "'$1'");
}
