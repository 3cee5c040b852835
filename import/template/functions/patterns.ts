// Regular expressions, run by re2js, a port of Go's engine. It has Go's syntax, and its time grows only linearly with
// the text.
import { RE2JS } from 're2js';
import type { Budget } from '../values/limits.ts';
import { TemplateError } from '../values/template-error.ts';
import { bytesOf, textOf } from '../values/values.ts';
import { fixed, type Functions } from './callable.ts';

/**
 * A search costs this many steps of the budget for each character of the text times each instruction of the compiled
 * pattern.
 */
const stepsPerInstruction = 0.1;

interface Match {
  readonly start: number;
  readonly end: number;
  /** The text of a numbered or named group; '' when the group does not exist or did not match. */
  readonly group: (name: string) => string;
}

/** Finds matches of a regular expression, from left to right. @param limit the most matches to find */
function matchesOf(pattern: string, text: string, limit: number, budget: Budget): readonly Match[] {
  budget.step(Math.ceil(pattern.length / 10));
  const compiled = compiledOf(textOf(pattern));
  const matcher = compiled.matcher(text);
  budget.step(Math.ceil(text.length * matcher.programSize() * stepsPerInstruction) + 1);
  const found: Match[] = [];
  let lastEnd = -1;
  while (found.length < limit && matcher.find()) {
    // A search may look through the whole rest of the text, as a search for `(?:a.*b|a)` does, and such work is not
    // counted in steps. So the time limit must end it, which each step checks.
    budget.step();
    const [start, end] = [matcher.start(), matcher.end()];
    // Go ignores an empty match directly after another match.
    if (start === end && start === lastEnd) continue;
    lastEnd = end;
    const groups = Array.from({ length: matcher.groupCount() + 1 }, (_, i) => matcher.group(i) ?? '');
    const names = matcher.getNamedGroups();
    const group = (name: string): string => groups[/^\d+$/.test(name) ? Number(name) : Number(names[name] ?? -1)] ?? '';
    found.push({ start, end, group });
  }
  return found;
}

function compiledOf(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch {
    throw new TemplateError('the regular expression is not valid');
  }
}

/**
 * Replaces references to groups (Regexp.Expand): `$1`, `${1}`, `$name`. `$1x` is the group named `1x`, and `$$` is a
 * dollar sign.
 */
function expanded(template: string, { group }: Match): string {
  return template.replace(/\$(?:\$|\{(\w+)\}|(\w+))/g, (all, braced?: string, plain?: string) =>
    all === '$$' ? '$' : group(braced ?? plain ?? ''),
  );
}

function replacedAll(pattern: string, bytes: string, budget: Budget, replacementOf: (match: Match) => string): string {
  const text = textOf(bytes);
  let out = '';
  let at = 0;
  for (const match of matchesOf(pattern, text, Infinity, budget)) {
    const replacement = replacementOf(match);
    budget.make(replacement.length + match.start - at);
    out += text.slice(at, match.start) + replacement;
    at = match.end;
  }
  return bytesOf(out + text.slice(at));
}

export const patterns: Functions = {
  regexMatch: fixed(['string', 'string'], ([pattern, text], budget) => {
    // For an invalid pattern sprig gives false instead of an error.
    try {
      return matchesOf(pattern, textOf(text), 1, budget).length > 0;
    } catch (error) {
      if (error instanceof TemplateError && error.message.startsWith('the regular')) return false;
      throw error;
    }
  }),
  regexFind: fixed(['string', 'string'], ([pattern, text], budget) => {
    const [match] = matchesOf(pattern, textOf(text), 1, budget);
    return bytesOf(match?.group('0') ?? '');
  }),
  regexFindAll: fixed(['string', 'string', 'int'], ([pattern, text, count], budget) => {
    const limit = count < 0n ? Infinity : Number(count);
    return matchesOf(pattern, textOf(text), limit, budget).map(({ group }) => bytesOf(group('0')));
  }),
  regexReplaceAll: fixed(['string', 'string', 'string'], ([pattern, text, template], budget) =>
    replacedAll(pattern, text, budget, (match) => expanded(textOf(template), match)),
  ),
  regexReplaceAllLiteral: fixed(['string', 'string', 'string'], ([pattern, text, literal], budget) =>
    replacedAll(pattern, text, budget, () => textOf(literal)),
  ),
  regexQuoteMeta: fixed(['string'], ([text]) => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')),
};
