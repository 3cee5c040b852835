// Answers PATCH: JSON patch, merge patch, strategic merge patch and server-side apply. The body is read first.
// Everything after that runs without `await` until the object is stored, so that no other write can change the object
// in between.
import { asKind, contentTypeOf, parseObject, readBody } from '../call/body.ts';
import type { Call } from '../call/cluster.ts';
import { toVersion } from '../wire/conversion.ts';
import { checkBody } from '../apply/field-check.ts';
import { sendShaped } from './list.ts';
import { applyOnto } from '../apply/managed-fields.ts';
import { applyJsonPatch } from '../apply/patch-json.ts';
import { applyMergePatch } from '../apply/patch-merge.ts';
import { applyStrategicPatch } from '../apply/patch-strategic.ts';
import { apiVersionOf, type Resource } from '../store/resources.ts';
import { StatusError, badRequest, notFound, unsupportedMediaType } from '../model/status-error.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { insertNew, replaceExisting } from './write.ts';

const jsonType = 'application/json-patch+json';
const mergeType = 'application/merge-patch+json';
const strategicType = 'application/strategic-merge-patch+json';
const applyType = 'application/apply-patch+yaml';

/** Answers PATCH of an object or its status. */
export async function patchOne(call: Call, resource: Resource): Promise<void> {
  const { namespace, name } = call.info;
  const text = await readPatch(call, resource.definition === undefined);
  const current = call.cluster.store.get(resource.key, namespace, name);
  if (contentTypeOf(call) === applyType) return serverSideApply(call, resource, current, text);
  if (current === undefined) throw notFound(resource, name);
  const patched = asKind(applyPatch(call, toVersion(resource, current), text, resource), resource);
  await sendShaped(call, resource, 200, replaceExisting(call, resource, current, patched, { operation: 'Update' }));
}

/**
 * Reads the text of a patch. `hasStrategic`: whether strategic merge patch is accepted. @throws StatusError 415 when
 * the content type is not the type of a patch
 */
export async function readPatch(call: Call, hasStrategic: boolean): Promise<string> {
  const accepted = [jsonType, mergeType, applyType, ...(hasStrategic ? [strategicType] : [])];
  const type = contentTypeOf(call);
  if (type === strategicType && !hasStrategic) throw unsupportedMediaType(accepted);
  if (!accepted.includes(type)) throw new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  return (await readBody(call)).toString('utf8');
}

/** Returns the object after a patch. Does not handle server-side apply. */
export function applyPatch(call: Call, current: KubeObject, text: string, resource: Resource | undefined): JsonObject {
  switch (contentTypeOf(call)) {
    case jsonType:
      return applyJsonPatch(current, parseOperations(text)) as JsonObject;
    case mergeType:
      return applyMergePatch(current, parseObject(text, false)) as JsonObject;
    case strategicType: {
      const { schemas } = call.cluster.registry;
      const schema = resource?.schemaName === undefined ? undefined : schemas[resource.schemaName];
      return applyStrategicPatch(schemas, schema, current, parseObject(text, false));
    }
    default:
      throw unsupportedMediaType([jsonType, mergeType, strategicType]);
  }
}

function parseOperations(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('error decoding patch: invalid JSON');
  }
}

/** The apiVersion and kind of an object as Go prints them: `group/version, Kind=kind`. */
function gvkText({ apiVersion, kind }: JsonObject): string {
  const text = String(apiVersion ?? '');
  return `${text.includes('/') ? text : `/${text}`}, Kind=${String(kind ?? '')}`;
}

/** Answers a server-side apply; creates the object when it does not exist. */
async function serverSideApply(
  call: Call,
  resource: Resource,
  stored: KubeObject | undefined,
  text: string,
): Promise<void> {
  const { name, subresource } = call.info;
  const config = parseObject(text, true);
  const expected = apiVersionOf(resource);
  if (config['apiVersion'] !== expected || config['kind'] !== resource.kind)
    throw badRequest(`invalid object type: ${gvkText(config)}`);
  const given: unknown = config['metadata']?.name;
  if (given !== undefined && given !== name)
    throw badRequest(`the name of the object (${String(given)}) does not match the name on the URL (${name})`);
  if (stored === undefined && subresource !== '') throw notFound(resource, name);
  const object = checkBody(call, resource, asKind(config, resource));
  const live = stored === undefined ? undefined : toVersion(resource, stored);
  const applied = applyOnto(call, resource, live, object);
  const { managedFields } = applied.metadata;
  const options = { operation: 'Apply', ...(managedFields && { managedFields }) } as const;
  if (stored !== undefined) {
    await sendShaped(call, resource, 200, replaceExisting(call, resource, stored, applied, options));
    return;
  }
  applied.metadata.name = name;
  await sendShaped(call, resource, 201, insertNew(call, resource, applied, options));
}
