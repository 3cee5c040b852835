// Reads and writes objects of one member as one identity. Each write is passed to `onWrite` before it is sent, for the
// audit log.
import { randomUUID } from 'node:crypto';
import {
  createCall,
  deleteCall,
  patchCall,
  updateCall,
  type Patch,
  type WriteCall,
} from '../../kube/objects/object-calls.ts';
import { pathOf } from '../../kube/paths.ts';
import { readStatus } from '../../kube/status.ts';
import type { ApiAnswer, ApiCall } from '../../kube/types.ts';
import { ApiRefusal } from '../../kube/objects/api-refusal.ts';
import { isTooDeep, mostLevels } from '../../lib/json/nesting.ts';
import { jsonIn } from '../../lib/json/exact-json.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { AnswerTooLong } from '../../routing/members/member-call.ts';
import type { ServedKind } from '../../kube/discovery/documents.ts';
import type { MemberClient } from './member-client.ts';

/** Thrown when the member answers with an error status. The message is the member's own. */
export class MemberRefusal extends ApiRefusal {
  override readonly name = 'MemberRefusal';
}

/**
 * Parses what a member answered. Others wrote these objects, so their nesting is limited: recursive functions can
 * safely read the result.
 * @throws MemberRefusal when it is not a JSON object, or is nested too deeply
 */
export function jsonOf(body: Buffer): JsonObject {
  const parsed = jsonIn(body);
  if (!isJsonObject(parsed))
    throw new MemberRefusal(502, 'MalformedAnswer', 'the cluster answered with no JSON object');
  if (isTooDeep(parsed))
    throw new MemberRefusal(
      502,
      'TooDeep',
      `the cluster answered with an object that is nested deeper than ${mostLevels} levels, which this gateway does not handle`,
    );
  return parsed;
}

/** Names one object of a member. */
export interface ObjectName {
  readonly kind: ServedKind;
  /** Namespace of the object; '' for kinds without namespaces. */
  readonly namespace: string;
  readonly name: string;
}

/** A write that is about to be sent, as the audit log records it. */
export interface MemberWrite {
  readonly auditId: string;
  readonly verb: 'create' | 'update' | 'patch' | 'delete';
  readonly path: string;
  readonly object: ObjectName;
}

/**
 * Called before each write is sent. The returned function is called with the HTTP status of the answer, or with 0 when
 * no answer came.
 * @throws GatewayError (or rejects) when the write must not be sent
 */
export type OnWrite = (write: MemberWrite) => Promise<(status: number) => void>;

/**
 * The objects of one member. Every method throws MemberRefusal when the member refuses, GatewayError when no answer
 * came, and UnusableName, before anything is sent, when the parts of the name cannot be those of one object.
 */
export interface MemberObjects {
  get(object: ObjectName): Promise<JsonObject | undefined>;
  create(object: ObjectName, body: JsonObject): Promise<JsonObject>;
  update(object: ObjectName, body: JsonObject): Promise<JsonObject>;
  /** Changes an object by a patch. */
  patch(object: ObjectName, patch: Patch): Promise<JsonObject>;
  /**
   * Deletes the object with this UID, with propagation policy `Background`. Succeeds too when the object is gone or has
   * another UID.
   */
  remove(object: ObjectName, uid: string): Promise<void>;
  /** Whether the identity may use the verb on the object, as the member answers a SelfSubjectAccessReview. */
  may(verb: string, object: ObjectName): Promise<boolean>;
}

const timeoutMs = 30_000;
/** Makes the access to objects. @param fieldManager name of creates and updates in `metadata.managedFields` */
export function makeMemberObjects(client: MemberClient, fieldManager: string, onWrite: OnWrite): MemberObjects {
  const ask = async (call: ApiCall & { readonly auditId?: string }): Promise<ApiAnswer> => {
    try {
      return await client.request(call);
    } catch (error) {
      // The cluster did answer, so this must not count as an unreachable cluster: only this object cannot be handled.
      if (error instanceof AnswerTooLong) throw new MemberRefusal(502, 'AnswerTooLong', error.message);
      throw error;
    }
  };
  const write = async (verb: MemberWrite['verb'], object: ObjectName, call: WriteCall): Promise<ApiAnswer> => {
    const auditId = randomUUID();
    const done = await onWrite({ auditId, verb, path: call.path, object });
    let status = 0;
    try {
      const answer = await ask({ ...call, timeoutMs, auditId });
      ({ status } = answer);
      return answer;
    } finally {
      done(status);
    }
  };
  return {
    async get(object) {
      const answer = await ask({ method: 'GET', path: at(object), timeoutMs });
      return isNotFound(answer) ? undefined : read(answer);
    },
    async create(object, body) {
      // Called only to refuse a manifest without a name: the created object is recorded, and later deleted, by its
      // name.
      at(object);
      const collection = pathOf(object.kind, object.namespace);
      return read(await write('create', object, createCall(collection, body, { fieldManager })));
    },
    async update(object, body) {
      return read(await write('update', object, updateCall(at(object), body, { fieldManager })));
    },
    async patch(object, patch) {
      return read(await write('patch', object, patchCall(at(object), patch)));
    },
    async remove(object, uid) {
      const answer = await write('delete', object, deleteCall(at(object), uid));
      if (!isNotFound(answer) && answer.status !== 409) read(answer);
    },
    async may(verb, object) {
      const { status } = read(await ask({ method: 'POST', ...accessReview(verb, object), timeoutMs }));
      return isJsonObject(status) && status['allowed'] === true && status['denied'] !== true;
    },
  };
}

function accessReview(
  verb: string,
  { kind: { group, resource, version }, namespace, name }: ObjectName,
): { readonly path: string; readonly body: JsonObject } {
  return {
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb, group, version, resource, namespace, name } },
    },
  };
}

/** Whether the member answered 404: the object does not exist, or its type is no longer served. */
function isNotFound({ status }: ApiAnswer): boolean {
  return status === 404;
}

function at({ kind, namespace, name }: ObjectName): string {
  return pathOf(kind, namespace, name);
}

/** Returns the object in an answer. @throws MemberRefusal for a status that is not 2xx, and as {@link jsonOf} does */
function read({ status, body }: ApiAnswer): JsonObject {
  if (status < 300) return jsonOf(body);
  const { reason, message } = readStatus(body);
  throw new MemberRefusal(status, reason, message || `the cluster answered with ${status}`);
}
