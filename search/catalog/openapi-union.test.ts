import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import type { StoredType } from '../../store/store.ts';
import type { MemberQuestion } from '../../sync/member/sync-types.ts';
import type { TypeInfo } from '../../query/types.ts';
import { makeReadDocument } from './openapi-members.ts';
import { makeUnionOpenapi } from './openapi-union.ts';
import type { UnionOpenapi } from './openapi-union.ts';

/** By resource: fields of its schema. */
type Described = Readonly<Record<string, readonly string[]>>;

interface FakeMember {
  version: string;
  /** Undefined: it is down. */
  described: Described | undefined;
  /** Text instead of a document. */
  text?: string;
}

interface Site {
  readonly openapi: UnionOpenapi;
  readonly members: Readonly<Record<string, FakeMember>>;
  /** `<cluster> <status>` of each answer. */
  readonly asked: string[];
  nowMs: number;
}

const document = (described: Described): string => {
  const kindOf = (resource: string): object => ({ group: 'x.io', version: 'v1', kind: resource.toUpperCase() });
  const paths = Object.keys(described).map((resource) => {
    const schema = { $ref: `#/components/schemas/${resource}` };
    return [`/apis/x.io/v1/${resource}`, { get: { 'x-kubernetes-group-version-kind': kindOf(resource), schema } }];
  });
  const schemas = Object.entries(described).map(([resource, fields]) => {
    const properties = Object.fromEntries(fields.map((field) => [field, { type: 'string' }]));
    return [resource, { properties, 'x-kubernetes-group-version-kind': [kindOf(resource)] }];
  });
  return JSON.stringify({ paths: Object.fromEntries(paths), components: { schemas: Object.fromEntries(schemas) } });
};

function makeSite(members: Readonly<Record<string, FakeMember>>): Site {
  const asked: string[] = [];
  const read = makeReadDocument(
    ({ cluster }) =>
      async ({ path, ifNoneMatch }: MemberQuestion): Promise<MemberAnswer> => {
        assert.equal(path, '/openapi/v3/apis/x.io/v1');
        const { described, text } = members[cluster]!;
        if (described === undefined) {
          asked.push(`${cluster} down`);
          throw new Error('down');
        }
        const body = Buffer.from(text ?? document(described));
        // All members have the same: it must not matter.
        const etag = `"${body.length}"`;
        const status = ifNoneMatch === etag ? 304 : 200;
        asked.push(`${cluster} ${status}`);
        const chunks = (async function* () {
          yield body;
        })();
        return { status, headers: ['ETag', etag], chunks, cancel: () => undefined };
      },
    () => site.nowMs,
  );
  const openapi = makeUnionOpenapi(read, ({ cluster }) => members[cluster]!.version);
  const site: Site = { openapi, members, asked, nowMs: 1_000_000 };
  return site;
}

function having(cluster: string, resource: string, isCustom: boolean): StoredType {
  const type: TypeInfo = {
    group: 'x.io',
    resource,
    version: 'v1',
    versions: ['v1'],
    kind: resource.toUpperCase(),
    singular: resource,
    shortNames: [],
    categories: [],
    namespaced: true,
    convertible: false,
    ...(isCustom ? { printerColumns: {} } : {}),
  };
  const position = { resourceVersion: '1', confirmedAtMs: 1 };
  return { incarnation: { id: `${cluster}/1`, cluster }, type, position, objects: 1 };
}

/** Fields of each type in the answer. */
async function shown(site: Site, types: readonly StoredType[]): Promise<Described | undefined> {
  const answer = await site.openapi.document('x.io', 'v1', types);
  if (answer === undefined) return undefined;
  const { paths, components } = JSON.parse(answer.body.toString('utf8')) as {
    readonly paths: object;
    readonly components: { readonly schemas: Readonly<Record<string, { readonly properties: object }>> };
  };
  const names = Object.keys(paths).map((path) => path.slice(path.lastIndexOf('/') + 1));
  return Object.fromEntries(names.map((name) => [name, Object.keys(components.schemas[name]!.properties)]));
}

const built = (...clusters: readonly string[]): StoredType[] => clusters.map((each) => having(each, 'as', false));
const custom = (...clusters: readonly string[]): StoredType[] => clusters.map((each) => having(each, 'cs', true));

