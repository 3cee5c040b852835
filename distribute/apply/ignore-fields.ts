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

/** Removes the field at the end of a JSONPath: for `.spec.replicas`, `replicas` from the object at `.spec`. */
function removePath(object: JsonObject, path: string, budget: ValueBudget): void {
  const dot = path.lastIndexOf('.');
  const field = path.slice(dot + 1);
  let parents: readonly unknown[];
  try {
    parents = dot <= 0 ? [object] : parsePrinterPath(path.slice(0, dot))(object, budget);
  } catch (error) {
    if (error instanceof TooManyValues) throw new IgnoreFieldFault(`JSONPath error in '${path}': ${error.message}`);
    return;
  }
  for (const parent of parents) if (isJsonObject(parent)) delete (parent as Record<string, unknown>)[field];
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
