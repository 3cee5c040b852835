// Parses paths that lead to fields of an object: `metadata.name`, `.spec.containers[].image`,
// `metadata.annotations['a.io/b']`, `spec.ports[0].port`. A dot inside quotes belongs to the key. A key in brackets
// needs quotes.
import { GatewayError } from '../model/errors.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import { shortened } from '../lib/text/shortened.ts';

/** The most steps of a path; longer paths are refused. No Kubernetes type is nested this deep. */
export const maxPathSteps = 32;
export const maxPathLength = 2048;

const each: PathStep = { kind: 'each' };
const plainKey = /^[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?$/;
const digits = /^\d{1,9}$/;

/**
 * Parses a path in the grammar of Clusterpedia's enhanced field selector.
 * @param mayEndInList whether the last step may be `[]` or `[0]`; not permitted in selectors, which compare the value
 *   of a field
 * @throws GatewayError BAD_REQUEST that says where the path is invalid
 */
export function parsePath(text: string, mayEndInList = false): readonly PathStep[] {
  if (text.length > maxPathLength) refuse(shortened(text, 60), `is longer than ${maxPathLength} characters`);
  const steps: PathStep[] = [];
  let at = text.startsWith('.') ? 1 : 0;
  let wantsKey = true;
  while (at < text.length) {
    const char = text[at]!;
    if (char === '[' && (steps.length > 0 || isQuote(text[at + 1]))) {
      // A bracket may also follow a dot, and a quoted key in brackets may start the path: `['metadata'].['name']`.
      const read = readBracket(text, at);
      steps.push(read.step);
      at = read.end;
      wantsKey = false;
    } else if (wantsKey) {
      const read = isQuote(char) ? readQuoted(text, at) : readPlain(text, at);
      steps.push({ kind: 'key', key: read.key });
      at = read.end;
      wantsKey = false;
    } else if (char === '.') {
      at++;
      wantsKey = true;
    } else {
      refuse(text, `expected '.' or '[' at character ${at + 1}`);
    }
    if (steps.length > maxPathSteps) refuse(text, `has more than ${maxPathSteps} steps`);
  }
  if (wantsKey) refuse(text, 'a name is missing at the end');
  if (!mayEndInList && steps.at(-1)!.kind !== 'key') refuse(text, 'the last step cannot be a list');
  return steps;
}

function isQuote(char: string | undefined): boolean {
  return char === "'" || char === '"';
}

interface Read {
  readonly key: string;
  readonly end: number;
}

function readPlain(text: string, start: number): Read {
  let end = start;
  while (end < text.length && !'.[\'"]'.includes(text[end]!)) end++;
  const key = text.slice(start, end);
  if (!plainKey.test(key)) refuse(text, `"${key}" is not a name; write other keys in quotes, as ['${key || 'key'}']`);
  return { key, end };
}

/** Reads a quoted key. A backslash takes the next character literally. */
function readQuoted(text: string, start: number): Read {
  const quote = text[start];
  let key = '';
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === quote) return { key, end: at + 1 };
    if (text[at] === '\\' && at + 1 < text.length) at++;
    key += text[at];
  }
  return refuse(text, `the quote at character ${start + 1} is not closed`);
}

function readBracket(text: string, start: number): { readonly step: PathStep; readonly end: number } {
  if (isQuote(text[start + 1])) {
    const { key, end } = readQuoted(text, start + 1);
    if (text[end] !== ']') refuse(text, `expected ']' at character ${end + 1}`);
    return { step: { kind: 'key', key }, end: end + 1 };
  }
  const close = text.indexOf(']', start);
  if (close < 0) refuse(text, `the bracket at character ${start + 1} is not closed`);
  const inner = text.slice(start + 1, close);
  if (inner === '') return { step: each, end: close + 1 };
  if (!digits.test(inner)) refuse(text, `"${inner}" is not an index; write keys in quotes, as ['${inner}']`);
  return { step: { kind: 'index', index: Number(inner) }, end: close + 1 };
}

function refuse(text: string, why: string): never {
  throw new GatewayError('BAD_REQUEST', `invalid field path "${text}": ${why}`);
}

/**
 * Prints a path in one canonical way: equal paths give equal texts, however they were written. {@link parsePath} can
 * parse the text again.
 */
export function printPath(path: readonly PathStep[]): string {
  return path.map((step, i) => printStep(step, i === 0)).join('');
}

function printStep(step: PathStep, isFirst: boolean): string {
  if (step.kind === 'each') return '[]';
  if (step.kind === 'index') return `[${step.index}]`;
  if (plainKey.test(step.key) && !step.key.includes('.')) return isFirst ? step.key : `.${step.key}`;
  const quoted = `'${step.key.replaceAll(/[\\']/g, '\\$&')}'`;
  return isFirst ? quoted : `[${quoted}]`;
}
