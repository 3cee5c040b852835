// Reads fields of hub objects, whose values may have any type. A value of the wrong type gives a GatewayError about
// that one object. A TypeError would stop the processing of all clusters.
import { fieldOf } from '../../../lib/objects/json-object.ts';
import { GatewayError } from '../../../model/errors.ts';
import type { ApiObject, ApiObjects } from '../../../kube/types.ts';
import type { SourceCondition } from '../../../model/records.ts';
import { oneLine } from '../../../lib/text/one-line.ts';
import { withoutTail } from '../../../lib/text/text-ends.ts';
import { labelFault } from '../../../lib/objects/label-selector.ts';
import { SourceFault, unusable } from '../unusable.ts';

/** The field's text; '' when it is absent. @throws GatewayError CLUSTER_UNUSABLE when it is not text */
export function textField(what: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw unusable(`${what} must be text`);
  return value;
}

/** The field's boolean; false when it is absent. @throws GatewayError CLUSTER_UNUSABLE when it is not a boolean */
export function flagField(what: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw unusable(`${what} must be true or false`);
  return value;
}

/** The items of a list field; empty when it is absent. @throws GatewayError CLUSTER_UNUSABLE when it is not a list */
export function listField(what: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw unusable(`${what} must be a list`);
  return value;
}

/**
 * Decodes a base64 field (`[]byte` in Go) as UTF-8 text; '' when it is absent.
 * @throws GatewayError CLUSTER_UNUSABLE when it is not base64 of UTF-8 text
 */
export function bytesField(what: string, value: unknown): string {
  const plain = textField(what, value);
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(plain)) {
    throw unusable(`${what} is not valid base64`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(plain, 'base64'));
  } catch {
    throw unusable(`${what} is not UTF-8 text`);
  }
}

/**
 * One key of a Secret, decoded to text; undefined when the Secret does not have it.
 * @throws GatewayError CLUSTER_UNUSABLE when the value is not base64 of UTF-8 text
 */
export function secretText(secret: ApiObject, key: string): string | undefined {
  const value = fieldOf(secret, 'data', key);
  return value === undefined ? undefined : bytesField(`data["${key}"]`, value);
}

const isLineEnd = (code: number): boolean => code === 0x0a || code === 0x0d;

/**
 * Removes line ends from the end of a value. Tools such as `echo` add them to tokens and addresses, and cluster-gateway
 * removes them from `endpoint`, too.
 */
export function trimLineEnd(text: string): string {
  return withoutTail(text, isLineEnd);
}

/** The kind and name of an object for messages, such as `Secret ns/name`. */
export function titleOf(kind: string, object: ApiObject): string {
  const { namespace, name } = object.metadata;
  return `${kind} ${typeof namespace === 'string' && namespace !== '' ? `${namespace}/` : ''}${String(name)}`;
}

/** Calls `read`. When it throws a GatewayError, the message gets `title` as its prefix. */
export function about<Result>(title: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const message = `${title}: ${error.message}`;
    throw error instanceof SourceFault ? new SourceFault(error.problemReason, message) : unusable(message);
  }
}

/** The object's valid Kubernetes labels for which `keep` returns true; by default all of them. */
export function labelsOf(object: ApiObject, keep: (key: string) => boolean = () => true): Record<string, string> {
  return textEntries(fieldOf(object, 'metadata', 'labels'), (key, value) => {
    return labelFault(key, value) === undefined && keep(key);
  });
}

/**
 * The object's annotations for which `keep` returns true. Do not show all of them: kubectl's
 * `last-applied-configuration` can contain the data of a Secret.
 */
export function annotationsOf(object: ApiObject, keep: (key: string) => boolean): Record<string, string> {
  return textEntries(fieldOf(object, 'metadata', 'annotations'), keep);
}

/** The value of an annotation; undefined when it is absent or not text. */
export function annotationOf(object: ApiObject | undefined, key: string): string | undefined {
  const value = fieldOf(object, 'metadata', 'annotations', key);
  return typeof value === 'string' ? value : undefined;
}

/** The value of a label; undefined when it is absent or not text. */
export function labelOf(object: ApiObject | undefined, key: string): string | undefined {
  const value = fieldOf(object, 'metadata', 'labels', key);
  return typeof value === 'string' ? value : undefined;
}

function textEntries(value: unknown, keep: (key: string, value: string) => boolean): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && keep(entry[0], entry[1]),
    ),
  );
}

/**
 * Conditions of the object's `status.conditions`, renamed.
 * @param types the condition types to take, each with its new name; types that the object does not have are left out
 */
export function conditionsNamed(
  object: ApiObject,
  types: Readonly<Record<string, string>>,
): readonly SourceCondition[] {
  const list = fieldOf(object, 'status', 'conditions');
  if (!Array.isArray(list)) return [];
  return Object.entries(types).flatMap(([type, as]) => {
    const found: unknown = list.find((each) => fieldOf(each, 'type') === type);
    const status = fieldOf(found, 'status');
    if (status !== 'True' && status !== 'False' && status !== 'Unknown') return [];
    const reason = fieldOf(found, 'reason');
    const written = typeof reason === 'string' && /^[A-Za-z][A-Za-z0-9_,:]{0,255}$/.test(reason);
    return [{ type: as, status, reason: written ? reason : 'Unknown', message: oneLine(fieldOf(found, 'message')) }];
  });
}

/** The object's UID; '' when it has none. */
export function uidOf(object: ApiObject): string {
  const uid = fieldOf(object, 'metadata', 'uid');
  return typeof uid === 'string' ? uid : '';
}

/** The object's UID and resourceVersion as one text, which changes whenever the object changes; '' for undefined. */
export function versionOf(object: ApiObject | undefined): string {
  if (object === undefined) return '';
  return JSON.stringify([fieldOf(object, 'metadata', 'uid'), fieldOf(object, 'metadata', 'resourceVersion')]);
}

/**
 * The objects of several watches in order of creation, then of key. When a key occurs in several watches, the object of
 * the first watch is used. The order decides which of two clusters keeps a name. Time comes first because of this: if
 * the namespace came first, somebody who may write to one namespace could take the name of a cluster that was
 * registered earlier in another namespace.
 */
export function oldestFirst(...maps: readonly ApiObjects[]): readonly (readonly [key: string, ApiObject])[] {
  const all = new Map(maps.toReversed().flatMap((map) => [...map]));
  const created = (object: ApiObject): string => {
    const value = fieldOf(object, 'metadata', 'creationTimestamp');
    // An object without a creation time sorts last.
    return typeof value === 'string' ? value : '9';
  };
  return [...all]
    .map(([key, object]) => ({ key, object, created: created(object) }))
    .sort((a, b) => compare(a.created, b.created) || compare(a.key, b.key))
    .map(({ key, object }) => [key, object] as const);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
