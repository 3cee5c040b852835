// Maintains `metadata.managedFields` for updates, and implements server-side apply. A client can remove managedFields
// by sending an empty list. An update of an object without managedFields does not add any.
import { decodeManagers, encodeManagers, type Manager } from './managers.ts';
import { applyConfig, recordUpdate, type Write } from './ownership.ts';
import type { Call } from '../call/cluster.ts';
import { headerValue } from '../wire/headers.ts';
import { apiVersionOf, type Resource } from '../store/resources.ts';
import { messageOf, skeleton } from '../schema/skeleton.ts';
import { badRequest, invalidOption, requiredField } from '../model/status-error.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';

function writeOf(call: Call, resource: Resource): Write {
  const { schemas } = call.cluster.registry;
  const subresource = call.info.subresource;
  return {
    schemas,
    schema: resource.schemaName === undefined ? undefined : schemas[resource.schemaName],
    empty: emptyOf(call, resource),
    manager: managerName(call),
    apiVersion: apiVersionOf(resource),
    subresource,
    time: timestamp(call.cluster.now()),
    resets: subresource === 'status' ? 'all-but-status' : resource.hasStatus ? 'status' : 'nothing',
  };
}

function emptyOf(call: Call, resource: Resource): JsonObject {
  if (resource.definition !== undefined) return {};
  const { metadata: _metadata, ...rest } = skeleton(call.cluster.messages, messageOf(resource.schemaName));
  return rest;
}

/** The field manager of a request: the parameter fieldManager, or else the part of User-Agent before the slash. */
function managerName(call: Call): string {
  const given = call.query.get('fieldManager') ?? '';
  const agent = (headerValue(call.rawHeaders, 'user-agent') ?? '').split('/', 1)[0]?.slice(0, 128) ?? '';
  return given || agent || 'unknown';
}

function isReset(sent: readonly JsonObject[]): boolean {
  return sent.length === 0 || (sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0);
}

/**
 * Returns managedFields after an update by this request; undefined when the object is to have no managedFields.
 * @param current the object before the update; undefined when it is created; in the same API version as `next`
 * @param sent managedFields in the request's body
 */
export function trackUpdate(
  call: Call,
  resource: Resource,
  current: KubeObject | undefined,
  next: KubeObject,
  sent: readonly JsonObject[] | undefined,
): JsonObject[] | undefined {
  if (sent !== undefined && isReset(sent)) return undefined;
  const given = call.info.subresource === '' ? decodeManagers(sent) : undefined;
  const managers =
    given === undefined || given.size === 0
      ? (decodeManagers(current?.metadata.managedFields) ?? new Map<string, Manager>())
      : given;
  if (current !== undefined && managers.size === 0) return undefined;
  return encodeManagers(recordUpdate(writeOf(call, resource), managers, current, next).values());
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Returns the object after a server-side apply, with its managedFields.
 * @param live the present object; undefined when the apply creates it
 * @throws StatusError 400 when the configuration cannot be applied, 409 for conflicts
 */
export function applyOnto(
  call: Call,
  resource: Resource,
  live: KubeObject | undefined,
  config: JsonObject,
): KubeObject {
  if ((call.query.get('fieldManager') ?? '') === '')
    throw invalidOption('PatchOptions', requiredField('fieldManager', 'is required for apply patch'));
  if (config['metadata']?.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  const write = writeOf(call, resource);
  const force = call.query.get('force') === 'true';
  let managers = decodeManagers(live?.metadata.managedFields) ?? new Map<string, Manager>();
  if (live !== undefined && managers.size === 0)
    managers = recordUpdate({ ...write, manager: 'before-first-apply', subresource: '' }, managers, undefined, live);
  const start = live ?? ({ apiVersion: config['apiVersion'], kind: config['kind'], metadata: {} } as KubeObject);
  const { managedFields: _old, ...metadata } = start.metadata;
  const applied = applyConfig(
    write,
    managers,
    { ...start, metadata: metadata as KubeObject['metadata'] },
    config,
    force,
  );
  const list = encodeManagers(applied.managers.values());
  const result: KubeObject = {
    ...applied.object,
    metadata: { ...applied.object.metadata, ...(list && { managedFields: list }) },
  };
  if (write.manager === 'kubectl' && result.metadata.annotations?.[lastApplied])
    result.metadata.annotations = { ...result.metadata.annotations, [lastApplied]: `${JSON.stringify(config)}\n` };
  return result;
}
