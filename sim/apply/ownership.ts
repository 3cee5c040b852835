// Computes which field manager owns which field after a write. The manager of an update owns the fields that the update
// changed; the manager of a server-side apply owns the fields that its configuration contains (structured-merge-diff
// merge/update.go). An apply conflicts with another manager only if it would change the value of a field that the other
// manager owns.
import type { Schema } from '../schema/spec.ts';
import { StatusError } from '../model/status-error.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import {
  decodeFields,
  difference,
  emptySet,
  intersection,
  isEmpty,
  isEqual,
  pathTexts,
  union,
  type FieldSet,
} from './field-set.ts';
import { capManagers, managerKey, type Manager } from './managers.ts';
import { compare, fieldsOf, merge, remove, withParents, type Comparison, type Schemas } from './typed.ts';

/** Fields that no manager can own. */
const stripped: FieldSet = decodeFields({
  'f:apiVersion': {},
  'f:kind': {},
  'f:metadata': {
    '.': {},
    'f:name': {},
    'f:namespace': {},
    'f:creationTimestamp': {},
    'f:selfLink': {},
    'f:uid': {},
    'f:generation': {},
    'f:managedFields': {},
    'f:resourceVersion': {},
  },
});

/** The facts about a write request that decide which manager owns which field. */
export interface Write {
  readonly schemas: Schemas;
  readonly schema: Schema | undefined;
  /** The fields that Go writes for an empty object of this kind. A create does not make its manager own them. */
  readonly empty: JsonObject;
  readonly manager: string;
  readonly apiVersion: string;
  readonly subresource: string;
  /** The time to write into the manager's entry, as RFC 3339 text. */
  readonly time: string;
  /**
   * The fields that this write cannot change: the status for the main resource, all other fields for the status
   * subresource.
   */
  readonly resets: 'status' | 'all-but-status' | 'nothing';
}

/** Removes the fields that the write cannot change. */
function filtered(set: FieldSet, resets: Write['resets']): FieldSet {
  if (resets === 'nothing') return set;
  const isStatus = (step: string): boolean => step === 'f:status';
  const children = [...set.children].filter(([step]) => isStatus(step) === (resets === 'all-but-status'));
  return { self: set.self, children: new Map(children) };
}

function filteredComparison(all: Comparison, resets: Write['resets']): Comparison {
  return {
    added: filtered(all.added, resets),
    modified: filtered(all.modified, resets),
    removed: filtered(all.removed, resets),
  };
}

function entryOf(write: Write, operation: 'Apply' | 'Update', fields: FieldSet): Manager {
  const { manager, apiVersion, subresource, time } = write;
  return { manager, operation, apiVersion, subresource, time, fields };
}

/**
 * Records an update from `before` (undefined when the object is created) to `after`. Changes `managers` and returns it.
 */
export function recordUpdate(
  write: Write,
  managers: Map<string, Manager>,
  before: KubeObject | undefined,
  after: KubeObject,
): Map<string, Manager> {
  const start = before ?? { apiVersion: after.apiVersion, kind: after.kind, metadata: {}, ...write.empty };
  const changes = filteredComparison(compare(write.schemas, write.schema, start, after), write.resets);
  const taken = union(changes.added, changes.modified);
  for (const [key, entry] of managers) {
    const fields = difference(difference(entry.fields, taken), changes.removed);
    if (isEmpty(fields)) managers.delete(key);
    else managers.set(key, { ...entry, fields });
  }
  const own = difference(taken, stripped);
  if (isEmpty(own)) return managers;
  const entry = entryOf(write, 'Update', own);
  const previous = managers.get(managerKey(entry));
  managers.set(managerKey(entry), previous === undefined ? entry : { ...entry, fields: union(previous.fields, own) });
  capManagers(managers);
  return managers;
}

/** The object after a server-side apply, and the managers with the fields they own. */
export interface Applied {
  readonly object: KubeObject;
  readonly managers: Map<string, Manager>;
}

