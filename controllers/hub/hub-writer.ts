// Writes objects of an API server, mostly of the hub. A refusal says what was refused and why, with the missing rule
// where RBAC refused it. The hub's own words may quote a value of the object, so quoted values are taken out.
import { collectionPath } from '../../cache/hub/hub-paths.ts';
import type { HubAnswer, HubClient, HubObject, WatchedResource } from '../../cache/hub/hub-types.ts';
import { oneLine } from '../../cache/sources/objects/hub-object.ts';
import { textsAt, type ResourceType } from '../objects.ts';

/** The hub answered, and not as hoped. The message may be shown to anybody who sees the object. */
export class HubRefusal extends Error {
  override readonly name = 'HubRefusal';
  readonly status: number;
  /** `reason` of the metav1.Status; '' without one. */
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/**
 * Writes objects; those with a namespace where they are. Every method throws HubRefusal, or GatewayError
 * HUB_UNAVAILABLE without an answer.
 */
export interface HubWriter {
  /** Returns the object as the hub has it now. */
  create(type: ResourceType, object: object): Promise<HubObject>;
  /**
   * A JSON merge patch: null removes a field, lists are replaced. Returns the object as the hub has it now.
   * @param subresource with its slash, as in `/status`
   */
  patch(type: ResourceType, object: HubObject, patch: object, subresource?: '' | '/status'): Promise<HubObject>;
  /** Deletes this very object; one that is gone already is no error. */
  remove(type: ResourceType, object: HubObject): Promise<void>;
}

/** Adds or removes the finalizer where it is not so already. @throws HubRefusal, 409 when the object has changed */
export async function setFinalizer(
  writer: HubWriter,
  type: ResourceType,
  object: HubObject,
  { finalizer, wanted }: { readonly finalizer: string; readonly wanted: boolean },
): Promise<void> {
  const present = textsAt(object, 'metadata', 'finalizers');
  if (present.includes(finalizer) === wanted) return;
  const finalizers = wanted ? [...present, finalizer] : present.filter((each) => each !== finalizer);
  const { resourceVersion } = object.metadata;
  await writer.patch(type, object, { metadata: { resourceVersion, finalizers } });
}

const timeoutMs = 15_000;

export function makeHubWriter(client: Pick<HubClient, 'request'>): HubWriter {
  return {
    async create(type, object) {
      const { metadata } = object as { readonly metadata?: { readonly namespace?: string } };
      const path = collectionPath(within(type, metadata), {});
      return read(await client.request({ method: 'POST', path, body: object, timeoutMs }), 'create', type);
    },
    async patch(type, { metadata }, patch, subresource = '') {
      const call = {
        method: 'PATCH',
        path: `${objectPath(type, metadata)}${subresource}`,
        contentType: 'application/merge-patch+json',
        // An object of the same name that was made since is another one, and the hub answers 409.
        body: { ...patch, metadata: { ...(patch as { metadata?: object }).metadata, uid: metadata.uid } },
        timeoutMs,
      } as const;
      return read(await client.request(call), 'patch', { ...type, resource: `${type.resource}${subresource}` });
    },
    async remove(type, { metadata }) {
      const path = objectPath(type, metadata);
      const preconditions = { uid: metadata.uid };
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, propagationPolicy: 'Background' };
      const answer = await client.request({ method: 'DELETE', path, body, timeoutMs });
      if (answer.status !== 404 && answer.status !== 409) check(answer, 'delete', type);
    },
  };
}

function within(type: ResourceType, metadata: { readonly namespace?: string } = {}): WatchedResource {
  const { namespace } = metadata;
  return namespace === undefined ? type : { ...type, namespace };
}

function objectPath(type: ResourceType, metadata: HubObject['metadata']): string {
  return `${collectionPath(within(type, metadata), {})}/${encodeURIComponent(metadata.name)}`;
}

/** @throws HubRefusal as {@link check} */
function read(answer: HubAnswer, verb: string, type: ResourceType): HubObject {
  check(answer, verb, type);
  return JSON.parse(answer.body.toString('utf8')) as HubObject;
}

/** The object somebody else changed at the same time, or made first. */
export function isConflict(error: unknown): boolean {
  return error instanceof HubRefusal && error.status === 409;
}

/** @throws HubRefusal for any status that is no success */
export function check(answer: HubAnswer, verb: string, { group, resource }: ResourceType): void {
  if (answer.status < 300) return;
  const { reason = '', message = '' } = statusIn(answer.body);
  const what = `${resource}${group === '' ? '' : `.${group}`}`;
  if (answer.status === 403) {
    const rule = `apiGroups ["${group}"], resources ["${resource}"], verbs ["${verb}"]`;
    throw new HubRefusal(403, reason, `the gateway may not ${verb} ${what}; grant it a rule with ${rule}`);
  }
  const words = oneLine(message).replaceAll(quotedValue, '$1');
  throw new HubRefusal(answer.status, reason, words === '' ? `${verb} of ${what}: status ${answer.status}` : words);
}

/** `Invalid value: "…"` as field.Error writes it, up to the colon that ends the value. */
const quotedValue = /((?:Invalid|Unsupported|Duplicate) value): (?:"(?:[^"\\]|\\.)*"|\{.*\}|[^\s:]+)/g;

function statusIn(body: Buffer): { readonly reason?: string; readonly message?: string } {
  try {
    const { reason, message } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    return {
      ...(typeof reason === 'string' && { reason }),
      ...(typeof message === 'string' && { message }),
    };
  } catch {
    return {};
  }
}
