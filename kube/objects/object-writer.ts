// Writes objects of an API server, mostly of the hub. The message of an error says what was refused and why, and which
// RBAC rule is missing. Values that the server quotes are removed from its message, since they may come from the
// object, which may hold secrets.
import { textsAt } from '../../lib/objects/json-object.ts';
import { collectionPath, objectPath } from '../paths.ts';
import { readStatus } from '../status.ts';
import type { ApiAnswer, ApiCall, ApiClient, ApiObject, WatchedResource } from '../types.ts';
import { ApiRefusal } from './api-refusal.ts';
import { deleteCall, patchCall } from './object-calls.ts';
import { oneLine } from '../../lib/text/one-line.ts';
import type { ResourceType } from './objects.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

/**
 * The API server answered with an error status. Values that the server quotes are removed from the message, because
 * callers write it where everybody who can see the object may read it.
 */
export class HubRefusal extends ApiRefusal {
  override readonly name = 'HubRefusal';
}

/**
 * Writes objects, namespaced ones into the namespace that their metadata names.
 * Every method throws HubRefusal when the server refuses, and GatewayError HUB_UNAVAILABLE when no answer came. Once
 * the AbortSignal of {@link makeObjectWriter} is aborted, every method rejects instead.
 */
export interface ObjectWriter {
  /** Creates an object, and returns it as the hub stored it. */
  create(type: ResourceType, object: object): Promise<ApiObject>;
  /**
   * Changes an object by a JSON merge patch (null removes a field, lists are replaced), and returns the object as the
   * hub stored it.
   */
  patch(type: ResourceType, object: ApiObject, patch: object): Promise<ApiObject>;
  /**
   * Changes the status of an object by a JSON merge patch, and returns the object as the hub stored it. A list of
   * conditions is replaced as a whole, and somebody else may have written one since the read. So the hub refuses the
   * patch with 409 if the object has another resourceVersion than `object`.
   */
  patchStatus(type: ResourceType, object: ApiObject, status: object): Promise<ApiObject>;
  /** Deletes the object with this name and UID. It is no error when the object is already gone. */
  remove(type: ResourceType, object: ApiObject): Promise<void>;
}

/**
 * Adds or removes a finalizer; returns whether the object was changed.
 * @throws HubRefusal with status 409 when the object changed since it was read
 */
export async function setFinalizer(
  writer: ObjectWriter,
  type: ResourceType,
  object: ApiObject,
  { finalizer, wanted }: { readonly finalizer: string; readonly wanted: boolean },
): Promise<boolean> {
  const present = textsAt(object, 'metadata', 'finalizers');
  if (present.includes(finalizer) === wanted) return false;
  const finalizers = wanted ? [...present, finalizer] : present.filter((each) => each !== finalizer);
  const { resourceVersion } = object.metadata;
  await writer.patch(type, object, { metadata: { resourceVersion, finalizers } });
  return true;
}

const timeoutMs = 15_000;

/**
 * Makes a writer.
 * @param ended when aborted, running calls are given up and later calls send nothing. A controller that was stopped may
 * still be in the middle of a reconcile while another process is the leader
 */
export function makeObjectWriter(hub: Pick<ApiClient, 'request'>, ended?: AbortSignal): ObjectWriter {
  const client = ended === undefined ? hub : { request: (call: ApiCall) => requestUntil(hub, call, ended) };
  const merge = async (
    type: ResourceType,
    { metadata }: ApiObject,
    patch: object,
    subresource: '' | '/status',
  ): Promise<ApiObject> => {
    const path = `${objectPath(within(type, metadata), metadata.name)}${subresource}`;
    const call = patchCall(path, {
      type: 'merge',
      // Because the patch holds the UID, the hub answers 409 if the object was deleted meanwhile and another one with
      // the same name was created.
      body: { ...patch, metadata: { ...(patch as { metadata?: object }).metadata, uid: metadata.uid } },
    });
    const resource = `${type.resource}${subresource}`;
    return read(await client.request({ ...call, timeoutMs }), 'patch', { ...type, resource });
  };
  return {
    async create(type, object) {
      const { metadata } = object as { readonly metadata?: { readonly namespace?: string } };
      const path = collectionPath(within(type, metadata), {});
      return read(await client.request({ method: 'POST', path, body: object, timeoutMs }), 'create', type);
    },
    patch: (type, object, patch) => merge(type, object, patch, ''),
    patchStatus: (type, object, status) => {
      const { resourceVersion } = object.metadata;
      return merge(type, object, { metadata: { resourceVersion }, status }, '/status');
    },
    async remove(type, { metadata }) {
      const path = objectPath(within(type, metadata), metadata.name);
      const answer = await client.request({ ...deleteCall(path, metadata.uid), timeoutMs });
      if (answer.status !== 404 && answer.status !== 409) check(answer, 'delete', type);
    },
  };
}

function requestUntil(hub: Pick<ApiClient, 'request'>, call: ApiCall, ended: AbortSignal): Promise<ApiAnswer> {
  ended.throwIfAborted();
  return hub.request({ ...call, signal: ended });
}

function within(type: ResourceType, metadata: { readonly namespace?: string } = {}): WatchedResource {
  const { namespace } = metadata;
  return namespace === undefined ? type : { ...type, namespace };
}

/** Returns the object in an answer. @throws HubRefusal for any status from 300 */
function read(answer: ApiAnswer, verb: string, type: ResourceType): ApiObject {
  check(answer, verb, type);
  return parseExact(answer.body) as ApiObject;
}

/** Whether a write failed with 409: somebody else changed the object since it was read, or created it first. */
export function isConflict(error: unknown): boolean {
  return error instanceof HubRefusal && error.status === 409;
}

/** Returns when the answer is a success. @throws HubRefusal for any status from 300 */
export function check(answer: ApiAnswer, verb: string, { group, resource }: ResourceType): void {
  if (answer.status < 300) return;
  const { reason, message } = readStatus(answer.body);
  const what = `${resource}${group === '' ? '' : `.${group}`}`;
  if (answer.status === 403) {
    const rule = `apiGroups ["${group}"], resources ["${resource}"], verbs ["${verb}"]`;
    throw new HubRefusal(403, reason, `the gateway may not ${verb} ${what}; grant it a rule with ${rule}`);
  }
  const words = oneLine(message).replaceAll(quotedValue, '$1');
  throw new HubRefusal(answer.status, reason, words === '' ? `${verb} of ${what}: status ${answer.status}` : words);
}

/** Matches `Invalid value: "…"`, and the same with Unsupported or Duplicate, in messages of Kubernetes' field.Error. */
const quotedValue = /((?:Invalid|Unsupported|Duplicate) value): (?:"(?:[^"\\]|\\.)*"|\{.*\}|[^\s:]+)/g;
