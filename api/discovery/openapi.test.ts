import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiGroups } from '../../request/api-groups.ts';
import { clusterSpec, gatewayView, makeLocalSite } from '../local.fixture.ts';
import { openapiV2, openapiV3 } from './openapi.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind: string }[];
}
type Schemas = Readonly<Record<string, Schema>>;
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;
  readonly definitions?: Schemas;
  readonly components?: { readonly schemas: Schemas };
}

const documents: readonly (readonly [string, Document])[] = [
  ['v2', openapiV2(apiGroups) as Document],
  ...apiGroups.map((group) => [`v3 ${group.name}`, openapiV3(group) as Document] as const),
];
const schemasOf = (document: Document): Schemas => document.definitions ?? document.components!.schemas;

/** Compares a served value with its schema: every field described, of that type. */
function check(value: unknown, schema: Schema | undefined, schemas: Schemas, path: string): void {
  assert.ok(schema !== undefined, `${path} is served and not described`);
  const reference = schema.$ref ?? schema.allOf?.[0]!.$ref;
  if (reference !== undefined) return check(value, schemas[reference.split('/').at(-1)!], schemas, path);
  if (Array.isArray(value)) {
    assert.equal(schema.type, 'array', path);
    for (const each of value) check(each, schema.items, schemas, `${path}[]`);
  } else if (typeof value === 'object' && value !== null) {
    assert.equal(schema.type, 'object', path);
    for (const [name, each] of Object.entries(value)) {
      check(each, schema.properties?.[name] ?? schema.additionalProperties, schemas, `${path}.${name}`);
    }
  } else if (typeof value === 'number') assert.ok(schema.type === 'integer', path);
  else assert.equal(schema.type, typeof value, path);
}

test('every field that is served is described, in both dialects', async () => {
  const annotations = {
    ...gatewayView('m1').metadata.annotations,
    'status.cluster.core.oam.dev/healthy': 'true',
    'status.cluster.core.oam.dev/healthy-reason': 'Because',
  };
  const insecure = { ca: undefined, serverName: 'other.name', insecure: true };
  const { ask, store } = makeLocalSite([
    clusterSpec('m1', { tls: insecure, clusterGateway: gatewayView('m1', { annotations }) }),
  ]);
  const condition = { type: 'Ready', status: 'True', reason: 'A', message: 'b', lastTransitionTime: 'c' } as const;
  store.setStatus('uid-m1', { conditions: [condition], version: 'v1.36.1', latencyMs: 3 });
  for (const { name: group, resources } of apiGroups) {
    for (const { plural, kind } of resources) {
      for (const [object, served] of [
        [kind, `/${plural}/m1`],
        [`${kind}List`, `/${plural}`],
      ] as const) {
        const value = (await ask(`GET /apis/${group}/v1alpha1${served}`)).json();
        for (const [name, document] of documents) {
          const schemas = schemasOf(document);
          const schema = Object.values(schemas).find((each) =>
            each['x-kubernetes-group-version-kind']?.some((gvk) => gvk.kind === object),
          );
          if (name.startsWith('v3') && !name.endsWith(group)) continue;
          check(value, schema, schemas, `${name} ${object}`);
        }
      }
    }
  }
});

test('every reference leads somewhere, every operation id is unique, every property has a description', () => {
  for (const [name, document] of documents) {
    const schemas = schemasOf(document);
    for (const [, reference] of JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)) {
      assert.ok(reference !== undefined);
      const prefix = name === 'v2' ? '#/definitions/' : '#/components/schemas/';
      assert.ok(reference.startsWith(prefix) && Object.hasOwn(schemas, reference.slice(prefix.length)), reference);
    }
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).flatMap(({ operationId }) => operationId ?? []),
    );
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.length > 10);
    const described = (schema: Schema, path: string): void => {
      for (const [field, each] of Object.entries(schema.properties ?? {})) {
        assert.ok((each.description ?? '') !== '', `${path}.${field}`);
        described(each, `${path}.${field}`);
        if (each.items !== undefined) described(each.items, `${path}.${field}[]`);
      }
    };
    for (const [schema, each] of Object.entries(schemas)) described(each, schema);
  }
});

test('every path parameter of every path is declared', () => {
  for (const [, { paths }] of documents) {
    for (const [path, item] of Object.entries(paths)) {
      const declared = (item['parameters'] ?? []) as unknown as readonly { readonly name: string }[];
      const used = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(
        declared.map(({ name }) => name),
        used,
        path,
      );
    }
  }
});
