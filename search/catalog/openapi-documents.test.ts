import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import type { StoredType } from '../../store/store.ts';
import type { MemberQuestion } from '../../sync/member/sync-types.ts';
import type { Incarnation, TypeInfo } from '../../query/types.ts';
import type { Warning } from '../answer/answer-body.ts';
import { makeReadDocument } from './openapi-members.ts';
import type { MemberDocument } from './openapi-members.ts';
import { makeOpenapiDocuments } from './openapi-documents.ts';
import type { OpenapiDocument, OpenapiDocuments } from './openapi-documents.ts';

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
  readonly openapi: OpenapiDocuments;
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
  const openapi = makeOpenapiDocuments(read, ({ cluster }) => members[cluster]!.version);
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

async function shown(site: Site, types: readonly StoredType[]): Promise<Described | undefined> {
  return fieldsOf(await site.openapi.document('x.io', 'v1', types));
}

/** Fields of each type in the answer. */
function fieldsOf(answer: OpenapiDocument | undefined): Described | undefined {
  if (answer === undefined) return undefined;
  const { paths, components } = JSON.parse(answer.body.toString('utf8')) as {
    readonly paths: object;
    readonly components: { readonly schemas: Readonly<Record<string, { readonly properties: object }>> };
  };
  const names = Object.keys(paths).map((path) => path.slice(path.lastIndexOf('/') + 1));
  return Object.fromEntries(names.map((name) => [name, Object.keys(components.schemas[name]!.properties)]));
}

async function warned(site: Site, types: readonly StoredType[]): Promise<readonly Warning[]> {
  return (await site.openapi.document('x.io', 'v1', types))!.warnings;
}

const built = (...clusters: readonly string[]): StoredType[] => clusters.map((each) => having(each, 'as', false));
const custom = (...clusters: readonly string[]): StoredType[] => clusters.map((each) => having(each, 'cs', true));

test('a built-in group is described as the newest Kubernetes has it, and no other cluster is asked', async () => {
  const site = makeSite({
    a: { version: 'v1.9.4', described: { as: ['one', 'two', 'three'] } },
    b: { version: 'v1.36.10+k3s1', described: { as: ['new'] } },
    c: { version: 'v1.36.9', described: { as: ['old'] } },
    d: { version: '', described: { as: ['unknown'] } },
  });
  const types = [...built('a', 'b', 'c', 'd'), having('a', 'more', false)];
  assert.deepEqual(await shown(site, types), { as: ['new'] });
  assert.deepEqual(site.asked, ['b 200']);
  assert.deepEqual(await shown(site, built('d', 'a')), { as: ['one', 'two', 'three'] });
});

test('a group with custom types is described by the cluster with most of them; a warning says who has the others', async () => {
  const site = makeSite({
    a: { version: 'v1.36.0', described: { cs: ['one'], mine: ['m'], hidden: ['h'] } },
    b: { version: 'v1.30.0', described: { cs: ['one', 'two'], yours: ['y'] } },
    c: { version: 'v1.99.0', described: { cs: ['three'] } },
  });
  const types = [...custom('a', 'b', 'c'), having('a', 'mine', true), having('b', 'yours', true)];
  for (const order of [types, types.toReversed()]) {
    assert.deepEqual(await shown(site, order), { cs: ['one'], mine: ['m'] });
    const text = 'has types that this OpenAPI document of cluster a lacks; ask /clusters/b/proxy for yours';
    assert.deepEqual(await warned(site, order), [{ cluster: 'b', text }]);
  }
  const etagOf = async (having: readonly StoredType[]): Promise<string> =>
    (await site.openapi.document('x.io', 'v1', having))!.etag;
  // kubectl would go on printing the warning that it kept with the body.
  assert.notEqual(await etagOf(types), await etagOf(types.slice(0, -1)));
});

test('a type of which the caller sees nothing in that cluster is left out, though its document has it', async () => {
  const site = makeSite({
    a: { version: 'v1.36.0', described: { as: ['secret'], seen: ['s'] } },
    b: { version: 'v1.35.0', described: { as: ['old'] } },
    c: { version: 'v1.34.0', described: { as: ['older'] } },
  });
  const types = [having('a', 'seen', false), ...built('b', 'c')];
  // Another caller, whose answer is kept.
  assert.deepEqual(await shown(site, [...types, ...built('a')]), { seen: ['s'], as: ['secret'] });
  assert.deepEqual(await shown(site, types), { seen: ['s'] });
  assert.deepEqual(
    (await warned(site, types)).map(({ cluster }) => cluster),
    ['b'],
  );
  assert.deepEqual(await shown(site, types.slice(0, 1)), { seen: ['s'] });
  assert.deepEqual(await warned(site, types.slice(0, 1)), []);
});

test('when the preferred cluster does not answer, the next ones are asked together and the most preferred wins', async () => {
  const clusters = ['a', 'b', 'c', 'd'];
  const answers = new Map<string, (answer: MemberDocument | undefined) => void>();
  const read = ({ cluster }: Incarnation): Promise<MemberDocument | undefined> =>
    new Promise((resolve) => answers.set(cluster, resolve));
  const openapi = makeOpenapiDocuments(read, () => 'v1.36.0');
  const asked = openapi.document('x.io', 'v1', built(...clusters));
  assert.deepEqual([...answers.keys()], ['a']);
  answers.get('a')!(undefined);
  await setImmediate();
  assert.deepEqual([...answers.keys()], clusters);
  const answer = (cluster: string): void =>
    answers.get(cluster)!({ digest: cluster, text: Buffer.from(document({ as: [cluster] })) });
  answer('c');
  answers.get('b')!(undefined);
  assert.deepEqual(fieldsOf(await asked), { as: ['c'] });
  answer('d');
});

test('a document is asked for once, then by its ETag, and anew when it has changed', async () => {
  const site = makeSite({ a: { version: 'v1.36.0', described: { as: ['x'] } } });
  await shown(site, built('a'));
  const [first] = [await site.openapi.document('x.io', 'v1', built('a'))];
  assert.deepEqual(site.asked, ['a 200']);
  for (let round = 0; round < 2; round += 1) {
    site.nowMs += 11_000;
    await Promise.all([shown(site, built('a')), shown(site, built('a'))]);
    await shown(site, built('a'));
  }
  assert.deepEqual(site.asked, ['a 200', 'a 304', 'a 304']);
  site.members['a']!.described = { as: ['x', 'y'] };
  site.nowMs += 11_000;
  assert.deepEqual(await shown(site, built('a')), { as: ['x', 'y'] });
  assert.notEqual((await site.openapi.document('x.io', 'v1', built('a')))!.etag, first!.etag);
});

test('a cluster that is down is described as it last said, else the next one is, else none', async () => {
  const site = makeSite({
    a: { version: 'v1.36.0', described: undefined },
    b: { version: 'v1.35.0', described: { as: ['older'] } },
  });
  const types = [...built('a', 'b'), having('a', 'mine', false)];
  assert.deepEqual(await shown(site, types), { as: ['older'] });
  assert.deepEqual(
    (await warned(site, types)).map(({ cluster }) => cluster),
    ['a'],
  );
  assert.equal(await shown(site, [having('a', 'mine', false)]), undefined);
  site.members['a']!.described = { as: ['newer'], mine: ['m'] };
  const whole = { as: ['newer'], mine: ['m'] };
  assert.deepEqual(await shown(site, types), whole);
  site.members['a']!.described = undefined;
  for (let round = 0; round < 2; round += 1) {
    site.nowMs += 11_000;
    assert.deepEqual(await shown(site, types), whole);
  }
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
