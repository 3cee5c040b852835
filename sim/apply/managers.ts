// Converts `metadata.managedFields` into a map of managers and back. Two entries of the same manager, operation,
// apiVersion and subresource are one entry, whatever their time.
import type { JsonObject } from '../model/types.ts';
import { decodeFields, encodeFields, isEmpty, union, type FieldSet } from './field-set.ts';

/** One entry of managedFields: a field manager, and the fields that it owns. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** The key of an entry of managedFields. Two entries with the same key describe the same manager. */
export function managerKey(entry: Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  return JSON.stringify([entry.manager, entry.operation, entry.apiVersion, entry.subresource]);
}

/** Parses managedFields into a map by key; undefined when the list is invalid. */
export function decodeManagers(list: readonly JsonObject[] | undefined): Map<string, Manager> | undefined {
  const result = new Map<string, Manager>();
  for (const entry of list ?? []) {
    const { manager = '', operation, apiVersion, subresource = '', time, fieldsType, fieldsV1 } = entry;
    if ((operation !== 'Apply' && operation !== 'Update') || typeof apiVersion !== 'string') return undefined;
    if (fieldsType !== undefined && fieldsType !== 'FieldsV1') return undefined;
    const decoded = {
      manager,
      operation,
      apiVersion,
      subresource,
      time,
      fields: decodeFields(fieldsV1 ?? {}),
    } as const;
    result.set(managerKey(decoded), decoded);
  }
  return result;
}

/**
 * Returns managedFields: Apply entries first, then sorted by time and name, as in kube-apiserver. Undefined when no
 * manager owns a field.
 */
export function encodeManagers(managers: Iterable<Manager>): JsonObject[] | undefined {
  const list = [...managers].filter((entry) => !isEmpty(entry.fields)).sort(order);
  if (list.length === 0) return undefined;
  return list.map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: encodeFields(fields),
    manager,
    operation,
    ...(subresource === '' ? {} : { subresource }),
    ...(time === undefined ? {} : { time }),
  }));
}

function order(a: Manager, b: Manager): number {
  if (a.operation !== b.operation) return a.operation < b.operation ? -1 : 1;
  const [left, right] = [a.time ?? '', b.time ?? ''];
  if (left !== right) return left < right ? -1 : 1;
  return managerKey(a) < managerKey(b) ? -1 : 1;
}

/** Most Update entries of an object, as in kube-apiserver; see {@link capManagers}. */
const updateLimit = 10;

/**
 * Merges the oldest Update entries when there are more than ten. Merged entries of one apiVersion become one entry of
 * the manager `ancient-changes`.
 */
export function capManagers(managers: Map<string, Manager>): void {
  const updates = [...managers.values()].filter((entry) => entry.operation === 'Update').sort(order);
  let surplus = updates.length - updateLimit;
  if (surplus <= 0) return;
  for (const entry of updates) {
    if (surplus < 0) return;
    const bucket = {
      manager: 'ancient-changes',
      operation: 'Update',
      apiVersion: entry.apiVersion,
      subresource: '',
    } as const;
    const key = managerKey(bucket);
    const before = managers.get(key);
    managers.delete(managerKey(entry));
    managers.set(key, {
      ...bucket,
      time: entry.time,
      fields: before === undefined ? entry.fields : union(before.fields, entry.fields),
    });
    surplus -= 1;
  }
}
