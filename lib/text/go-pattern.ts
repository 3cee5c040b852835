// Matches Go's regular expressions (RE2, github.com/google/re2/wiki/Syntax), which identity rules use. JavaScript's
// RegExp would give some patterns another meaning, and could take exponential time. Here a match takes at most states ×
// characters steps. A pattern that Go refuses or this file does not support is an error.
import { PatternError, parsePattern } from './go-pattern-syntax.ts';
import type { PatternNode, Position } from './go-pattern-syntax.ts';

/**
 * Returns whether the pattern matches anywhere in the text, as Go's regexp.MatchString. The text must not contain line
 * feeds, because `.` and `(?m)` are implemented as if there were none.
 */
export type GoPattern = (text: string) => boolean;

/** Most states of a compiled pattern. With this many, matching a text of {@link maxPatternText} takes about 10 ms. */
const maxStates = 2_000;
/** Longest text to match, in UTF-16 code units. Callers must refuse longer texts, because matching does not check. */
export const maxPatternText = 1_024;

type State =
  | { readonly kind: 'one'; readonly accepts: (point: number) => boolean; readonly next: number }
  | { readonly kind: 'position'; readonly position: Position; readonly next: number }
  | { readonly kind: 'either'; readonly alternatives: readonly number[] }
  | { readonly kind: 'match' };

/**
 * Compiles a pattern.
 * @throws PatternError that says what is wrong without quoting the pattern
 */
export function compileGoPattern(source: string): GoPattern {
  const states: State[] = [{ kind: 'match' }];
  const start = build(parsePattern(source), 0, states);
  return (text) => runStates(states, start, text);
}

/**
 * Adds the states of a node to `states`.
 * @param next index of the state that follows the node
 * @returns index of the node's first state
 */
function build(node: PatternNode, next: number, states: State[]): number {
  if (states.length > maxStates) throw new PatternError('is too large once its repetitions are written out');
  const add = (state: State): number => states.push(state) - 1;
  switch (node.kind) {
    case 'one':
      return add({ kind: 'one', accepts: node.accepts, next });
    case 'position':
      return add({ kind: 'position', position: node.position, next });
    case 'sequence':
      return node.parts.reduceRight((after, part) => build(part, after, states), next);
    case 'either':
      return add({
        kind: 'either',
        alternatives: node.alternatives.map((alternative) => build(alternative, next, states)),
      });
    case 'repeat': {
      let entry = next;
      if (node.max === Infinity) {
        // The state of the loop is added first, because the body of the loop refers to its index.
        entry = add({ kind: 'either', alternatives: [] });
        states[entry] = { kind: 'either', alternatives: [build(node.part, entry, states), next] };
      } else {
        for (let i = node.min; i < node.max; i++)
          entry = add({ kind: 'either', alternatives: [build(node.part, entry, states), next] });
      }
      for (let i = 0; i < node.min; i++) entry = build(node.part, entry, states);
      return entry;
    }
    default:
      return node satisfies never;
  }
}

/** Runs all alternatives at once as a set of states (Thompson's algorithm), so that no text can make it slow. */
function runStates(states: readonly State[], start: number, text: string): boolean {
  const points = Array.from(text, (character) => character.codePointAt(0)!);
  const seenAt = new Int32Array(states.length).fill(-1);
  let waiting: number[] = [];
  for (let at = 0; at <= points.length; at++) {
    const point = points[at];
    const reached: number[] = [];
    // Adding the start state at every position allows a match to begin anywhere.
    const open = [...waiting, start];
    waiting = [];
    while (open.length > 0) {
      const index = open.pop()!;
      if (seenAt[index] === at) continue;
      seenAt[index] = at;
      const state = states[index]!;
      if (state.kind === 'match') return true;
      if (state.kind === 'either') open.push(...state.alternatives);
      else if (state.kind === 'position') {
        if (holdsAt(state.position, points, at)) open.push(state.next);
      } else if (point !== undefined && state.accepts(point)) reached.push(state.next);
    }
    waiting = reached;
  }
  return false;
}

function holdsAt(position: Position, points: readonly number[], at: number): boolean {
  if (position === 'start') return at === 0;
  if (position === 'end') return at === points.length;
  const isBoundary = isWord(points[at - 1]) !== isWord(points[at]);
  return isBoundary === (position === 'word-boundary');
}

function isWord(point: number | undefined): boolean {
  return point !== undefined && /^\w$/.test(String.fromCodePoint(point));
}
