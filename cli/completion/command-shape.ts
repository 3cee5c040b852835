// What the shells must know of the commander program: words, flags and what may follow them. A flag takes a file
// when its placeholder is <file>, <pem>, <csv> or <dir>.
import type { Command, Option } from 'commander';

/** What may follow a flag. */
export type ValueKind = 'none' | 'file' | 'directory' | 'text' | readonly string[];

/** One flag of a command. */
export interface FlagShape {
  /** With leading dashes: `['-o', '--output']`. */
  readonly names: readonly string[];
  readonly description: string;
  readonly value: ValueKind;
  /** May be given more than once. */
  readonly repeatable: boolean;
}

/** One command as the shells see it. */
export interface CommandShape {
  /** Words that lead here, without the program: `['get', 'clusters']`. */
  readonly path: readonly string[];
  /** Other names of the last word. */
  readonly aliases: readonly string[];
  readonly description: string;
  readonly flags: readonly FlagShape[];
  /** Words its first argument may be. */
  readonly argumentChoices: readonly string[];
  readonly commands: readonly CommandShape[];
}

/** Names under which the executable is installed. */
export const programNames = ['portcullis', 'kubectl-portcullis'] as const;

/** Reads the shape of a commander program. */
export function commandShape(command: Command, path: readonly string[] = []): CommandShape {
  return {
    path,
    aliases: command.aliases(),
    description: command.description(),
    // createHelp adds the built-in --help, which the command's own list lacks.
    flags: command.createHelp().visibleOptions(command).map(flagShape),
    argumentChoices: command.registeredArguments[0]?.argChoices ?? [],
    commands: command.commands.map((child) => commandShape(child, [...path, child.name()])),
  };
}

/** A command and everything below it, parents first. */
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
