// Makes the bash completion script. It must run without the bash-completion package and on bash 3.2 (macOS). Easy to
// get wrong: bash splits words at "=", so `--output=wide` arrives as three words.
import { everyCommand, programNames } from './command-shape.ts';
import type { CommandShape, ValueKind } from './command-shape.ts';

/** Makes the script, which is loaded with `source <(portcullis completion bash)`. */
export function bashCompletion(program: CommandShape): string {
  const commands = everyCommand(program);
  const steps = commands.flatMap(({ path, aliases }) => {
    const word = path.at(-1);
    if (word === undefined) return [];
    const parent = pathOf(path.slice(0, -1));
    return [`      ${[word, ...aliases].map((name) => `'${parent}/${name}'`).join('|')}) command='${pathOf(path)}' ;;`];
  });
  const values = commands.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, value }) => {
      const action = valueAction(value);
      return action === undefined
        ? []
        : [`    ${names.map((name) => `'${pathOf(path)} ${name}'`).join('|')}) ${action}; return ;;`];
    }),
  );
  const words = commands.map(({ path, commands: children, argumentChoices, flags }) => {
    const plain = [...children.flatMap((child) => [child.path.at(-1) ?? '', ...child.aliases]), ...argumentChoices];
    const dashed = flags.flatMap(({ names }) => names);
    return `    '${pathOf(path)}') plain='${plain.join(' ')}' dashed='${dashed.join(' ')}' ;;`;
  });
  return `# bash completion for portcullis. Load it with: source <(portcullis completion bash)
_portcullis_take() {
  local reply
  COMPREPLY=()
  while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen "$@")
}
_portcullis_files() {
  compopt -o filenames 2>/dev/null
  _portcullis_take "$1" -- "$2"
}
_portcullis() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command='' plain='' dashed='' i
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $previous == '=' && $COMP_CWORD -ge 2 ]]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command/\${COMP_WORDS[i]}" in
${steps.join('\n')}
    esac
  done
  case "$command $previous" in
${values.join('\n')}
  esac
  case "$command" in
${words.join('\n')}
  esac
  if [[ $word == -* ]]; then _portcullis_take -W "$dashed" -- "$word"
  else _portcullis_take -W "$plain" -- "$word"; fi
}
complete -F _portcullis ${programNames.join(' ')}
`;
}

function pathOf(path: readonly string[]): string {
  return path.map((word) => `/${word}`).join('');
}

function valueAction(value: ValueKind): string | undefined {
  if (value === 'none') return undefined;
  if (value === 'file') return '_portcullis_files -f "$word"';
  if (value === 'directory') return '_portcullis_files -d "$word"';
  // Where free text is expected, nothing is offered, because bash would take an offered flag as the value.
  if (value === 'text') return 'COMPREPLY=()';
  return `_portcullis_take -W '${value.join(' ')}' -- "$word"`;
}
