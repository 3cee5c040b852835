// Matches Go's regular expressions (RE2, github.com/google/re2/wiki/Syntax), which identity rules and CEL use.
// JavaScript's RegExp would give some patterns another meaning, and could take exponential time. The library re2js is a
// port of Go's engine, whose time grows linearly with the text. The limits on the size of a pattern are ours.
import { RE2JS, RE2JSSyntaxException } from 're2js';

/** Returns whether the pattern matches anywhere in the text, as Go's regexp.MatchString. */
export type GoPattern = (text: string) => boolean;

/** The error for a pattern that cannot be used. The message says why, without quoting the pattern. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Longest pattern, in UTF-16 code units. */
const maxSource = 1_000;
/** Deepest nesting of groups in a pattern. */
const maxDepth = 100;
/** Maximum number of instructions of a compiled pattern. At this limit, the slowest match that was found took 0.2 s. */
const maxInstructions = 6_000;
/**
 * A pattern that seems to have more instructions is not even compiled. Compiling so many instructions takes about 0.1
 * s.
 */
const maxEstimate = 100_000;
/** Longest text to match, in UTF-16 code units. Callers must refuse longer texts, because matching does not check. */
export const maxPatternText = 1_024;

/**
 * Compiles a pattern.
 * @throws PatternError that says what is wrong without quoting the pattern
 */
export function compileGoPattern(source: string): GoPattern {
  const program = programOf(source).re2();
  return (text) => program.match(text);
}

/** A pattern that is searched for. Texts may have any length: the time grows with it, and with the instructions. */
export interface GoSearch {
  /** Instructions of the compiled pattern. */
  readonly instructions: number;
  readonly matches: GoPattern;
  /**
   * The non-overlapping matches from left to right, as Go's regexp.FindAllStringIndex returns them. Each search may
   * read to the end of the text.
   */
  search(text: string): Iterable<readonly [start: number, end: number]>;
}

/**
 * Compiles a pattern to search for.
 * @throws PatternError that says what is wrong without quoting the pattern
 */
export function compileGoSearch(source: string): GoSearch {
  const pattern = programOf(source);
  const program = pattern.re2();
  return {
    instructions: program.numberOfInstructions(),
    matches: (text) => program.match(text),
    *search(text) {
      const matcher = pattern.matcher(text);
      let lastEnd = -1;
      while (matcher.find()) {
        const [start, end] = [matcher.start(), matcher.end()];
        // Go ignores an empty match directly after another match.
        if (start === end && start === lastEnd) continue;
        lastEnd = end;
        yield [start, end];
      }
    },
  };
}

function programOf(source: string): RE2JS {
  if (source.length > maxSource) throw new PatternError(`is longer than ${maxSource} characters`);
  const pattern = estimateOf(source) > maxEstimate ? undefined : compiled(source);
  if (pattern === undefined || pattern.re2().numberOfInstructions() > maxInstructions)
    throw new PatternError('is too large once its repetitions are written out');
  return pattern;
}

/**
 * Matches one element of a pattern: a quoted text, an escape, a character class, a count such as `{2,3}`, or any other
 * character.
 */
const element = /\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d{1,4})(?:,(\d{0,4}))?\}|./gsu;

/** Estimates, without compiling, how many instructions a pattern has once its counts such as `{2,3}` are expanded. */
function estimateOf(source: string): number {
  const openGroups = [0];
  let last = 0;
  for (const [token, least, most] of source.matchAll(element)) {
    if (token === '(') {
      if (openGroups.push(0) > maxDepth) throw new PatternError('has groups that are nested too deeply');
      continue;
    }
    if (least !== undefined) last *= Number(most || least) - 1;
    else if (token === ')' && openGroups.length > 1) last = openGroups.pop()! + 2;
    else last = token.startsWith('\\Q') ? token.length : 1;
    openGroups[openGroups.length - 1]! += last;
  }
  return openGroups.reduce((sum, size) => sum + size, 0);
}

function compiled(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    throw new PatternError(`is not a regular expression of Go: ${error.getDescription()}`);
  }
}
