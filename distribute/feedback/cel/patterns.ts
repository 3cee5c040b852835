// `matches`, and Kubernetes' CEL library of patterns (apiserver/pkg/cel/library/regex.go). They use a port of Go's
// regular expression engine, whose time grows linearly with the text.
import { compileGoSearch, PatternError, type GoSearch } from '../../../lib/text/go-pattern.ts';
import { makeRecent } from '../../../lib/recent.ts';
import type { Library } from './library.ts';
import { CelFault, type Steps } from './steps.ts';

const mostCompiled = 50;

/** One step counts for this many characters times instructions of the pattern. */
const workInStep = 10;
/** Steps for each search, in addition to the steps for the characters that it reads. */
const stepsOfSearch = 50;
/** Steps for each instruction of a pattern that is compiled. */
const stepsToCompile = 4;

/**
 * Checks a literal pattern of `find` or `findAll`. Kubernetes compiles such patterns before it evaluates anything.
 * @throws CelFault when the pattern is invalid
 */
export function checkPattern(source: string): void {
  tried('', () => compileGoSearch(source));
}

/** Registers `matches`, `find` and `findAll`. */
export function addPatterns({ add, steps }: Library): void {
  const compiled = makeRecent<GoSearch>({ maxEntries: mostCompiled });
  const patternOf = (source: string): GoSearch => {
    const known = compiled.get(source);
    if (known !== undefined) return known;
    steps.spend(source.length);
    const made = compileGoSearch(source);
    steps.spend(made.instructions * stepsToCompile);
    compiled.set(source, made);
    return made;
  };
  add('string.matches(string): bool', (text: string, source: string) =>
    tried('', () => {
      const pattern = patternOf(source);
      pay(steps, pattern, text.length);
      return pattern.matches(text);
    }),
  );
  add('string.find(string): string', (text: string, source: string) =>
    tried('Illegal regex: ', () => found(text, patternOf(source), 1, steps)[0] ?? ''),
  );
  const all = (text: string, source: string, limit = -1n): readonly string[] =>
    tried('Illegal regex: ', () => found(text, patternOf(source), limit < 0n ? Infinity : Number(limit), steps));
  add('string.findAll(string): list<string>', (text: string, source: string) => all(text, source));
  add('string.findAll(string, int): list<string>', all);
}

function pay(steps: Steps, { instructions }: GoSearch, characters: number): void {
  steps.spend(stepsOfSearch + Math.ceil(((characters + 1) * instructions) / workInStep));
}

function tried<Result>(before: string, find: () => Result): Result {
  try {
    return find();
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new CelFault(`${before}error parsing regexp: ${error.message.replace(/^is not .*?: /, '')}`);
  }
}

/**
 * The matches from left to right. A search costs steps for the characters up to the end of its match. Some patterns,
 * such as `(?:a.*b|a)`, read further than that without counting steps; only the deadline of the thread limits them.
 */
function found(text: string, pattern: GoSearch, limit: number, steps: Steps): readonly string[] {
  const matches: string[] = [];
  let at = 0;
  for (const [start, end] of pattern.search(text)) {
    if (matches.length >= limit) return matches;
    pay(steps, pattern, end - at);
    at = end;
    matches.push(text.slice(start, end));
  }
  pay(steps, pattern, text.length - at);
  return matches;
}
