// Go's regular expressions (RE2, github.com/google/re2/wiki/Syntax), in which identity rules are written. JavaScript's
// RegExp reads some patterns in another way and can take years over one. Here a match takes at most states × characters
// steps, and a pattern that Go refuses or this file does not know is an error.
import { PatternError, parsePattern } from './go-pattern-syntax.ts';
import type { PatternNode, Position } from './go-pattern-syntax.ts';

/**
 * True when the pattern matches anywhere in the text (regexp.MatchString). The text must have no line feeds: `.` and
 * `(?m)` ignore them.
 */
export type GoPattern = (text: string) => boolean;

/** Longest program; with it the longest text that may be compared costs some 10 ms. */
const maxStates = 2_000;
/** In UTF-16 units. Longer texts must not be asked about: see {@link maxPatternText}. */
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

/** Adds the states of a node that go on at `next`; returns the first of them. */
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
        // The loop's own state comes first, because its body returns to it.
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

/** Follows all alternatives at once, a set of states at a time (Thompson), so that no text makes it slow. */
function runStates(states: readonly State[], start: number, text: string): boolean {
  const points = Array.from(text, (character) => character.codePointAt(0)!);
  const seenAt = new Int32Array(states.length).fill(-1);
  let waiting: number[] = [];
  for (let at = 0; at <= points.length; at++) {
    const point = points[at];
    const reached: number[] = [];
    // A match may begin at every character.
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
