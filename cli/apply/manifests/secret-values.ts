// Removes the values of Secrets from diffs and messages before they are printed. Security: a server quotes values in
// some of its messages, and kubectl keeps a copy of the whole object in an annotation.
import { parseExact } from '../../../lib/json/exact-json.ts';
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import type { Manifest } from './manifest.ts';

const fields = ['data', 'stringData'] as const;

/** Whether an object is a Secret of the core group. */
export function isSecret({ apiVersion, kind }: { readonly apiVersion?: unknown; readonly kind?: unknown }): boolean {
  return apiVersion === 'v1' && kind === 'Secret';
}

/**
 * Two states of a Secret with `***` in place of each value. As in `kubectl diff`, the mask of a value that differs says
 * so, which shows that the value changed without showing the value.
 */
export function maskSecrets(
  before: JsonObject | undefined,
  after: JsonObject | undefined,
): readonly [before: JsonObject | undefined, after: JsonObject | undefined] {
  const mask = (object: JsonObject | undefined, other: JsonObject | undefined, mark: string): JsonObject | undefined =>
    object === undefined ? undefined : { ...object, ...maskedFields(object, other, mark) };
  return [mask(before, after, 'before'), mask(after, before, 'after')];
}

function maskedFields(object: JsonObject, other: JsonObject | undefined, mark: string): JsonObject {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const values = object[field];
      if (!isJsonObject(values)) return [];
      const others = isJsonObject(other?.[field]) ? other[field] : {};
      const masked = Object.entries(values).map(([key, value]) => {
        const differs = key in others && others[key] !== value;
        return [key, differs ? `*** (${mark})` : '***'] as const;
      });
      return [[field, Object.fromEntries(masked)]];
    }),
  );
}

function leavesOf(value: unknown): readonly unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
}

/** Returns a server's message about an object. If the object is a Secret, its values are removed from the message. */
export function withoutSecrets(message: string, manifest: Manifest): string {
  if (!isSecret(manifest)) return message;
  const object = parseExact(manifest.body) as JsonObject;
  return fields
    .flatMap((field) => leavesOf(object[field]))
    .flatMap((value) => [String(value), Buffer.from(String(value), 'base64').toString('utf8')])
    .filter((value) => value.length > 1)
    .toSorted((one, other) => other.length - one.length)
    .reduce((text, value) => text.replaceAll(value, '***'), message);
}
