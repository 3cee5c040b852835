// What the simulator knows of Kubernetes: the resources it serves and their schemas, read from kubernetes.json.gz
// (made by extract.ts from the real specification). Easy to get wrong: a property's schema may sit behind `allOf:
// [{$ref}]`; always go through `resolve`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { JsonObject } from '../types.ts';

/** A subresource as discovery lists it. */
export interface SubresourceSpec {
  readonly name: string;
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly verbs: readonly string[];
}

/** A resource as discovery lists it, subresources folded in. */
export interface ResourceSpec {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly SubresourceSpec[];
}

/** A JSON schema as OpenAPI v3 of Kubernetes writes it, with the extensions patches are driven by. */
export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly kind: string;
    readonly version: string;
  }[];
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
}

/** One group-version and its resources. */
export interface GroupVersionSpec {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ResourceSpec[];
}

/** Everything in kubernetes.json.gz. */
export interface KubernetesSpec {
  readonly source: string;
  readonly groups: readonly GroupVersionSpec[];
  readonly schemas: Readonly<Record<string, Schema>>;
  /** The ClusterRoles and ClusterRoleBindings every kube-apiserver makes at start. */
  readonly bootstrap: readonly JsonObject[];
  /** Protobuf messages by full name (`k8s.io.api.core.v1.Pod`). */
  readonly messages: Readonly<Record<string, readonly ProtobufField[]>>;
}

/**
 * One field of a protobuf message. Flags: `r` repeated, `m` map from string (the type is that of the values), `i`
 * inline in JSON, `z` left out of JSON when zero, `p` a pointer in Go, `a` always in JSON, `null` at least.
 */
export type ProtobufField = readonly [number: number, jsonName: string, type: string, flags: string];

/** Reads the specification (about 20 ms); share the result between simulators of one process. */
export function loadKubernetesSpec(): KubernetesSpec {
  return JSON.parse(gunzipSync(readFileSync(join(import.meta.dirname, 'kubernetes.json.gz'))).toString('utf8'));
}

const refPrefix = '#/components/schemas/';

/**
 * Follows `$ref` and single `allOf`; the outer schema's own extensions (list type, merge key) are kept.
 */
export function resolve(schemas: Readonly<Record<string, Schema>>, schema: Schema | undefined): Schema | undefined {
  let current = schema;
  for (let depth = 0; current !== undefined && depth < 8; depth++) {
    const ref = current.$ref ?? current.allOf?.[0]?.$ref;
    if (ref === undefined) return current;
    current = schemas[ref.slice(refPrefix.length)];
  }
  return current;
}

/** The names of the schemas that `schema` refers to, directly. */
export function refsOf(schema: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(schema)) for (const item of schema) refsOf(item, found);
  else if (schema !== null && typeof schema === 'object') {
    for (const [key, item] of Object.entries(schema)) {
      if (key === '$ref' && typeof item === 'string') found.add(item.slice(refPrefix.length));
      else refsOf(item, found);
    }
  }
  return found;
}
