// The syntax of the simulated shell: words with quotes and variables, pipelines, `&&`, `||`, `;` and redirections. This
// is a small part of sh. For anything else (loops, `if`, subshells, here-documents, `$(…)`) parsing fails before any
// command runs, and the error says what is not supported.

/** A part of a word. The values of unquoted variables are split at white space. */
type WordPart =
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'variable'; readonly name: string; readonly isQuoted: boolean };

/** One word of a command, before its variables are replaced by their values. */
export type Word = readonly WordPart[];

/** A redirection of one file descriptor. */
export interface Redirection {
  readonly descriptor: 0 | 1 | 2;
  readonly kind: 'read' | 'write' | 'append' | 'duplicate';
  /** The file name; for 'duplicate', as in `2>&1`, the number of the descriptor to copy. */
  readonly target: Word;
}

/** A command `NAME=value … program arguments`, with redirections. */
export interface SimpleCommand {
  readonly assignments: readonly { readonly name: string; readonly value: Word }[];
  readonly words: readonly Word[];
  readonly redirections: readonly Redirection[];
}

/** Commands joined by `|`. */
export interface Pipeline {
  /** Whether the pipeline runs depends on the exit code of the pipeline before it. */
  readonly when: 'always' | 'after-success' | 'after-failure';
  readonly commands: readonly SimpleCommand[];
}

/** The script contains something that this shell does not support. */
export class ShellSyntaxFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ShellSyntaxFault';
  }
}

type Token = { readonly kind: 'word'; readonly word: Word } | { readonly kind: 'operator'; readonly text: string };

const operators = ['&&', '||', '>>', '<<', '>&', '<', '>', '|', ';', '\n', '&', '(', ')'] as const;
const unsupported = ['for', 'while', 'until', 'if', 'case', 'function', '{', '}', '[[', '!'];
const assignment = /^[A-Za-z_][A-Za-z0-9_]*=/;

/** Parses a script. @throws ShellSyntaxFault when the script is invalid or not supported */
export function parseScript(script: string): readonly Pipeline[] {
  const tokens = [...tokenize(script)];
  const pipelines: Pipeline[] = [];
  let at = 0;
  let when: Pipeline['when'] = 'always';
  const operatorAt = (index: number): string | undefined => {
    const token = tokens[index];
    return token?.kind === 'operator' ? token.text : undefined;
  };
  while (at < tokens.length) {
    const separator = operatorAt(at);
    if (separator === ';' || separator === '\n') {
      at += 1;
      continue;
    }
    const commands: SimpleCommand[] = [];
    for (;;) {
      const [command, next] = parseSimple(tokens, at);
      commands.push(command);
      at = next;
      if (operatorAt(at) !== '|') break;
      at += 1;
    }
    pipelines.push({ when, commands });
    const joiner = operatorAt(at);
    if (joiner === undefined) break;
    if (joiner === '&') throw new ShellSyntaxFault('background jobs are not simulated');
    if (!['&&', '||', ';', '\n'].includes(joiner)) throw new ShellSyntaxFault(`syntax error: unexpected "${joiner}"`);
    when = joiner === '&&' ? 'after-success' : joiner === '||' ? 'after-failure' : 'always';
    at += 1;
    if (when !== 'always' && tokens[at] === undefined)
      throw new ShellSyntaxFault('syntax error: unexpected end of file');
  }
  return pipelines;
}

function parseSimple(tokens: readonly Token[], start: number): readonly [SimpleCommand, number] {
  const assignments: { name: string; value: Word }[] = [];
  const words: Word[] = [];
  const redirections: Redirection[] = [];
  let at = start;
  for (; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    if (token.kind === 'word') {
      const text = leadingText(token.word);
      if (words.length === 0 && unsupported.includes(plainText(token.word) ?? '')) {
        throw new ShellSyntaxFault(`"${plainText(token.word)}" is not simulated`);
      }
      const match = words.length === 0 ? assignment.exec(text) : null;
      if (match === null) words.push(token.word);
      else assignments.push({ name: match[0].slice(0, -1), value: dropLeading(token.word, match[0].length) });
      continue;
    }
    if (!['<', '>', '>>', '>&', '<<', '(', ')'].includes(token.text)) break;
    if (token.text === '<<') throw new ShellSyntaxFault('here-documents are not simulated');
    if (token.text === '(' || token.text === ')') throw new ShellSyntaxFault('subshells are not simulated');
    const target = tokens[at + 1];
    if (target?.kind !== 'word') throw new ShellSyntaxFault('syntax error: a redirection without a file');
    redirections.push(redirectionOf(token.text, words, target.word, isTouching(tokens, at)));
    at += 1;
  }
  if (words.length === 0 && assignments.length === 0 && redirections.length === 0) throw unexpected(tokens[at]);
  return [{ assignments, words, redirections }, at];
}

