// Paths into the object as `whereSQL` has them: PostgreSQL's steps and key lists, and MySQL's `$.a."b.c"[0]`.
import type { PathStep } from '../../lib/json/raw-json.ts';
import { maxPathSteps } from '../path.ts';
import { fault, shownText, type Token } from './tokens.ts';

/** Whether the text behind `object->` is a path of MySQL, and not a key. */
export function isMySqlPath(text: string): boolean {
  return /^\$(?:$|[.[])/.test(text);
}

/**
 * Parses a path of MySQL without wildcards.
 * @throws GatewayError BAD_REQUEST for any other path
 */
export function mySqlPath(name: string, { value, at }: Token): readonly PathStep[] {
  const steps: PathStep[] = [];
  const step = /\.([A-Za-z_$][\w$]*)|\."((?:[^"\\]|\\["\\])*)"|\[(\d{1,9})\]/y;
  if (!value.startsWith('$')) throw fault(name, at, 'a path of MySQL begins with $, as $.status.phase');
  for (let end = 1; end < value.length; end = step.lastIndex) {
    step.lastIndex = end;
    const [, plain, quoted, index] = step.exec(value) ?? [];
    if (index !== undefined) steps.push({ kind: 'index', index: Number(index) });
    else if (plain !== undefined) steps.push({ kind: 'key', key: plain });
    else if (quoted !== undefined) steps.push({ kind: 'key', key: quoted.replaceAll(/\\(.)/g, '$1') });
    else throw fault(name, at, `a path is made of .key, ."key" and [0]; ${shownText(value)} is not`);
  }
  return checked(name, at, steps);
}

/**
 * Parses the keys behind `#>` and `#>>`, such as `{status,phase}`.
 * @throws GatewayError BAD_REQUEST for a number, because PostgreSQL takes it for a key or for an element, depending on
 *   the object
 */
export function arrayPath(name: string, { value, at }: Token): readonly PathStep[] {
  if (!/^\{(?:[^{},"\\\s]+(?:,[^{},"\\\s]+)*)?\}$/.test(value))
    throw fault(name, at, `keys are written as '{status,phase}'; ${shownText(value)} are not`);
  const keys = value === '{}' ? [] : value.slice(1, -1).split(',');
  if (keys.some((key) => /^-?\d+$/.test(key) || key.toUpperCase() === 'NULL'))
    throw fault(name, at, 'a number or NULL between keys is not supported: use -> for each step');
  return checked(
    name,
    at,
    keys.map((key) => ({ kind: 'key', key })),
  );
}

/** The element that a number behind `->` names. @throws GatewayError BAD_REQUEST unless it is a whole number */
export function stepOf(name: string, { value, at }: Token): PathStep {
  if (!/^\d{1,9}$/.test(value)) throw fault(name, at, 'an element is named by a whole number, from 0');
  return { kind: 'index', index: Number(value) };
}

function checked(name: string, at: number, steps: readonly PathStep[]): readonly PathStep[] {
  if (steps.length > maxPathSteps) throw fault(name, at, `the path has more than ${maxPathSteps} steps`);
  return steps;
}
