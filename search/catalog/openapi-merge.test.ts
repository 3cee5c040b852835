import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeOpenapi, parseOpenapi, surveyOpenapi } from './openapi-merge.ts';
import type { Json } from './openapi-merge.ts';

const group = 'x.io';
const at = `/apis/${group}/v1`;
const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const text = (description: string): Json => ({ type: 'string', description });
const kindOf = (kind: string): Json => ({ group, version: 'v1', kind });

function schema(kind: string, properties: Json): Json {
  return { type: 'object', properties, 'x-kubernetes-group-version-kind': [kindOf(kind)] };
}

function pathOf(kind: string): Json {
  const content = { 'application/json': { schema: ref(kind) } };
  const operation = { responses: { 200: { content } }, 'x-kubernetes-group-version-kind': kindOf(kind) };
  return { parameters: [{ name: 'pretty' }], get: operation, put: { ...operation, description: 'write' } };
}

function documentOf(kinds: Readonly<Record<string, string>>, schemas: Json, more: Json = {}): Json {
  const paths = Object.entries(kinds).map(([resource, kind]) => [`${at}/${resource}/{name}`, pathOf(kind)]);
  return { openapi: '3.0.0', paths: { ...Object.fromEntries(paths), ...more }, components: { schemas } };
}

interface Merged {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

function merge(...parts: readonly (readonly [Json, ...string[]])[]): Merged {
  const chosen = parts.map(([document, ...resources]) => ({ document, resources }));
  return mergeOpenapi(chosen, group, 'v1') as unknown as Merged;
}

/** What a resource's path leads to, with every reference put in place of its name. */
function meaning({ paths, components }: Merged, resource: string): unknown {
  const seen = new Set<string>();
  const whole = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(whole);
    if (typeof value !== 'object' || value === null) return value;
    const named = (value as { $ref?: unknown }).$ref;
    if (typeof named !== 'string')
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, whole(each)]));
    const name = named.slice('#/components/schemas/'.length);
    assert.ok(Object.hasOwn(components.schemas, name), name);
    if (seen.has(name)) return 'again';
    seen.add(name);
    const found = whole(components.schemas[name]);
    seen.delete(name);
    return found;
  };
  return whole(paths[`${at}/${resource}/{name}`]);
}

const meta = { Meta: { properties: { name: text('name') } } };
const lions = documentOf({ lions: 'Lion' }, { ...meta, Lion: schema('Lion', { metadata: ref('Meta') }) });
const newMeta = { Meta: { properties: { name: text('name'), generation: { type: 'integer' } } } };
const tigers = documentOf(
  { tigers: 'Tiger' },
  { ...newMeta, Stripes: { items: ref('Meta') }, Tiger: schema('Tiger', { metadata: ref('Meta'), s: ref('Stripes') }) },
);

test('types of two clusters are in one document; what both have alike stands there once', () => {
  const bears = documentOf({ bears: 'Bear' }, { ...meta, Bear: schema('Bear', { metadata: ref('Meta') }) });
  const merged = merge([lions, 'lions'], [bears, 'bears']);
  assert.deepEqual(Object.keys(merged.paths), [`${at}/bears/{name}`, `${at}/lions/{name}`]);
  assert.deepEqual(Object.keys(merged.components.schemas), ['Bear', 'Lion', 'Meta']);
});

test('a schema that differs is renamed with all that refers to it, and each type means what it meant in its cluster', () => {
  const stripes = { Stripes: { items: ref('Meta') } };
  // Word for word the Stripes of the other cluster, but of another Meta.
  const zebras = documentOf(
    { zebras: 'Zebra' },
    { ...meta, ...stripes, Zebra: schema('Zebra', { metadata: ref('Meta'), s: ref('Stripes') }) },
  );
  const merged = merge([zebras, 'zebras'], [tigers, 'tigers'], [lions, 'lions']);
  assert.deepEqual(Object.keys(merged.components.schemas), [
    ...['Lion', 'Meta', 'Meta_v2', 'Stripes', 'Stripes_v2', 'Tiger', 'Zebra'],
  ]);
  for (const [resource, document] of [
    ['zebras', zebras],
    ['tigers', tigers],
    ['lions', lions],
  ] as const)
    assert.deepEqual(meaning(merged, resource), meaning(merge([document, resource]), resource));
});

