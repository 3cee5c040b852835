import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { parseOpenapi, partOf } from './openapi-part.ts';

const group = 'x.io';
const at = `/apis/${group}/v1`;
const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const text = (description: string): JsonObject => ({ type: 'string', description });
const kindOf = (kind: string): JsonObject => ({ group, version: 'v1', kind });

function schema(kind: string, properties: JsonObject): JsonObject {
  return { type: 'object', properties, 'x-kubernetes-group-version-kind': [kindOf(kind)] };
}

function pathOf(kind: string): JsonObject {
  const content = { 'application/json': { schema: ref(kind) } };
  const operation = { responses: { 200: { content } }, 'x-kubernetes-group-version-kind': kindOf(kind) };
  return { parameters: [{ name: 'pretty' }], get: operation, put: { ...operation, description: 'write' } };
}

function documentOf(kinds: Readonly<Record<string, string>>, schemas: JsonObject, more: JsonObject = {}): JsonObject {
  const paths = Object.entries(kinds).map(([resource, kind]) => [`${at}/${resource}/{name}`, pathOf(kind)]);
  return { openapi: '3.0.0', paths: { ...Object.fromEntries(paths), ...more }, components: { schemas } };
}

interface Shown {
  readonly paths: object;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> };
}

function shown(document: JsonObject, ...resources: readonly string[]): Shown {
  return partOf(document, group, 'v1', resources).document as unknown as Shown;
}

const meta = { Meta: { properties: { name: text('name') } } };

test('schemas come with all that they refer to, also in a circle, and without others', () => {
  const circle = { A: { properties: { b: ref('B') } }, B: { items: ref('A') } };
  const lion = { Lion: schema('Lion', { a: ref('A') }) };
  const { components } = shown(documentOf({ lions: 'Lion' }, { ...meta, ...circle, ...lion }), 'lions');
  assert.deepEqual(components.schemas, { ...circle, ...lion });
});

test('nothing is said of other types, subresources, writes and groups', () => {
  const hidden = schema('Canary', { why: text('canary') });
  const event = {
    type: 'object',
    'x-kubernetes-group-version-kind': [
      { group: 'canary.io', version: 'v1', kind: 'WatchEvent' },
      kindOf('WatchEvent'),
    ],
  };
  const watched = { get: { responses: { 200: { schema: ref('Event') } } } };
  const document = documentOf(
    { lions: 'Lion', canaries: 'Canary', ['lions/{name}/status']: 'Canary' },
    { ...meta, Event: event, Canary: hidden, Lion: schema('Lion', { metadata: ref('Meta') }) },
    { [`${at}/watch/namespaces/{namespace}/lions`]: watched, [`${at}/`]: { get: { summary: 'canary' } } },
  );
  const part = shown(document, 'lions');
  assert.deepEqual(Object.keys(part.paths), [`${at}/lions/{name}`, `${at}/watch/namespaces/{namespace}/lions`]);
  assert.doesNotMatch(JSON.stringify(part), /canar|write/);
  assert.deepEqual(part.components.schemas['Event']!['x-kubernetes-group-version-kind'], [kindOf('WatchEvent')]);
});

test('fields and schemas may have any name', () => {
  const document = parseOpenapi(
    Buffer.from(
      JSON.stringify(
        documentOf({ lions: 'Lion' }, { P: text('a'), Lion: schema('Lion', { $ref: text('a field'), x: ref('P') }) }),
      )
        .replaceAll('"P"', '"__proto__"')
        .replaceAll('/P"', '/__proto__"'),
    ),
  );
  const again = JSON.parse(JSON.stringify(shown(document, 'lions'))) as Shown;
  assert.deepEqual(Object.keys(again.components.schemas).toSorted(), ['Lion', '__proto__']);
  assert.deepEqual(again.components.schemas['Lion']!['properties'], { $ref: text('a field'), x: ref('__proto__') });
});

test('it is told which resources can be read; what is no document is refused', () => {
  const lions = documentOf({ lions: 'Lion' }, { Lion: schema('Lion', {}) });
  assert.deepEqual([...partOf(lions, group, 'v1', ['lions', 'tigers']).resources], ['lions']);
  for (const bad of ['[]', '"x"', 'null', '{', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`])
    assert.throws(() => parseOpenapi(Buffer.from(bad)), bad.slice(0, 10));
});