function unexpected(token: Token | undefined): ShellSyntaxFault {
  const found = token === undefined ? 'end of file' : `"${token.kind === 'operator' ? token.text : 'word'}"`;
  return new ShellSyntaxFault(`syntax error: unexpected ${found}`);
}

/**
 * In `2>`, the digit is a file descriptor only if it directly precedes the operator. The tokenizer puts this character
 * in front of such a digit.
 */
const descriptorMark = '\u0000';

function isTouching(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1];
  return before?.kind === 'word' && (plainText(before.word) ?? '').startsWith(descriptorMark);
}

function redirectionOf(operator: string, words: Word[], target: Word, hasDescriptor: boolean): Redirection {
  const digit = hasDescriptor ? plainText(words.pop() ?? [])?.slice(1) : undefined;
  const descriptor = digit === '2' ? 2 : digit === '0' ? 0 : digit === '1' ? 1 : operator === '<' ? 0 : 1;
  const kinds = { '<': 'read', '>': 'write', '>>': 'append', '>&': 'duplicate' } as const;
  return { descriptor, kind: kinds[operator as keyof typeof kinds], target };
}

function* tokenize(script: string): Generator<Token> {
  let at = 0;
  while (at < script.length) {
    const char = script.charAt(at);
    if (char === ' ' || char === '\t' || char === '\r') {
      at += 1;
    } else if (char === '\\' && script.charAt(at + 1) === '\n') {
      at += 2;
    } else if (char === '#') {
      while (at < script.length && script.charAt(at) !== '\n') at += 1;
    } else {
      const operator = operators.find((text) => script.startsWith(text, at));
      if (operator !== undefined) {
        yield { kind: 'operator', text: operator };
        at += operator.length;
      } else {
        const [word, next] = readWord(script, at);
        const text = plainText(word);
        const isDescriptor = text !== undefined && /^[012]$/.test(text) && /[<>]/.test(script.charAt(next));
        yield { kind: 'word', word: isDescriptor ? [{ kind: 'text', value: descriptorMark + text }] : word };
        at = next;
      }
    }
  }
}

function readWord(script: string, start: number): readonly [Word, number] {
  const parts: WordPart[] = [];
  let value = '';
  let hasText = false;
  let at = start;
  let quote: '"' | '' = '';
  const flush = (): void => {
    if (hasText) parts.push({ kind: 'text', value });
    value = '';
    hasText = false;
  };
  while (at < script.length) {
    const char = script.charAt(at);
    if (quote === '' && (/\s/.test(char) || operators.some((text) => script.startsWith(text, at)))) break;
    if (char === '"') {
      quote = quote === '' ? '"' : '';
      hasText = true;
      at += 1;
    } else if (char === "'" && quote === '') {
      const end = script.indexOf("'", at + 1);
      if (end === -1) throw new ShellSyntaxFault('syntax error: unterminated quoted string');
      value += script.slice(at + 1, end);
      hasText = true;
      at = end + 1;
    } else if (char === '\\') {
      const next = script.charAt(at + 1);
      const isEscape = quote === '' || '$`"\\\n'.includes(next);
      if (next !== '\n') value += isEscape ? next : `\\${next}`;
      hasText = true;
      at += 2;
    } else if (char === '`') {
      throw new ShellSyntaxFault('backquotes are not simulated');
    } else if (char === '$') {
      const [part, next] = readExpansion(script, at, quote !== '');
      if (part === undefined) {
        value += '$';
        hasText = true;
      } else {
        flush();
        parts.push(part);
      }
      at = next;
    } else {
      value += char;
      hasText = true;
      at += 1;
    }
  }
  if (quote !== '') throw new ShellSyntaxFault('syntax error: unterminated quoted string');
  flush();
  return [parts, at];
}

function readExpansion(script: string, at: number, isQuoted: boolean): readonly [WordPart | undefined, number] {
  if (script.startsWith('$(', at)) throw new ShellSyntaxFault('$(…) is not simulated');
  const name = /^\$(?:([A-Za-z_][A-Za-z0-9_]*|[?$0-9#])|\{([A-Za-z_][A-Za-z0-9_]*|\?)\})/.exec(script.slice(at));
  if (name === null) {
    if (script.startsWith('${', at)) throw new ShellSyntaxFault('parameter expansions are not simulated');
    return [undefined, at + 1];
  }
  return [{ kind: 'variable', name: name[1] ?? name[2] ?? '', isQuoted }, at + name[0].length];
}

function plainText(word: Word): string | undefined {
  const [part] = word;
  return word.length === 1 && part?.kind === 'text' ? part.value : undefined;
}

function leadingText(word: Word): string {
  const [part] = word;
  return part?.kind === 'text' ? part.value : '';
}

function dropLeading(word: Word, length: number): Word {
  const [part, ...rest] = word;
  if (part?.kind !== 'text') return word;
  const value = part.value.slice(length);
  return value === '' ? rest : [{ kind: 'text', value }, ...rest];
}
