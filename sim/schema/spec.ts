// The Kubernetes resources that the simulator serves, with their schemas, read from kubernetes.json.gz (made by
// extract.ts from Kubernetes' specification). Easy to get wrong: a property's schema is often only `allOf: [{$ref}]`,
// so read it with `resolve`, which follows the reference.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { JsonObject } from '../model/types.ts';

/** A subresource, as discovery describes it. */
export interface SubresourceSpec {
  readonly name: string;
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly verbs: readonly string[];
}

/** A resource with its subresources, as discovery describes it. */
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

/** A JSON schema from Kubernetes' OpenAPI v3, with the extensions that patches need. */
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

/** The resources of one group and version. */
export interface GroupVersionSpec {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ResourceSpec[];
}

/** The content of kubernetes.json.gz. */
export interface KubernetesSpec {
  readonly source: string;
  readonly groups: readonly GroupVersionSpec[];
  readonly schemas: Readonly<Record<string, Schema>>;
  /** The ClusterRoles and ClusterRoleBindings that every kube-apiserver creates at start. */
  readonly bootstrap: readonly JsonObject[];
  /** Protobuf messages by their full name, such as `k8s.io.api.core.v1.Pod`. */
  readonly messages: Readonly<Record<string, readonly ProtobufField[]>>;
}

/**
 * One field of a protobuf message. The letters in `flags` mean: `r` repeated; `m` a map with text keys, whose values
 * have the given type; `i` an embedded struct, whose fields are fields of the outer object in JSON; `z` left out of
 * JSON when zero; `p` a pointer in Go; `a` always in JSON, possibly as null.
 */
export type ProtobufField = readonly [number: number, jsonName: string, type: string, flags: string];

/** Reads the specification, which takes about 20 ms. Simulators in one process should share it. */
export function loadKubernetesSpec(): KubernetesSpec {
  return JSON.parse(gunzipSync(readFileSync(join(import.meta.dirname, 'kubernetes.json.gz'))).toString('utf8'));
}

const refPrefix = '#/components/schemas/';

/**
 * Follows `$ref` and a single `allOf` to the schema that they refer to. Extensions such as list type and merge key
 * stand beside the `$ref`, so read them from the schema that you pass in.
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

/** The names of the schemas that `schema` refers to directly. They are added to `found`, which is returned. */
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
