// Builds the requests that write one object, for every client of an API server: that of the hub, of a member, and of
// the commands. A delete names the object's UID and has propagation policy Background.
import type { ApiCall } from '../types.ts';

/** A call without its timeout, which the client adds. */
export type WriteCall = Pick<ApiCall, 'method' | 'path' | 'contentType' | 'body'>;

/** Query parameters that all writes have (metav1.CreateOptions, UpdateOptions, PatchOptions). */
export interface WriteOptions {
  /** Name of the writer in `metadata.managedFields`. */
  readonly fieldManager?: string;
  /** If true, the server checks the write but changes nothing. */
  readonly dryRun?: boolean;
}

/** A change of an object. `apply` is server-side apply (KEP-555), for which `fieldManager` is required. */
export interface Patch extends WriteOptions {
  readonly type: 'merge' | 'apply' | 'json';
  /** With `apply`: whether fields of other managers are taken over. */
  readonly force?: boolean;
  /** Encoded as JSON; a Buffer is sent as it is. */
  readonly body: unknown;
}

const contentTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Creates an object. @param path path of the collection */
export function createCall(path: string, body: unknown, options: WriteOptions = {}): WriteCall {
  return { method: 'POST', path: withQuery(path, queryOf(options)), body };
}

/** Replaces the object at the path. */
export function updateCall(path: string, body: unknown, options: WriteOptions = {}): WriteCall {
  return { method: 'PUT', path: withQuery(path, queryOf(options)), body };
}

/** Changes the object at the path `at`, or creates it when `patch.type` is `apply`. */
export function patchCall(at: string, { type, force, body, ...options }: Patch): WriteCall {
  const path = withQuery(at, queryOf(options, force));
  return { method: 'PATCH', path, contentType: contentTypes[type], body };
}

/** Deletes the object at the path with propagation policy `Background`, unless it has another UID: then 409. */
export function deleteCall(
  path: string,
  uid: string,
  { dryRun = false }: Pick<WriteOptions, 'dryRun'> = {},
): WriteCall {
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid },
    propagationPolicy: 'Background',
    ...(dryRun && { dryRun: ['All'] }),
  };
  return { method: 'DELETE', path: withQuery(path, queryOf({ dryRun })), body };
}

function queryOf({ fieldManager, dryRun }: WriteOptions, force?: boolean): Readonly<Record<string, string>> {
  return {
    ...(fieldManager !== undefined && { fieldManager }),
    ...(force !== undefined && { force: String(force) }),
    ...(dryRun === true && { dryRun: 'All' }),
  };
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const parameters = new URLSearchParams(query).toString();
  return parameters === '' ? path : `${path}?${parameters}`;
}
