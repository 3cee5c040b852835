// Makes the zsh completion script, which uses `_arguments`. Easy to get wrong: `[`, `]` and `:` have a meaning in the
// specifications of `_arguments`. So descriptions are first escaped for `_arguments` and then quoted for the shell.
import { everyCommand, programNames } from './command-shape.ts';
import type { CommandShape, FlagShape, ValueKind } from './command-shape.ts';

/** Makes the script for a file `_portcullis` in a folder of `$fpath`; it can also be loaded with `source`. */
export function zshCompletion(program: CommandShape): string {
  return `#compdef ${programNames.join(' ')}
# zsh completion for portcullis. Save it as _portcullis in a folder of $fpath, or: source <(portcullis completion zsh)
${everyCommand(program).map(commandFunction).join('\n')}
if [[ $funcstack[1] == _portcullis ]]; then
  _portcullis "$@"
else
  compdef _portcullis ${programNames.join(' ')}
fi
`;
}

function commandFunction(command: CommandShape): string {
  const specifications = command.flags.map(flagSpecification);
  if (command.commands.length === 0) {
    const positional = command.argumentChoices.length > 0 ? [quote(`1: :(${command.argumentChoices.join(' ')})`)] : [];
    return `${functionName(command.path)}() {
  _arguments ${[...specifications, ...positional].join(' \\\n    ')}
}`;
  }
  const children = command.commands.flatMap((child) =>
    [child.path.at(-1) ?? '', ...child.aliases].map((word) => ({ word, child })),
  );
  return `${functionName(command.path)}() {
  local state line
  local -a words_here=(
    ${children.map(({ word, child }) => quote(`${word}:${child.description}`)).join('\n    ')}
  )
  _arguments -C ${[...specifications, "'1: :->command'", "'*:: :->rest'"].join(' \\\n    ')}
  case $state in
    command) _describe command words_here ;;
    rest)
      case $line[1] in
        ${children.map(({ word, child }) => `${word}) ${functionName(child.path)} ;;`).join('\n        ')}
      esac ;;
  esac
}`;
}

function flagSpecification({ names, description, value, repeatable }: FlagShape): string {
  const text = `[${description.replace(/[[\]\\]/g, '\\$&')}]`;
  const star = repeatable ? '*' : '';
  const exclusive = names.length > 1 && !repeatable ? `(${names.join(' ')})` : '';
  return names.map((name) => quote(`${exclusive}${star}${name}${text}${valueSpecification(value)}`)).join(' ');
}

function valueSpecification(value: ValueKind): string {
  if (value === 'none') return '';
  if (value === 'file') return ':file:_files';
  if (value === 'directory') return ':directory:_files -/';
  return value === 'text' ? ':value: ' : `:value:(${value.join(' ')})`;
}

function functionName(path: readonly string[]): string {
  return ['_portcullis', ...path].join('_').replaceAll('-', '_');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
