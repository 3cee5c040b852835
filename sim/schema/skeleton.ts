// Makes the JSON of an empty object of a kind, with the fields that Go's encoder writes even when they were not set.
// The encoder writes every struct, and writes pointers and lists as null unless their tag says omitempty.
import type { JsonObject } from '../model/types.ts';
import type { KubernetesSpec } from './spec.ts';

/** What Go writes for a field of a scalar type that was not set; 0 for types that are not listed. */
const scalars: Readonly<Record<string, unknown>> = { string: '', bool: false, bytes: null };
/** Types can contain themselves. Below this depth of nesting, objects are left empty. */
const depthLimit = 8;

/** The name of the protobuf message for a schema: `io.k8s.api.core.v1.Pod` gives `k8s.io.api.core.v1.Pod`. */
export function messageOf(schemaName: string | undefined): string {
  return (schemaName ?? '').replace(/^io\.k8s\./, 'k8s.io.');
}

/** The JSON of a protobuf message in which no field was set, as Go would write it. */
export function skeleton(messages: KubernetesSpec['messages'], name: string, depth = 0): JsonObject {
  const result: JsonObject = {};
  for (const [, field, type, flags] of depth > depthLimit ? [] : (messages[name] ?? [])) {
    const isStruct = messages[type] !== undefined && !/[rmp]/.test(flags);
    if (flags.includes('i')) Object.assign(result, skeleton(messages, type, depth + 1));
    else if (isStruct && !isTime(type)) result[field] = skeleton(messages, type, depth + 1);
    else if (flags.includes('a'))
      result[field] = /[rmp]/.test(flags) || isTime(type) ? null : type in scalars ? scalars[type] : 0;
  }
  return result;
}

function isTime(type: string): boolean {
  return /\.(Time|MicroTime|Quantity|IntOrString|RawExtension|FieldsV1|Duration)$/.test(type);
}