test('a built-in type is described as the newest Kubernetes has it, and no other cluster is asked', async () => {
  const site = makeSite({
    a: { version: 'v1.9.4', described: { as: ['one', 'two', 'three'] } },
    b: { version: 'v1.36.10+k3s1', described: { as: ['new'] } },
    c: { version: 'v1.36.9', described: { as: ['old'] } },
    d: { version: '', described: { as: ['unknown'] } },
  });
  assert.deepEqual(await shown(site, built('a', 'b', 'c', 'd')), { as: ['new'] });
  assert.deepEqual(site.asked, ['b 200']);
  assert.deepEqual(await shown(site, built('d', 'a')), { as: ['one', 'two', 'three'] });
});

test('a custom type is described by the schema with the most fields, and types that only one cluster has are all there', async () => {
  const site = makeSite({
    a: { version: 'v1.36.0', described: { as: ['a'], cs: ['one'], mine: ['m'], hidden: ['h'] } },
    b: { version: 'v1.30.0', described: { cs: ['one', 'two'], yours: ['y'] } },
    c: { version: 'v1.36.0', described: { cs: ['three', 'four'] } },
  });
  const types = [...built('a'), ...custom('a', 'b', 'c'), having('a', 'mine', true), having('b', 'yours', true)];
  const all = { as: ['a'], cs: ['three', 'four'], mine: ['m'], yours: ['y'] };
  assert.deepEqual(await shown(site, types), all);
  assert.deepEqual(await shown(site, types.toReversed()), all);
  assert.deepEqual(site.asked.toSorted(), ['a 200', 'b 200', 'c 200']);
});

test('of many clusters with a custom type few are asked', async () => {
  const names = Array.from({ length: 40 }, (_, i) => `m${i}`);
  const site = makeSite(
    Object.fromEntries(names.map((name) => [name, { version: 'v1.36.0', described: { cs: [name] } }])),
  );
  assert.deepEqual(await shown(site, custom(...names)), { cs: ['m0'] });
  assert.equal(site.asked.length, 8);
});

test('a document is asked for once, then by its ETag, and anew when it has changed', async () => {
  const site = makeSite({ a: { version: 'v1.36.0', described: { as: ['x'] } } });
  await shown(site, built('a'));
  const [first] = [await site.openapi.document('x.io', 'v1', built('a'))];
  assert.deepEqual(site.asked, ['a 200']);
  site.nowMs += 11_000;
  await Promise.all([shown(site, built('a')), shown(site, built('a'))]);
  assert.deepEqual(site.asked, ['a 200', 'a 304']);
  site.members['a']!.described = { as: ['x', 'y'] };
  site.nowMs += 11_000;
  assert.deepEqual(await shown(site, built('a')), { as: ['x', 'y'] });
  assert.notEqual((await site.openapi.document('x.io', 'v1', built('a')))!.etag, first!.etag);
});

test('a cluster that is down is described as it last said, else as another one has it, else named', async () => {
  const site = makeSite({
    a: { version: 'v1.36.0', described: { as: ['newer'], mine: ['m'] } },
    b: { version: 'v1.35.0', described: { as: ['older'] } },
  });
  const types = [...built('a', 'b'), having('a', 'mine', false)];
  site.members['a']!.described = undefined;
  const answer = await site.openapi.document('x.io', 'v1', types);
  assert.deepEqual(
    answer?.warnings.map(({ cluster }) => cluster),
    ['a'],
  );
  assert.deepEqual(await shown(site, types), { as: ['older'] });
  assert.equal(await shown(site, [having('a', 'mine', false)]), undefined);
  site.members['a']!.described = { as: ['newer'], mine: ['m'] };
  const whole = { as: ['newer'], mine: ['m'] };
  assert.deepEqual(await shown(site, types), whole);
  site.members['a']!.described = undefined;
  site.nowMs += 11_000;
  assert.deepEqual(await shown(site, types), whole);
});

test('a member with a document that is none, or with the ETag of another one, changes nothing for others', async () => {
  const site = makeSite({
    a: { version: 'v1.99.0', described: {}, text: '{"paths":[]}' },
    b: { version: 'v1.36.0', described: { as: ['good'], cs: ['good'] } },
    c: { version: 'v1.98.0', described: {}, text: '{{' },
  });
  assert.deepEqual(await shown(site, [...built('a', 'b', 'c'), ...custom('a', 'b', 'c')]), {
    as: ['good'],
    cs: ['good'],
  });
  // Of the same length and so of the same ETag as that of b.
  site.members['a']!.text = document({ as: ['evil'], cs: ['evil'] });
  site.nowMs += 11_000;
  assert.deepEqual(await shown(site, [...built('b'), ...custom('b')]), { as: ['good'], cs: ['good'] });
});