test('a renamed schema is used again by a third cluster that has the same, and a name that is taken is not given', () => {
  const pumas = documentOf({ pumas: 'Puma' }, { ...newMeta, Puma: schema('Puma', { metadata: ref('Meta') }) });
  const odd = documentOf(
    { odds: 'Odd' },
    { Meta: text('third'), Meta_v2: text('own'), Odd: schema('Odd', { a: ref('Meta'), b: ref('Meta_v2') }) },
  );
  const merged = merge([lions, 'lions'], [tigers, 'tigers'], [pumas, 'pumas'], [odd, 'odds']);
  assert.deepEqual(merged.components.schemas['Puma']!['properties'], { metadata: ref('Meta_v2') });
  for (const [resource, document] of [
    ['pumas', pumas],
    ['odds', odd],
  ] as const)
    assert.deepEqual(meaning(merged, resource), meaning(merge([document, resource]), resource));
});

test('schemas that refer to each other in a circle are the same together or other together', () => {
  const circle = (resource: string, kind: string, word: string): Json =>
    documentOf(
      { [resource]: kind },
      {
        A: { properties: { b: ref('B') } },
        B: { title: word, items: ref('A') },
        [kind]: schema(kind, { a: ref('A') }),
      },
    );
  const same = merge([circle('lions', 'Lion', 'x'), 'lions'], [circle('bears', 'Bear', 'x'), 'bears']);
  assert.deepEqual(Object.keys(same.components.schemas), ['A', 'B', 'Bear', 'Lion']);
  const other = merge([circle('lions', 'Lion', 'x'), 'lions'], [circle('bears', 'Bear', 'y'), 'bears']);
  assert.deepEqual(Object.keys(other.components.schemas), ['A', 'A_v2', 'B', 'B_v2', 'Bear', 'Lion']);
  assert.deepEqual(other.components.schemas['B_v2'], { title: 'y', items: ref('A_v2') });
});

test('references that take longer to follow than is done are all renamed: more than needed, never wrong', () => {
  const chain = (resource: string, kind: string, word: string): Json => {
    const names = Array.from({ length: 40 }, (_, i) => `N${String(i).padStart(2, '0')}`);
    const links = names.map((name, i) => [name, i === 39 ? text(word) : { items: ref(names[i + 1]!) }] as const);
    return documentOf({ [resource]: kind }, { ...Object.fromEntries(links), [kind]: schema(kind, { a: ref('N00') }) });
  };
  const bears = chain('bears', 'Bear', 'y');
  const merged = merge([chain('lions', 'Lion', 'x'), 'lions'], [bears, 'bears']);
  assert.deepEqual(meaning(merged, 'bears'), meaning(merge([bears, 'bears']), 'bears'));
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
  const merged = merge([document, 'lions']);
  assert.deepEqual(Object.keys(merged.paths), [`${at}/lions/{name}`, `${at}/watch/namespaces/{namespace}/lions`]);
  assert.doesNotMatch(JSON.stringify(merged), /canar|write/);
  assert.deepEqual(merged.components.schemas['Event']!['x-kubernetes-group-version-kind'], [kindOf('WatchEvent')]);
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
  const again = JSON.parse(JSON.stringify(merge([document, 'lions']))) as Merged;
  assert.deepEqual(Object.keys(again.components.schemas).toSorted(), ['Lion', '__proto__']);
  assert.deepEqual(again.components.schemas['Lion']!['properties'], { $ref: text('a field'), x: ref('__proto__') });
});

test('a survey has the resources that can be read and the size of each kind; what is no document is refused', () => {
  const survey = surveyOpenapi(
    documentOf({ lions: 'Lion' }, { Lion: schema('Lion', { a: { properties: { b: {}, c: {} } } }) }),
    group,
    'v1',
  );
  assert.deepEqual([...survey.resources], ['lions']);
  assert.equal(survey.fields.get('Lion'), 3);
  for (const bad of ['[]', '"x"', 'null', '{', `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`])
    assert.throws(() => parseOpenapi(Buffer.from(bad)), bad.slice(0, 10));
});
