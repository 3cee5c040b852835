// Applies one manifest by server-side apply. Once the object exists, the fields that `ignoreFields` names are left out,
// or sent as the object has them while the gateway owns them.
import { fieldOf, isJsonObject, listAt, objectAt, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { MemberRefusal } from '../member/member-objects.ts';
import { ApplyConflict } from './apply-fault.ts';
import { hashOf } from '../work/content-hash.ts';
import type { ApplyTask } from './desired.ts';
import { withoutIgnored } from './ignore-fields.ts';
import { appliedFields, withOwnedFields } from './owned-fields.ts';
import { setOwner } from './owners.ts';

/**
 * Annotation of an object with a hash of the manifest that was applied, without its ignored fields. While the manifest
 * has this hash it is not applied again, so changes that others make to the object stay.
 */
const hashAnnotation = 'open-cluster-management.io/config-spec-hash';

/**
 * Field managers of client-side apply. Before the first server-side apply of an object, the gateway takes over their
 * fields.
 */
const earlierManagers = new Set(['kubectl-client-side-apply', 'before-first-apply']);

export async function applyServerSide(task: ApplyTask, live: JsonObject | undefined): Promise<JsonObject> {
  const { objects, object, strategy, ownership } = task;
  const owning = { ...ownership, fieldManager: strategy.fieldManager };
  const manifest = withoutEmptyTimes(task.manifest) as JsonObject;
  let body = manifest;
  if (strategy.ignoreFields.length > 0) {
    const fewer = withoutIgnored(manifest, strategy.ignoreFields);
    const hash = hashOf(fewer);
    if (live !== undefined && textAt(live, 'metadata', 'annotations', hashAnnotation) === hash)
      return await setOwner(objects, object, live, owning);
    const taken = live === undefined ? undefined : await takeFields(task, live);
    body = withAnnotation(taken === undefined ? manifest : leavingAlone(task, manifest, fewer, taken), hash);
  } else if (live !== undefined) await takeFields(task, live);
  try {
    const { fieldManager, force } = strategy;
    const applied = await objects.patch(object, { type: 'apply', fieldManager, force, body });
    return await setOwner(objects, object, applied, owning);
  } catch (error) {
    if (isFieldConflict(error)) throw new ApplyConflict(error.message);
    throw error;
  }
}

/**
 * The manifest without its ignored fields, but with those that the gateway still owns as they are in the object. The
 * resourceVersion has the member refuse the apply if somebody has changed them since the read.
 */
function leavingAlone({ strategy }: ApplyTask, manifest: JsonObject, fewer: JsonObject, live: JsonObject): JsonObject {
  const owned = appliedFields(live, strategy.fieldManager);
  const made = withOwnedFields(manifest, fewer, live, owned) as JsonObject;
  if (made === fewer) return fewer;
  const resourceVersion = fieldOf(live, 'metadata', 'resourceVersion');
  return { ...made, metadata: { ...objectAt(made, 'metadata'), resourceVersion } };
}

function isFieldConflict(error: unknown): error is MemberRefusal {
  return error instanceof MemberRefusal && error.status === 409 && error.message.startsWith('Apply failed with');
}

/**
 * Hands the fields that client-side apply, or an earlier update by the gateway, has set to the field manager of the
 * server-side apply. Otherwise a field that is later removed from the manifest would stay in the object. Owner
 * references and finalizers stay with who has set them: those of another work are in such an update, too, and the apply
 * would remove what its manifest does not have.
 * @returns the object as it is afterwards
 */
async function takeFields({ objects, object, strategy }: ApplyTask, live: JsonObject): Promise<JsonObject> {
  const entries = listAt(live, 'metadata', 'managedFields').filter(isJsonObject);
  const { fieldManager } = strategy;
  if (entries.some(({ manager, operation }) => manager === fieldManager && operation === 'Apply')) return live;
  const isEarlier = ({ manager, operation, subresource }: JsonObject): boolean =>
    operation === 'Update' &&
    (subresource ?? '') === '' &&
    (manager === fieldManager || earlierManagers.has(String(manager)));
  const earlier = entries.filter(isEarlier);
  const [first] = earlier;
  if (first === undefined) return live;
  const fieldsV1 = earlier.reduce<JsonObject>((all, entry) => joined(all, divided(entry).own), {});
  const left = earlier.flatMap((entry) => {
    const { shared } = divided(entry);
    return shared === undefined ? [] : [{ ...entry, fieldsV1: { 'f:metadata': shared } }];
  });
  const taken = { ...first, manager: fieldManager, operation: 'Apply', fieldsV1 };
  const managedFields = [...entries.filter((entry) => !isEarlier(entry)), ...left, taken];
  const body = [
    { op: 'replace', path: '/metadata/managedFields', value: managedFields },
    // The patch fails if the object has changed since it was read.
    { op: 'replace', path: '/metadata/resourceVersion', value: fieldOf(live, 'metadata', 'resourceVersion') },
  ];
  return await objects.patch(object, { type: 'json', fieldManager, body });
}

/** Divides the fields of an entry into those that several clients share, below `f:metadata`, and the others. */
function divided(entry: JsonObject): { readonly own: JsonObject; readonly shared: JsonObject | undefined } {
  const { 'f:metadata': metadata, ...rest } = objectAt(entry, 'fieldsV1');
  if (!isJsonObject(metadata)) return { own: objectAt(entry, 'fieldsV1'), shared: undefined };
  const of = (isShared: boolean): JsonObject =>
    Object.fromEntries(Object.entries(metadata).filter(([key]) => sharedFields.has(key) === isShared));
  const [own, shared] = [of(false), of(true)];
  return {
    own: Object.keys(own).length === 0 ? rest : { ...rest, 'f:metadata': own },
    shared: Object.keys(shared).length === 0 ? undefined : shared,
  };
}

const sharedFields: ReadonlySet<string> = new Set(['f:ownerReferences', 'f:finalizers']);

/** Returns the union of two `fieldsV1`, the sets of fields in `metadata.managedFields`. */
function joined(one: JsonObject, other: JsonObject): JsonObject {
  const all: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other))
    all[key] = isJsonObject(all[key]) && isJsonObject(value) ? joined(all[key], value) : value;
  return all;
}

function withAnnotation(manifest: JsonObject, hash: string): JsonObject {
  const metadata = objectAt(manifest, 'metadata');
  const annotations = { ...objectAt(metadata, 'annotations'), [hashAnnotation]: hash };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

/** Removes `creationTimestamp: null`: with it, every apply would raise the object's generation. */
function withoutEmptyTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmptyTimes);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([key, inner]) => key !== 'creationTimestamp' || inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutEmptyTimes(inner)]));
}
