// Collects from the commander program what shell completion needs: commands, flags and their possible values.
// Completion offers file names for a flag whose placeholder is <file>, <pem>, <csv> or <dir>.
import type { Command, Option } from 'commander';

/** What may follow a flag: nothing, a file, a directory, free text, or one of the listed values. */
export type ValueKind = 'none' | 'file' | 'directory' | 'text' | readonly string[];

/** One flag of a command. */
export interface FlagShape {
  /** All names with their dashes: `['-o', '--output']`. */
  readonly names: readonly string[];
  readonly description: string;
  readonly value: ValueKind;
  /** True when the flag may be given more than once. */
  readonly repeatable: boolean;
}

/** One command, as completion scripts need it. */
export interface CommandShape {
  /** The words with which the command is called, without the program's name: `['get', 'clusters']`. */
  readonly path: readonly string[];
  /** Other names for the last word of `path`. */
  readonly aliases: readonly string[];
  readonly description: string;
  readonly flags: readonly FlagShape[];
  /**
   * The values from which the command's first argument must be chosen; empty when it has no argument or accepts any
   * value.
   */
  readonly argumentChoices: readonly string[];
  readonly commands: readonly CommandShape[];
}

/** Names under which the executable is installed. */
export const programNames = ['portcullis', 'kubectl-portcullis'] as const;

/** Collects the names, flags and subcommands of a commander command. */
export function commandShape(command: Command, path: readonly string[] = []): CommandShape {
  return {
    path,
    aliases: command.aliases(),
    description: command.description(),
    // createHelp() includes the built-in flag --help, which the command's own list of options lacks.
    flags: command.createHelp().visibleOptions(command).map(flagShape),
    argumentChoices: command.registeredArguments[0]?.argChoices ?? [],
    commands: command.commands.map((child) => commandShape(child, [...path, child.name()])),
  };
}

/** A command and all commands below it; each comes before its subcommands. */
export function everyCommand(shape: CommandShape): readonly CommandShape[] {
  return [shape, ...shape.commands.flatMap(everyCommand)];
}

function flagShape(option: Option): FlagShape {
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description.split(' (')[0] ?? '',
    value: valueKind(option),
    repeatable: option.variadic || /repeatable/.test(option.description),
  };
}

function valueKind(option: Option): ValueKind {
  if (!option.required && !option.optional) return 'none';
  if (option.argChoices !== undefined) return option.argChoices;
  const placeholder = /<([^>]*)>/.exec(option.flags)?.[1] ?? '';
  if (placeholder === 'dir') return 'directory';
  return ['file', 'pem', 'csv'].includes(placeholder) ? 'file' : 'text';
}
