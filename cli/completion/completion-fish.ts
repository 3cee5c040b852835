// Makes the fish completion script. Easy to get wrong: without -f, fish offers file names everywhere, even where only a
// command is possible.
import { everyCommand, programNames } from './command-shape.ts';
import type { CommandShape, FlagShape } from './command-shape.ts';

/** Makes the script for the file `~/.config/fish/completions/portcullis.fish`. */
export function fishCompletion(program: CommandShape): string {
  const lines = everyCommand(program).flatMap((command) => {
    const condition = conditionOf(command);
    return [
      ...command.commands.flatMap((child) =>
        [child.path.at(-1) ?? '', ...child.aliases].map(
          (word) => `${condition} -a ${quote(word)} -d ${quote(child.description)}`,
        ),
      ),
      ...command.argumentChoices.map((word) => `${condition} -a ${quote(word)}`),
      ...command.flags.map((flag) => `${condition} ${flagWords(flag)}`),
    ];
  });
  return `# fish completion for portcullis. Save it as ~/.config/fish/completions/portcullis.fish
${programNames
  .flatMap((name) => [`complete -c ${name} -f`, ...lines.map((line) => `complete -c ${name} ${line}`)])
  .join('\n')}
`;
}

/** A fish condition that is true when the words on the command line name this command and none of its subcommands. */
function conditionOf({ path, aliases, commands }: CommandShape): string {
  const children = commands.flatMap((child) => [child.path.at(-1) ?? '', ...child.aliases]);
  const seen = path.map((word, index) => {
    const names = index === path.length - 1 ? [word, ...aliases] : [word];
    return `__fish_seen_subcommand_from ${names.join(' ')}`;
  });
  const notDeeper = children.length === 0 ? [] : [`not __fish_seen_subcommand_from ${children.join(' ')}`];
  return `-n ${quote([...seen, ...notDeeper].join('; and '))}`;
}

function flagWords({ names, description, value }: FlagShape): string {
  const words = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  if (value === 'file') words.push('-r -F');
  else if (value === 'directory') words.push("-x -a '(__fish_complete_directories)'");
  else if (value === 'text') words.push('-x');
  else if (value !== 'none') words.push(`-x -a ${quote(value.join(' '))}`);
  return `${words.join(' ')} -d ${quote(description)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
