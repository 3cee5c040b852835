// Compares two states of an object as a unified diff of YAML. Fields that servers or controllers write by themselves
// are left out.
import { createTwoFilesPatch } from 'diff';
import { isJsonObject, type JsonObject } from '../../../lib/objects/json-object.ts';
import { writeYaml } from '../../../lib/yaml/go-yaml.ts';
import { isSecret, maskSecrets } from './secret-values.ts';

/** Fields of metadata that a server writes by itself, which are left out of diffs. */
const written = new Set(['managedFields', 'resourceVersion', 'generation', 'uid', 'creationTimestamp', 'selfLink']);
/** Annotation in which `kubectl apply` keeps a copy of the whole object, which would repeat every change in a diff. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** An object without the fields that a server or a controller writes by itself, such as `status`. */
function meant(whole: JsonObject): JsonObject {
  const { status: _status, ...object } = whole;
  if (!isJsonObject(object['metadata'])) return object;
  const metadata = Object.fromEntries(Object.entries(object['metadata']).filter(([key]) => !written.has(key)));
  if (isJsonObject(metadata['annotations'])) {
    const { [lastApplied]: _copy, ...annotations } = metadata['annotations'];
    if (Object.keys(annotations).length > 0) metadata['annotations'] = annotations;
    else delete metadata['annotations'];
  }
  return { ...object, metadata };
}

/**
 * Returns a text that is the same for two states of an object if they differ only in fields that servers or controllers
 * write.
 */
export function comparable(object: JsonObject): string {
  return JSON.stringify(meant(object));
}

/**
 * The unified diff from one state of an object to another; '' when both are the same. Values of Secrets are masked.
 * @param name name of the object in the head lines of the diff, such as `deployment.apps/web`
 * @param before undefined when the object is created
 * @param after undefined when the object is deleted
 */
export function objectDiff(name: string, before: JsonObject | undefined, after: JsonObject | undefined): string {
  const [old, next] = isSecret(before ?? after ?? {}) ? maskSecrets(before, after) : [before, after];
  const [oldText, nextText] = [old, next].map((object) => (object === undefined ? '' : writeYaml(meant(object))));
  if (oldText === nextText) return '';
  return createTwoFilesPatch(`live/${name}`, `applied/${name}`, oldText!, nextText!).split('\n').slice(1).join('\n');
}
