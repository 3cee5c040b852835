// Reads fields of objects that a hub sent, which may have any type. A field of the wrong type becomes a message about
// that object; a TypeError would take every other cluster with it.
import { GatewayError } from '../../model/errors.ts';
import type { HubObject, HubObjects } from '../../hub/hub-types.ts';
import type { SourceCondition } from '../../model/records.ts';
import { withoutTail } from '../../../lib/text/text-ends.ts';
import { labelFault } from '../kubeconfig/kubeconfig-cluster.ts';
import { SourceFault, unusable } from '../unusable.ts';

/** Longest condition message taken over, in characters; metav1.Condition allows 32768, a table cell does not. */
const maxMessageLength = 1024;

/** The own property at that path, undefined where there is none. */
export function fieldOf(value: unknown, ...path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found ?? undefined;
}

/** Text of a field, '' when it is absent. @throws GatewayError CLUSTER_UNUSABLE when it is something else */
export function textField(what: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw unusable(`${what} must be text`);
  return value;
}

/** A flag, false when it is absent. @throws GatewayError CLUSTER_UNUSABLE when it is something else */
export function flagField(what: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw unusable(`${what} must be true or false`);
  return value;
}

/** The items of a list, none when it is absent. @throws GatewayError CLUSTER_UNUSABLE when it is something else */
export function listField(what: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw unusable(`${what} must be a list`);
  return value;
}

/**
 * A `[]byte` field as UTF-8 text, '' when it is absent. @throws GatewayError CLUSTER_UNUSABLE when it is not base64 of
 * UTF-8
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
 * One key of a Secret as text, undefined when the Secret does not have it. @throws GatewayError CLUSTER_UNUSABLE as
 * {@link bytesField}
 */
export function secretText(secret: HubObject, key: string): string | undefined {
  const value = fieldOf(secret, 'data', key);
  return value === undefined ? undefined : bytesField(`data["${key}"]`, value);
}

const isLineEnd = (code: number): boolean => code === 0x0a || code === 0x0d;

/**
 * Without the line ends that `echo` and files leave after a token or an address (cluster-gateway trims them off
 * `endpoint`).
 */
export function trimLineEnd(text: string): string {
  return withoutTail(text, isLineEnd);
}

/** `Secret ns/name`, for messages. */
export function titleOf(kind: string, object: HubObject): string {
  const { namespace, name } = object.metadata;
  return `${kind} ${typeof namespace === 'string' && namespace !== '' ? `${namespace}/` : ''}${String(name)}`;
}

/** Runs `read`; its GatewayError says which object it is about. */
export function about<Result>(title: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const message = `${title}: ${error.message}`;
    throw error instanceof SourceFault ? new SourceFault(error.problemReason, message) : unusable(message);
  }
}

/** The valid Kubernetes labels that `keep` wants, all by default. */
export function labelsOf(object: HubObject, keep: (key: string) => boolean = () => true): Record<string, string> {
  return textEntries(fieldOf(object, 'metadata', 'labels'), (key, value) => {
    return labelFault(key, value) === undefined && keep(key);
  });
}

/** The annotations that `keep` wants. Many must not be shown: `last-applied-configuration` holds whole Secrets. */
export function annotationsOf(object: HubObject, keep: (key: string) => boolean): Record<string, string> {
  return textEntries(fieldOf(object, 'metadata', 'annotations'), keep);
}

/** One annotation, undefined when it is absent or no text. */
export function annotationOf(object: HubObject | undefined, key: string): string | undefined {
  const value = fieldOf(object, 'metadata', 'annotations', key);
  return typeof value === 'string' ? value : undefined;
}

/** One label, undefined when it is absent or no text. */
export function labelOf(object: HubObject | undefined, key: string): string | undefined {
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

/** A condition of `status.conditions` under the name `as`, nothing when the object does not have it. */
export function conditionsNamed(
  object: HubObject,
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

/** Text of a hub object as it may be shown: one line, no control characters, of bounded length. */
export function oneLine(value: unknown): string {
  if (typeof value !== 'string') return '';
  const plain = value
    .slice(0, maxMessageLength * 2)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return plain.length > maxMessageLength ? `${plain.slice(0, maxMessageLength - 1)}…` : plain;
}

/** UID of the object, '' when it has none. */
export function uidOf(object: HubObject): string {
  const uid = fieldOf(object, 'metadata', 'uid');
  return typeof uid === 'string' ? uid : '';
}

/** UID and resourceVersion, which change with every change of the object; '' for no object. */
export function versionOf(object: HubObject | undefined): string {
  if (object === undefined) return '';
  return JSON.stringify([fieldOf(object, 'metadata', 'uid'), fieldOf(object, 'metadata', 'resourceVersion')]);
}

/**
 * Objects of some watches, oldest first, then by namespace and name, each key once. Age decides, so that a name stays
 * with the cluster that had it first. By the order of namespaces, somebody who may write one namespace could take over
 * a cluster of another.
 */
export function oldestFirst(...maps: readonly HubObjects[]): readonly (readonly [key: string, HubObject])[] {
  const all = new Map(maps.toReversed().flatMap((map) => [...map]));
  const created = (object: HubObject): string => {
    const value = fieldOf(object, 'metadata', 'creationTimestamp');
    // An object without a timestamp sorts last.
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
