// Leaves out of a manifest the fields that its `ignoreFields` names, so that server-side apply leaves these fields to
// other field managers once the object exists. A jq expression is refused: the gateway has no jq interpreter, and
// without the expression it would overwrite fields that it should leave alone. Authors of works write the rules, so
// what all rules of a manifest cost together is counted.
import { longestPath, parsePrinterPath, TooManyValues, ValueBudget } from '../../tables/printer-path.ts';
import type { IgnoredFields } from '../work/manifest-config.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { shortened } from '../../lib/text/shortened.ts';

/** Thrown when a rule in `ignoreFields` cannot be followed; the message says why. */
export class IgnoreFieldFault extends Error {
  override readonly name = 'IgnoreFieldFault';
}

/** How much of a path or pointer a message shows, in characters; more would leave no room for the reason. */
const mostShown = 256;

/**
 * Returns a copy of the manifest without the fields that the rules name. Rules with the condition `OnSpokeChange`
 * remove nothing.
 * @throws IgnoreFieldFault when a rule cannot be followed
 */
export function withoutIgnored(manifest: JsonObject, rules: readonly IgnoredFields[]): JsonObject {
  const copy = structuredClone(manifest);
  const budget = ValueBudget.ofAllPaths();
  for (const rule of rules) {
    const [jq] = rule.jqPathExpressions;
    if (jq !== undefined)
      throw new IgnoreFieldFault(
        `JQ expression error in '${jq}': this executor has no jq; name the fields by jsonPointers or jsonPaths`,
      );
    if (rule.condition === 'OnSpokeChange') continue;
    for (const path of rule.jsonPaths) removePath(copy, path, budget);
    for (const pointer of rule.jsonPointers) removePointer(copy, pointer, budget);
  }
  return copy;
}

/**
 * Removes the field at the end of a JSONPath: for `.spec.replicas`, `replicas` from the object at `.spec`. A path that
 * finds nothing removes nothing.
 * @throws IgnoreFieldFault for a path that cannot be read, does not end in a field, or walks over too much
 */
function removePath(object: JsonObject, path: string, budget: ValueBudget): void {
  const refuse = (why: string): never => {
    throw new IgnoreFieldFault(`JSONPath error in '${shortened(path, mostShown)}': ${why}`);
  };
  if (path.length > longestPath) refuse(`it is longer than ${longestPath} characters`);
  const { parent, name, dotted } = lastField(path) ?? refuse('it must end in the name of a field, as .spec.replicas');
  if (dotted !== undefined) removePath(object, dotted, budget);
  let parents: readonly unknown[] = [];
  try {
    budget.compare(path.length);
    parents = parent === '' ? [object] : parsePrinterPath(parent, budget)(object, budget);
  } catch (error) {
    // RangeError: an index in the path is behind the end of the list, so there is nothing to remove.
    const isNothing = error instanceof RangeError && !(error instanceof TooManyValues);
    if (!isNothing) refuse((error as Error).message);
  }
  for (const found of parents) removeField(found, name);
}

function removeField(object: unknown, name: string): void {
  if (!isJsonObject(object)) return;
  for (const key of name === '*' ? Object.keys(object) : [name]) delete (object as Record<string, unknown>)[key];
}

interface LastField {
  readonly parent: string;
  /** `*` stands for all fields. */
  readonly name: string;
  /** The whole path when the dots in a quoted name such as `['a.b']` are read as separators: `.a.b`. */
  readonly dotted?: string;
}

/**
 * Splits a path before its last step; undefined when the last step is no field. `['a.b']` has two readings: kubectl
 * reads the dot as a separator of two fields, but authors mean the field `a.b`.
 */
function lastField(path: string): LastField | undefined {
  const start = lastStep(path);
  if (start === undefined) return undefined;
  const [before, last] = [path.slice(0, start), path.slice(start)];
  const quoted = /^\['([^']+)'\]$/.exec(last)?.[1];
  if (quoted !== undefined) {
    const name = quoted.replaceAll('\\', '');
    return /(?<!\\)\./.test(quoted)
      ? { parent: before, name, dotted: `${before}.${quoted}` }
      : { parent: before, name };
  }
  const [, dots, name] = /^(\.\.?)((?:\\.|[^\s.,[\]$@{}\\])+)$/s.exec(last) ?? [];
  if (dots === undefined) return undefined;
  return { parent: dots === '.' ? before : `${before}..`, name: name!.replaceAll('\\', '') };
}

/**
 * Where the last step of a path begins; undefined when the path does not end in a step. A step is brackets, in which
 * quotes and filters may contain any character, or a name behind a dot. Each character is read twice at most.
 */
function lastStep(path: string): number | undefined {
  const ends = bracketEnds(path);
  let start: number | undefined;
  let end = 0;
  for (let at = 0; at < path.length;) {
    const next = path[at] === '[' ? ends[at + 1] : path[at] === '.' ? nameEnd(path, at) : undefined;
    if (next !== undefined) [start, end] = [at, next];
    at = next ?? at + 1;
  }
  return end === path.length ? start : undefined;
}

/** The end of the name behind the dots at `start`. A character after a backslash is part of the name. */
function nameEnd(path: string, start: number): number {
  let at = start;
  while (path[at] === '.') at += 1;
  while (at < path.length && path[at] !== '.' && path[at] !== '[') {
    if (path[at] === '\\' && at + 1 === path.length) break;
    at += path[at] === '\\' ? 2 : 1;
  }
  return at;
}

/**
 * For each position, where brackets end if their content goes on there, outside of quotes; undefined when they do not
 * end. Reads the path backwards, since looking for the end from every bracket would read the rest once for each.
 */
function bracketEnds(path: string): readonly (number | undefined)[] {
  const ends: (number | undefined)[] = Array.from({ length: path.length + 1 });
  const behind = new Map<string, number>();
  for (let at = path.length - 1; at >= 0; at -= 1) {
    const char = path[at]!;
    if (char === ']') ends[at] = at + 1;
    else if (char !== "'" && char !== '"') ends[at] = ends[at + 1];
    else {
      const closed = behind.get(char);
      if (closed !== undefined) ends[at] = ends[closed];
      behind.set(char, at + 1);
    }
  }
  return ends;
}

/**
 * Removes the field at a JSON pointer (RFC 6901), if there is one.
 * @throws IgnoreFieldFault for a malformed pointer, or when the rules together take too much
 */
function removePointer(object: JsonObject, pointer: string, budget: ValueBudget): void {
  const refuse = (why: string): never => {
    throw new IgnoreFieldFault(`JSON Pointer error in '${shortened(pointer, mostShown)}': ${why}`);
  };
  const spend = (values: number): void => {
    try {
      budget.spend(values);
    } catch (error) {
      refuse((error as Error).message);
    }
  };
  if (!pointer.startsWith('/')) refuse('a JSON pointer begins with "/"');
  const parts = pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  spend(parts.length);
  const last = parts.pop()!;
  let parent: unknown = object;
  for (const part of parts) {
    if (Array.isArray(parent)) parent = /^\d+$/.test(part) ? parent[Number(part)] : undefined;
    else parent = isJsonObject(parent) && Object.hasOwn(parent, part) ? parent[part] : undefined;
  }
  if (Array.isArray(parent) && /^\d+$/.test(last)) {
    // All items behind the removed one move.
    spend(parent.length);
    parent.splice(Number(last), 1);
  } else if (isJsonObject(parent)) delete (parent as Record<string, unknown>)[last];
}
