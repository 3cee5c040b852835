// Leaves out of a manifest the fields that its `ignoreFields` names, so that server-side apply leaves these fields to
// other field managers once the object exists. A jq expression is refused: the gateway has no jq interpreter, and
// without the expression it would overwrite fields that it should leave alone.
import { parsePrinterPath, TooManyValues, ValueBudget } from '../../tables/printer-path.ts';
import type { IgnoredFields } from '../work/manifest-config.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';

/** Thrown when a rule in `ignoreFields` cannot be followed; the message says why. */
export class IgnoreFieldFault extends Error {
  override readonly name = 'IgnoreFieldFault';
}

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
    for (const pointer of rule.jsonPointers) removePointer(copy, pointer);
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
    throw new IgnoreFieldFault(`JSONPath error in '${path}': ${why}`);
  };
  const { parent, name, dotted } = lastField(path) ?? refuse('it must end in the name of a field, as .spec.replicas');
  if (dotted !== undefined) removePath(object, dotted, budget);
  let parents: readonly unknown[] = [];
  try {
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

/**
 * Matches one step of a JSONPath: either brackets, in which quotes and filters may contain any character, or a name
 * behind a dot.
 */
const step = /\[(?:'[^']*'|"[^"]*"|[^\]'"])*\]|\.+(?:\\.|[^.[\\])*/gs;

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
  const [last] = [...path.matchAll(step)].slice(-1);
  if (last === undefined || last.index + last[0].length !== path.length) return undefined;
  const before = path.slice(0, last.index);
  const quoted = /^\['([^']+)'\]$/.exec(last[0])?.[1];
  if (quoted !== undefined) {
    const name = quoted.replaceAll('\\', '');
    return /(?<!\\)\./.test(quoted)
      ? { parent: before, name, dotted: `${before}.${quoted}` }
      : { parent: before, name };
  }
  const [, dots, name] = /^(\.\.?)((?:\\.|[^\s.,[\]$@{}\\])+)$/s.exec(last[0]) ?? [];
  if (dots === undefined) return undefined;
  return { parent: dots === '.' ? before : `${before}..`, name: name!.replaceAll('\\', '') };
}

/** Removes the field at a JSON pointer (RFC 6901), if there is one. @throws IgnoreFieldFault for a malformed pointer */
function removePointer(object: JsonObject, pointer: string): void {
  if (!pointer.startsWith('/'))
    throw new IgnoreFieldFault(`JSON Pointer error in '${pointer}': a JSON pointer begins with "/"`);
  const parts = pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = parts.pop()!;
  let parent: unknown = object;
  for (const part of parts) {
    if (Array.isArray(parent)) parent = /^\d+$/.test(part) ? parent[Number(part)] : undefined;
    else parent = isJsonObject(parent) && Object.hasOwn(parent, part) ? parent[part] : undefined;
  }
  if (Array.isArray(parent) && /^\d+$/.test(last)) parent.splice(Number(last), 1);
  else if (isJsonObject(parent)) delete (parent as Record<string, unknown>)[last];
}
