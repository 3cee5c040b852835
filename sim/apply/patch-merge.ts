// JSON merge patch (RFC 7386). A null removes a field, and an array replaces the whole array.
import { isObject, type JsonObject } from '../model/types.ts';

/** Returns the target after the patch. Neither argument is changed. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else define(result, key, applyMergePatch(result[key], value));
  }
  return result;
}

/** Sets a property, even one named `__proto__`, which an assignment would not create. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