/** Applies a configuration to the present object. @throws StatusError 409 with the conflicts, unless `force` is true */
export function applyConfig(
  write: Write,
  managers: Map<string, Manager>,
  live: KubeObject,
  config: JsonObject,
  force: boolean,
): Applied {
  const { schemas, schema } = write;
  const owned = filtered(fieldsOf(schemas, schema, config), write.resets);
  const entry = entryOf(write, 'Apply', difference(owned, stripped));
  const key = managerKey(entry);
  const last = managers.get(key);
  managers.set(key, { ...entry, time: last?.time ?? entry.time });
  const merged = merge(schemas, schema, live, config) as KubeObject;
  const object = prune(write, merged, last?.fields, managers);

  const changes = filteredComparison(compare(schemas, schema, live, object), write.resets);
  const taken = union(changes.added, changes.modified);
  const others = [...managers].filter(([other]) => other !== key);
  const conflicts = others
    .map(([, other]) => ({ other, fields: intersection(other.fields, taken) }))
    .filter(({ fields }) => !isEmpty(fields));
  if (conflicts.length > 0 && !force) throw conflictError(conflicts);
  for (const [other, value] of others) {
    const fields = difference(difference(value.fields, taken), changes.removed);
    if (isEmpty(fields)) managers.delete(other);
    else managers.set(other, { ...value, fields });
  }
  const isSame = isEmpty(taken) && isEmpty(changes.removed);
  const isUnchanged = isSame && last !== undefined && isEqual(last.fields, entry.fields);
  if (!isUnchanged) managers.set(key, entry);
  return { object, managers };
}

/**
 * Removes the fields that the manager's previous apply contained and this one does not, unless another manager owns
 * them.
 */
function prune(
  write: Write,
  merged: KubeObject,
  last: FieldSet | undefined,
  managers: Map<string, Manager>,
): KubeObject {
  if (last === undefined || isEmpty(last)) return merged;
  const { schemas, schema } = write;
  const named = (set: FieldSet): FieldSet => withParents(schemas, schema, set);
  const all = [...managers.values()].reduce((sum, entry) => union(sum, entry.fields), emptySet());
  const mergedSet = named(fieldsOf(schemas, schema, merged));
  const firstPruned = remove(schemas, schema, merged, named(last)) as KubeObject;
  const keep = union(named(fieldsOf(schemas, schema, firstPruned)), named(all));
  const withOwned = remove(schemas, schema, merged, difference(mergedSet, keep)) as KubeObject;
  const prunedSet = named(fieldsOf(schemas, schema, withOwned));
  const gone = intersection(difference(mergedSet, prunedSet), named(last));
  const object = remove(schemas, schema, merged, gone) as KubeObject;
  const { apiVersion, kind, metadata } = merged;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const identity = { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp };
  return { ...object, apiVersion, kind, metadata: { ...object.metadata, ...identity } };
}

function conflictError(conflicts: readonly { readonly other: Manager; readonly fields: FieldSet }[]): StatusError {
  const named = conflicts
    .map(({ other, fields }) => ({ who: describe(other), paths: pathTexts(fields) }))
    .sort((a, b) => (a.who < b.who ? -1 : 1));
  const causes = named.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  const only = causes.length === 1 ? causes[0] : undefined;
  const message =
    only === undefined
      ? `Apply failed with ${causes.length} conflicts: ${named.map(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map((path) => `- ${path}`)].join('\n')).join('\n')}`
      : `Apply failed with 1 conflict: ${only.message}: ${only.field}`;
  return new StatusError(409, 'Conflict', message, { causes });
}

function describe(entry: Manager): string {
  const name =
    JSON.stringify(entry.manager) + (entry.subresource === '' ? '' : ` with subresource "${entry.subresource}"`);
  return entry.operation === 'Update' ? `${name} using ${entry.apiVersion}` : name;
}
