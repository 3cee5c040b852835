// Clusterpedia's own test cases of what a question selects, over HTTP, by their numbers
// (docs/reference/clusterpedia-cases.md). The expected rows are computed from the objects by a plain function beside
// each question, never written down as names, so that a selection of too much is seen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import type { IndexedList, IndexSite } from './index-site.ts';

const base = '/apis/clusterpedia.io/v1beta1/resources/api/v1/configmaps';
const annotation = 'shadow.clusterpedia.io/cluster-name';
const midnight = 'T00:00:00Z';

/** A ConfigMap of one of the clusters; `data` stands for whatever fields a selector may name. */
interface Case {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly created: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
}

/** Values that are SQL elsewhere. */
const hostile = [
  " OR ('1' = '1",
  ' OR 1=1 -- ',
  ' OR 1=1 # ',
  ' UNION SELECT NULL,NULL',
  " UNION SELECT 'a','b'",
  ' UNION SELECT username, password FROM users',
] as const;

function made(
  place: string,
  created: string,
  labels: Readonly<Record<string, string>>,
  data: Readonly<Record<string, string>>,
): Case {
  const [cluster, namespace, name] = place.split('/') as [string, string, string];
  return { cluster, namespace, name, created, labels, data };
}

const cases: readonly Case[] = [
  made(
    'alpha/ns-1/name-1',
    `2022-03-04${midnight}`,
    { key1: 'value1', key2: 'value2', 'key1.io': 'value1', env: 'dev' },
    { field11: 'value1', 'field12.io': 'value1', field2: 'value2', empty: '' },
  ),
  made(
    'alpha/ns-1/name-2',
    '2022-03-14T23:59:59Z',
    { key1: 'value2', key2: 'value2', 'key1.io': '', env: 'prod' },
    { field11: 'value2', field2: 'value2' },
  ),
  made('alpha/ns-2/name-1', `2022-03-15${midnight}`, { key1: 'value3', key2: 'value2' }, { field11: 'value3' }),
  made('alpha/ns-2/name-3', '2022-03-03T23:59:59Z', {}, {}),
  made('beta/ns-1/name-1', '2022-03-10T12:00:00Z', { key1: 'value1' }, { field11: 'value1', empty: 'no' }),
  made('beta/ns-2/name-2', '2022-03-11T12:00:00Z', { key2: 'value2' }, { field2: 'value2', 'field12.io': 'value2' }),
  ...hostile.map((text, i) => made(`beta/ns-2/hostile-${i}`, '2023-01-01T00:00:00Z', {}, { field11: text })),
];

/** The objects of one cluster. */
export function queryCaseSeeds(cluster: string): readonly JsonObject[] {
  const places = ['ns-1', 'ns-2'].map((name): JsonObject => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }));
  const maps = cases
    .filter((each) => each.cluster === cluster)
    .map(({ namespace, name, created, labels, data }): JsonObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, creationTimestamp: created, ...(Object.keys(labels).length > 0 ? { labels } : {}) },
      data,
    }));
  return [...places, ...maps];
}

const placeOf = ({ cluster, namespace, name }: Pick<Case, 'cluster' | 'namespace' | 'name'>): string =>
  `${cluster}/${namespace}/${name}`;
const label = (selector: string): string =>
  `labelSelector=${encodeURIComponent(selector.replaceAll('S/', 'search.clusterpedia.io/'))}`;
const field = (selector: string): string => `fieldSelector=${encodeURIComponent(selector)}`;
const oneOf = (text: string | undefined, ...values: readonly string[]): boolean =>
  text !== undefined && values.includes(text);

