// `portcullis completion`: prints completion scripts for bash, zsh and fish. The scripts are made from the commander
// program that also parses the flags, so scripts and program always agree. Security: descriptions and values become
// shell code and must be quoted.
import { Argument } from 'commander';
import type { Command } from 'commander';
import { commandShape } from './command-shape.ts';
import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { zshCompletion } from './completion-zsh.ts';
import type { Terminal } from '../terminal/terminal.ts';

const examples = `
Examples:
  # bash: in ~/.bashrc
  source <(portcullis completion bash)

  # zsh: into a folder of $fpath
  $ portcullis completion zsh > "\${fpath[1]}/_portcullis"

  # fish
  $ portcullis completion fish > ~/.config/fish/completions/portcullis.fish`;

/** Adds the command `completion` to the program. */
export function addCompletionCommand(program: Command, terminal: Terminal): void {
  const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };
  program
    .command('completion')
    .description('print a completion script for your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(scripts)))
    .addHelpText('after', examples)
    .action((shell: keyof typeof scripts) => terminal.print(scripts[shell](commandShape(program))));
}