/** Registers them. @param site the one of the file, once it runs */
export function testQueryCases(site: () => IndexSite): void {
  const list = async (query: string): Promise<IndexedList> => {
    const isNarrow = query.includes('namespaces');
    const answer = await site().ask(`${base}?${[query, isNarrow ? '' : 'namespaces=ns-1,ns-2'].join('&')}`);
    assert.equal(answer.status, 200, `${query}: ${answer.text}`);
    return answer.json<IndexedList>();
  };
  const places = (found: IndexedList): string[] =>
    found.items.map(({ metadata }) =>
      placeOf({
        cluster: metadata.annotations?.[annotation] ?? '',
        namespace: metadata.namespace!,
        name: metadata.name,
      }),
    );
  const selects = async (query: string, isWanted: (each: Case) => boolean): Promise<void> => {
    const wanted = cases.filter(isWanted).map(placeOf).toSorted();
    assert.deepEqual(places(await list(query)).toSorted(), wanted, query);
  };
  const refuses = async (query: string, status: number, message: RegExp): Promise<void> => {
    const answer = await site().ask(`${base}?${query}`);
    assert.equal(answer.status, status, `${query}: ${answer.text}`);
    assert.match(answer.json<{ message: string }>().message, message);
  };

  test('clusters, namespaces, names and a window of creation, by URL and by label (CP-011 to CP-017)', async () => {
    const within = ({ created }: Case): boolean =>
      created >= `2022-03-04${midnight}` && created < `2022-03-15${midnight}`;
    const inNs1 = ({ namespace }: Case): boolean => namespace === 'ns-1';
    await selects('clusters=alpha', ({ cluster }) => cluster === 'alpha');
    await selects('clusters=alpha,beta', () => true);
    await selects(label('S/clusters=alpha'), ({ cluster }) => cluster === 'alpha');
    // Of a cluster that is not there, there are no rows; only a path to it is 404.
    for (const query of [
      'clusters=nope',
      label('S/clusters=nope'),
      `${field(`metadata.annotations['${annotation}']=nope`)}`,
    ])
      await selects(query, () => false);
    await selects('clusters=nope,alpha', ({ cluster }) => cluster === 'alpha');
    const elsewhere = `${field(`metadata.annotations['${annotation}']=beta`)}&namespaces=ns-1`;
    const none = await site().ask(`${base.replace('resources/', 'resources/clusters/alpha/')}?${elsewhere}`);
    assert.deepEqual([none.status, none.json<IndexedList>().items], [200, []]);
    const fuzzy = ['name', '1'].map((text) => `internalstorage.clusterpedia.io/fuzzy-name=${text}`).join(',');
    await selects(label(fuzzy), ({ name }) => name === 'name-1');
    for (const query of ['clusters=alpha,beta', label('S/clusters in (alpha,beta)')])
      await selects(`namespaces=ns-1&${query}`, inNs1);
    await selects('namespaces=ns-1,ns-2&clusters=alpha,beta', () => true);
    await selects('namespaces=ns-1&names=name-1', (each) => inNs1(each) && each.name === 'name-1');
    for (const query of ['names=name-1,name-2', label('S/names in (name-1,name-2)')])
      await selects(`namespaces=ns-1&${query}`, (each) => inNs1(each) && oneOf(each.name, 'name-1', 'name-2'));
    await selects('since=2022-03-04&before=2022-03-15', within);
    await selects(label('S/since=2022-03-04,S/before=2022-03-15'), within);
  });

  test('label selectors of every operator, matching and not (CP-018 to CP-025, CP-147 to CP-148)', async () => {
    const and = (value: string | undefined): boolean => value === 'value2';
    await selects(label('key1=value1'), ({ labels }) => labels['key1'] === 'value1');
    await selects(label('key1.io=value1'), ({ labels }) => labels['key1.io'] === 'value1');
    await selects(label('key1.io='), ({ labels }) => labels['key1.io'] === '');
    await selects(label('key1!=value1'), ({ labels }) => labels['key1'] !== 'value1');
    await selects(
      label('key1 in (value1, value2),key2=value2'),
      ({ labels }) => oneOf(labels['key1'], 'value1', 'value2') && and(labels['key2']),
    );
    await selects(
      label('key1 notin (value1, value2),key2=value2'),
      ({ labels }) => !oneOf(labels['key1'], 'value1', 'value2') && and(labels['key2']),
    );
    await selects(label('key1.io'), ({ labels }) => 'key1.io' in labels);
    await selects(label('!key1.io'), ({ labels }) => !('key1.io' in labels));
    // A selector of everything keeps objects without labels, too.
    await selects('labelSelector=', () => true);
    for (const value of ['dev', 'none']) {
      await selects(label(`env=${value}`), ({ labels }) => labels['env'] === value);
      await selects(label(`env!=${value}`), ({ labels }) => labels['env'] !== value);
      await selects(label(`env in (${value},other)`), ({ labels }) => oneOf(labels['env'], value, 'other'));
      await selects(label(`env notin (${value},other)`), ({ labels }) => !oneOf(labels['env'], value, 'other'));
    }
    for (const key of ['env', 'none']) {
      await selects(label(key), ({ labels }) => key in labels);
      await selects(label(`!${key}`), ({ labels }) => !(key in labels));
    }
  });

  test('field selectors on any path; none is ignored, whatever path the question comes by (CP-026 to CP-034)', async () => {
    await selects(field('data.field11=value1'), ({ data }) => data['field11'] === 'value1');
    await selects(field("data['field12.io']=value1"), ({ data }) => data['field12.io'] === 'value1');
    await selects(field('data.empty='), ({ data }) => data['empty'] === '');
    await selects(field('data.field11!=value1'), ({ data }) => data['field11'] !== 'value1');
    await selects(
      field('data.field11 in (value1, value2),data.field2=value2'),
      ({ data }) => oneOf(data['field11'], 'value1', 'value2') && data['field2'] === 'value2',
    );
    await selects(
      field('data.field11 notin (value1, value2),data.field2=value2'),
      ({ data }) => !oneOf(data['field11'], 'value1', 'value2') && data['field2'] === 'value2',
    );
    await selects(field('data.field11'), ({ data }) => data['field11'] !== undefined);
    await selects(field('!data.field11'), ({ data }) => data['field11'] === undefined);
    const native = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy/clusters/alpha/api/v1';
    const answer = await site().ask(`${native}/namespaces/ns-1/configmaps?${field('data.field11=value1')}`);
    assert.deepEqual(places(answer.json<IndexedList>()), ['alpha/ns-1/name-1']);
  });

  test('orders of columns and of paths, each way; raw SQL is no order (CP-035 to CP-039)', async () => {
    const all = await list('');
    const version = new Map(places(all).map((place, i) => [place, BigInt(all.items[i]!.metadata.resourceVersion)]));
    type Key = (each: Case) => string | bigint;
    const column: Record<string, Key> = {
      namespace: ({ namespace }) => namespace,
      name: ({ name }) => name,
      cluster: ({ cluster }) => cluster,
      resource_version: (each) => version.get(placeOf(each))!,
      'data.field2': ({ data }) => data['field2'] ?? '~',
    };
    const sorted = async (...order: readonly string[]): Promise<void> => {
      const wanted = cases.toSorted((one, other) => {
        for (const key of order) {
          const [by, direction] = key.split(' ') as [string, string | undefined];
          const [a, b] = [column[by]!(one), column[by]!(other)];
          if (a !== b) return a < b === (direction === undefined) ? -1 : 1;
        }
        return 0;
      });
      const found = places(await list(`orderby=${encodeURIComponent(order.join())}`));
      assert.deepEqual(found, wanted.map(placeOf), order.join());
    };
    await sorted('namespace', 'name', 'cluster', 'resource_version');
    await sorted('namespace', 'name desc', 'cluster desc', 'resource_version desc');
    await sorted('cluster', 'resource_version');
    await sorted('data.field2', 'name', 'namespace', 'cluster');
    for (const order of ["JSON_EXTRACT(object,'$.status.podIP')", "JSON_EXTRACT(object,'$.status.podIP') desc,name"])
      await refuses(`orderby=${encodeURIComponent(order)}`, 400, /orderby|path/);
  });

  test('limits and offsets; an offset that is none is refused (CP-040 to CP-047)', async () => {
    const all = places(await list(''));
    assert.equal(all.length, cases.length);
    assert.deepEqual(places(await list('limit=10')), all.slice(0, 10));
    for (const limit of ['0', '-1', '-2']) assert.deepEqual(places(await list(`limit=${limit}`)), all);
    assert.deepEqual(places(await list('continue=1')), all.slice(1));
    assert.deepEqual(places(await list('limit=10&continue=1')), all.slice(1, 11));
    for (const text of ['-1', 'abdfdf']) await refuses(`continue=${text}`, 400, /continue/);
  });

  test('SQL in a request is refused with a hint, readable or not (CP-048 to CP-060, CP-062 to CP-067, CP-073 to CP-081, CP-083 to CP-087)', async () => {
    for (const query of [
      'whereSQL=namespace%3D1',
      'whereSQLStatement=namespace%3D1',
      'whereSQLStatement=a%3D%3F&whereSQLParam=1',
      'whereSQLStatement=a%3D%3F&whereSQLParam=1&whereSQLParam=2',
      'whereSQLStatement=a%3D%3F&whereSQLJSONParams=WyJhIl0%3D',
      'whereSQLJSONParams=A%3D%3D%3D',
      'whereSQLJSONParams=aW52YWxpZC1qc29u',
      'whereSQLParam=1',
    ])
      await refuses(query, 400, /not supported: SQL is never taken from a request.*filter=|SQL is never taken/);
  });

  test('without SQL nothing is filtered, and values never become syntax (CP-061, CP-068 to CP-072, CP-082)', async () => {
    await selects('', () => true);
    for (const text of hostile) {
      await selects(`filter=${encodeURIComponent(`data.field11="${text}"`)}`, ({ data }) => data['field11'] === text);
      await selects(`names=${encodeURIComponent(text.replaceAll(',', ''))}`, () => false);
      await selects(`ownerUID=${encodeURIComponent(text)}`, () => false);
    }
  });

  test('a selector means the same however it is spaced, ordered and doubled (CP-103 to CP-106)', async () => {
    const wanted = ({ data }: Case): boolean => oneOf(data['field11'], 'value1', 'value2');
    for (const selector of [
      'data.field11 in (value1,value2)',
      'data.field11   in ( value2 ,value1 ,value2 )',
      '.data.field11 in(value1,value2),data.field11',
    ])
      await selects(field(selector), wanted);
    await selects(field('data.field11 in (),data.field2'), () => false);
    await selects(field('data.field11=in'), () => false);
    for (const selector of ['()', '== != (), = notin', 'data.field11 in', ','])
      await refuses(field(selector), 400, /./);
    // > and < of what is no number, and what no token is.
    await refuses(field('data.field11>high'), 400, /compared|number/);
    await refuses(label('key1 in (value1'), 400, /./);
  });

  test('paths and selectors that are read, and those that are refused (CP-107 to CP-129)', async () => {
    for (const path of [
      'metadata.name',
      '.metadata.name',
      ".metadata.annotations.'test.io'",
      ".metadata.annotations['test.io']",
      ".field1['prefix.field2'].field3",
      ".field1['prefix.field2']['prefix.field3']",
      '.spec.containers[].name',
      '.spec.containers[0].name',
      ".field1['prefix.listed'][0].field2",
    ])
      await selects(field(path), () => path.endsWith('metadata.name'));
    for (const path of ['[]', '[0]', '.metadata.annotations[test.io]', ".metadata.annotations['test.io'.go]"])
      await refuses(field(path), 400, /field/);
    await selects(field(".metadata.annotations['test.io'] in (value1,value2),.spec.replica=3"), () => false);
    await selects(field("!metadata.annotation['test.io']"), () => true);
    await selects(field('spec.containers[].name!=container1'), () => true);
    await selects(field('.spec.containers[1].name in (container1,container2)'), () => false);
    for (const selector of [
      '.metadata.annotations[test.io] in (value1, value2)',
      ".metadata.annotations['test'io'] in (value1, value2)",
      'spec.containers[]==something',
    ])
      await refuses(field(selector), 400, /field/);
  });

  test('of a repeated parameter the first counts; one without a value is as if it were not there (CP-145)', async () => {
    await selects('names=name-1&names=name-2', ({ name }) => name === 'name-1');
    await selects('names=', () => true);
  });

  test('selectors as the Go client builds them (CP-166 to CP-173)', async () => {
    await selects(label('S/clusters in (aaa,alpha,beta)'), () => true);
    await selects(
      label('S/clusters in (aaa,bbb,beta),S/namespaces=ns-2'),
      (each) => each.cluster === 'beta' && each.namespace === 'ns-2',
    );
    await selects(label('S/clusters=alpha,S/namespaces in (ns-1,ns-2)'), ({ cluster }) => cluster === 'alpha');
    await selects(label('key1=value1,S/clusters=beta'), (each) => placeOf(each) === 'beta/ns-1/name-1');
    // Values of a label have no order, so they are taken alphabetically: cluster, then name_desc.
    const ordered = places(await list(label('S/orderby in (name_desc,cluster)')));
    assert.equal(ordered[0], 'alpha/ns-2/name-3');
    assert.equal(ordered.at(-1), 'beta/ns-2/hostile-0');
    const counted = await list(`limit=4&${label('S/orderby in (cluster),S/with-remaining-count=true')}`);
    assert.equal(counted.metadata.remainingItemCount, cases.length - 4);
  });
}
