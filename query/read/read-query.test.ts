import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { allOf, type ListQuery } from '../list-query.ts';
import { jsonParameters, urlParameters } from '../parameters.ts';
import { parsePath } from '../path.ts';
import { takeForwardLabel } from '../selectors/forward-label.ts';
import { readQuery, type AskedQuery, type PathTarget } from './read-query.ts';

const pods = { group: '', resource: 'pods' };

function ask(query: string, target: Partial<PathTarget> = {}): AskedQuery {
  return readQuery(urlParameters(query), { types: [pods], ...target });
}

/** By label, values as they would stand in a selector. */
function labels(selector: string, target: Partial<PathTarget> = {}): AskedQuery {
  return ask(`labelSelector=${encodeURIComponent(selector.replaceAll('S/', 'search.clusterpedia.io/'))}`, target);
}

function is(asked: AskedQuery, part: Partial<ListQuery>): void {
  assert.deepEqual(asked.query, { ...allOf(pods), ...part });
}

function refused(query: string | (() => unknown), message: RegExp): void {
  const run = typeof query === 'string' ? () => ask(query) : query;
  assert.throws(run, (error) => {
    assert.ok(error instanceof GatewayError && error.code === 'BAD_REQUEST', String(error));
    assert.match(error.message, message);
    return true;
  });
}

test('a path without parameters is the same question as with one that means nothing', () => {
  const places = [{}, { cluster: 'c' }, { namespace: 'n' }, { cluster: 'c', namespace: 'n', name: 'o' }];
  for (const target of [...places, { types: [pods, { group: 'apps', resource: 'deployments' }] }])
    assert.deepEqual(ask('', target), ask('nothing=1', target));
});

test('clusters, namespaces and names by URL and by label (CP-011 to CP-016)', () => {
  is(ask(''), {});
  is(ask('clusters=cluster-1'), { clusters: ['cluster-1'] });
  is(ask('clusters=c1,c2&namespaces=ns-1&names=%20n1,n2'), {
    clusters: ['c1', 'c2'],
    namespaces: ['ns-1'],
    names: ['n1', 'n2'],
  });
  is(labels('S/clusters in (c2,c1),S/namespaces=ns-1,S/names=n1'), {
    clusters: ['c1', 'c2'],
    namespaces: ['ns-1'],
    names: ['n1'],
  });
  is(ask('clusters=&names=%20'), {});
  is(ask('fieldSelector=&labelSelector='), {});
});

test('the path wins over the URL, the URL over the label', () => {
  const target = { cluster: 'p', namespace: 'q', name: 'r' };
  is(ask('clusters=a&namespaces=b&names=c', target), { clusters: ['p'], namespaces: ['q'], names: ['r'] });
  is(ask('names=c&labelSelector=search.clusterpedia.io/names=d'), { names: ['c'] });
  is(ask('names=c&labelSelector=search.clusterpedia.io/names!=c'), { names: ['c'] });
});

test('operators of search labels mean what they say', () => {
  is(labels('S/clusters notin (a,b),S/namespaces!=kube-system,S/names!=x'), {
    notClusters: ['a', 'b'],
    notNamespaces: ['kube-system'],
    notNames: ['x'],
  });
  is(labels('S/clusters in (a,b),S/clusters!=b'), { clusters: ['a', 'b'], notClusters: ['b'] });
  is(labels('S/clusters in (a,b),S/clusters in (b,c)'), { clusters: ['b'] });
  is(labels('S/clusters,S/names'), {});
  refused(() => labels('!S/clusters'), /operators = != in notin/);
  refused(() => labels('S/limit>5'), /takes only the operators = and in/);
  refused(() => labels('S/owner-uid!=u'), /takes only/);
  refused(() => labels('S/owner-uid in (a,b)'), /takes one value/);
  refused(() => labels('S/with-continue!=true'), /is a flag/);
});

test('a window of creation in every form of time (CP-017)', () => {
  const [since, before] = [Date.UTC(2022, 2, 4), Date.UTC(2022, 2, 15)];
  is(ask('since=2022-03-04&before=2022-03-15'), { createdSinceMs: since, createdBeforeMs: before });
  is(labels('S/since=2022-03-04,S/before=2022-03-15'), { createdSinceMs: since, createdBeforeMs: before });
  for (const time of [
    '2022-03-04T00:00:00Z',
    '2022-03-04T02:00:00%2B02:00',
    '2022-03-03T22:30:00-01:30',
    '2022-03-04+00:00:00',
    '2022-03-04%2000:00:00',
    '1646352000',
    '1646352000000',
    '20220304T000000Z',
  ])
    is(ask(`since=${time}`), { createdSinceMs: since });
  is(labels('S/since=20220304T000000Z'), { createdSinceMs: since });
  // As Go reads times: an hour of one digit, and parts of a second that the form does not have.
  for (const time of ['2022-03-04+9:00:00', '2022-03-04T9:00:00Z', '2022-03-04+09:00:00.000'])
    is(ask(`since=${time}`), { createdSinceMs: since + 9 * 3_600_000 });
  is(ask('since=2022-03-04+00:00:00.5'), { createdSinceMs: since + 500 });
  is(ask('since=2022-03-04T00:00:00.0000001Z'), { createdSinceMs: since + 1 });
  is(ask('since=2022-03-04&before=2022-03-04'), { createdSinceMs: since, createdBeforeMs: since });
  for (const time of [
    '2022-03-04T00:00:00',
    '2022-02-30',
    '2022-03-04T00:00:00+02:00',
    '2022',
    '123456789012',
    'yesterday',
    '-1646352000',
    '2022-03-04 25:00:00',
  ])
    refused(`since=${time}`, /is not a time/);
  refused('since=2022-03-15&before=2022-03-04', /later than before/);
});

test('fuzzy names are literal texts that must all be in the name', () => {
  is(labels('internalstorage.clusterpedia.io/fuzzy-name in (a_b,c)'), { nameContains: ['a_b', 'c'] });
  // Two labels say two things, whatever values each of them has.
  is(labels('internalstorage.clusterpedia.io/fuzzy-name=b,internalstorage.clusterpedia.io/fuzzy-name=a'), {
    nameContains: ['b', 'a'],
  });
  is(ask('nameContains=%25&text=Web'), { nameContains: ['%'], text: ['Web'] });
  refused(() => labels('internalstorage.clusterpedia.io/fuzzy-name!=a'), /takes only/);
});

test('an order of columns and paths, and nothing else (CP-035 to CP-039)', () => {
  const key = (by: ListQuery['order'][number]['by'], descending = false) => ({ by, descending });
  is(ask('orderby=namespace,name,cluster,resource_version'), {
    order: [key('namespace'), key('name'), key('cluster'), key('resource_version')],
  });
  is(ask('orderby=namespace, name desc,cluster desc ,created_at asc'), {
    order: [key('namespace'), key('name', true), key('cluster', true), key('created_at')],
  });
  is(ask("orderby=.status.podIP desc,metadata.labels['a, b']"), {
    order: [key(parsePath('status.podIP'), true), key(parsePath("metadata.labels['a, b']"))],
  });
  refused("orderby=JSON_EXTRACT(object,'$.status.podIP')", /orderby cannot sort|invalid field path/);
  for (const order of [
    '(select 1)',
    'f1 f2',
    'f1 f2 desc',
    'podIP',
    'desc',
    'name;drop',
    'spec.containers[].image',
    'name desc desc',
  ])
    refused(`orderby=${encodeURIComponent(order)}`, /orderby cannot sort|invalid field path/);
  refused(`orderby=${Array(17).fill('name').join()}`, /more than 16/);
});

test('a limit, none when it is 0 or less, at most 5000 with a warning (CP-040 to CP-043)', () => {
  assert.equal(ask('limit=10').page.limit, 10);
  for (const limit of ['0', '-1', '-2', '']) assert.equal(ask(`limit=${limit}`).page.limit, undefined);
  assert.equal(labels('S/limit=7').page.limit, 7);
  assert.equal(labels('S/size=7').page.limit, 7);
  assert.equal(ask('limit=3&labelSelector=search.clusterpedia.io/limit=7').page.limit, 3);
  const large = ask('limit=9223372036854775807');
  assert.equal(large.page.limit, 5000);
  assert.match(large.pageWarnings[0]!, /limit .* 5000/);
  refused('limit=ten', /limit "ten" is not a whole number/);
});

test('a decimal continue is an offset, others that are not ours are refused (CP-044 to CP-047)', () => {
  assert.deepEqual(ask('continue=1').page, {
    limit: undefined,
    offset: 1,
    continueToken: undefined,
    continueStyle: 'decimal',
    withRemaining: false,
  });
  assert.equal(ask('limit=10&continue=1').page.offset, 1);
  assert.equal(labels('S/offset=4').page.offset, 4);
  for (const text of ['-1', 'abdfdf', '1.5', '1e3', '%00', '9'.repeat(20)])
    refused(`continue=${text}`, /neither a token .* nor an offset/);
  refused(() => labels('S/offset=a'), /nor an offset/);
  assert.equal(ask('continue=p1.abc').page.continueToken, 'p1.abc');
});

test('where to go on is told by a token, by an offset when that was asked for, or not at all', () => {
  assert.equal(ask('limit=5').page.continueStyle, 'opaque');
  for (const query of ['limit=5&withContinue', 'limit=5&withContinue=true', 'withContinue=yes'])
    assert.equal(ask(query).page.continueStyle, 'decimal');
  assert.equal(ask('limit=5&withContinue&continue=p1.x').page.continueStyle, 'opaque');
  for (const query of ['withContinue=false', 'withContinue=0&continue=5', 'withContinue=FALSE'])
    assert.equal(ask(query).page.continueStyle, 'none');
  assert.equal(labels('S/with-continue=true').page.continueStyle, 'decimal');
  assert.ok(ask('withRemainingCount').page.withRemaining && labels('S/with-remaining-count').page.withRemaining);
  assert.ok(
    !ask('withRemainingCount=false&labelSelector=search.clusterpedia.io/with-remaining-count').page.withRemaining,
  );
});

test('flags for metadata and events, by URL and by label', () => {
  assert.ok(
    ask('onlyMetadata').onlyMetadata && ask('onlyMetadata=true').onlyMetadata && !ask('onlyMetadata=0').onlyMetadata,
  );
  assert.ok(ask('injectEvents').injectEvents && labels('S/inject-events=true').injectEvents && !ask('').injectEvents);
});

test('SQL in a request is refused with a hint (CP-048 to CP-060, CP-062 to CP-067, CP-073 to CP-081, CP-083 to CP-087)', () => {
  for (const name of ['whereSQL', 'whereSQLStatement', 'whereSQLParam', 'whereSQLJSONParams'])
    for (const value of ['', '=1', '=A===&whereSQLParam=x']) refused(`${name}${value}`, /not supported.*filter=/);
});

test('without SQL nothing is filtered (CP-061, CP-082)', () => {
  is(ask('unknownParameter=1'), {});
});

test('values never become syntax (CP-068 to CP-072)', () => {
  for (const value of [" OR ('1' = '1", ' OR 1=1 --', " UNION SELECT NULL,'a'", '%', '_', "'; drop table x"]) {
    is(ask(`names=${encodeURIComponent(value).replaceAll('%2C', '')}`), { names: [value.trim().replaceAll(',', '')] });
    is(ask(`filter=${encodeURIComponent(`a.b="${value}"`)}`), {
      fields: [{ path: parsePath('a.b'), operator: 'Equals', values: [value] }],
    });
  }
});

test('owners (CP-088 to CP-096)', () => {
  is(ask('ownerUID=u&clusters=c'), { clusters: ['c'], owner: { uid: 'u', seniority: 0 } });
  is(labels('S/owner-uid=u,S/owner-seniority=1'), { owner: { uid: 'u', seniority: 1 } });
  is(labels('S/owner-uid=u,internalstorage.clusterpedia.io/owner-seniority=1'), { owner: { uid: 'u', seniority: 1 } });
  is(ask('ownerName=n'), { owner: { name: 'n', seniority: 0 } });
  is(ask('ownerUID=u&ownerName=n&ownerGR=x.y'), { owner: { uid: 'u', seniority: 0 } });
  is(ask('ownerName=n&ownerGR=deployments.apps'), {
    owner: { name: 'n', type: { group: 'apps', resource: 'deployments' }, seniority: 0 },
  });
  is(labels('S/owner-name=n,S/owner-gr=pods'), { owner: { name: 'n', type: pods, seniority: 0 } });
  refused('ownerSeniority=1&ownerGR=deployments.apps', /add ownerUID or ownerName/);
  is(ask('ownerSeniority=0'), {});
  is(ask('clusters=a,b&ownerUID=u'), { clusters: ['a', 'b'], owner: { uid: 'u', seniority: 0 } });
  is(ask('ownerUID=u&ownerSeniority=1&namespaces=a,b'), { namespaces: ['a', 'b'], owner: { uid: 'u', seniority: 1 } });
  is(ask('ownerName=n&namespaces=a,b'), {
    namespaces: ['a', 'b'],
    owner: { name: 'n', namespaces: ['a', 'b'], seniority: 0 },
  });
  for (const seniority of ['-1', '9', 'x', '1.5']) refused(`ownerUID=u&ownerSeniority=${seniority}`, /0 to 8/);
});

test('the forward label in a query asks for the member (CP-131)', () => {
  assert.ok(takeForwardLabel('search.clusterpedia.io/forward,a=1').forward && !takeForwardLabel('a=1').forward);
  assert.deepEqual(labels('S/forward,a=1').query, labels('a=1').query);
});

test('of repeated parameters the first counts, of filter each (CP-145)', () => {
  is(ask('names=a&names=b'), { names: ['a'] });
  const equals = (path: string, ...values: string[]) => ({
    path: parsePath(path),
    operator: 'Equals' as const,
    values,
  });
  is(ask('filter=a.b=1&filter=c.d=2,e.f=3'), {
    fields: [equals('a.b', '1')],
    anyOf: [[equals('c.d', '2'), equals('e.f', '3')]],
  });
  assert.equal(ask('names=a%2Bb+c').query.names?.[0], 'a+b c');
});

test('selectors as the Go client builds them (CP-166 to CP-173)', () => {
  is(labels('S/clusters in (aaa,bbb,ccc)'), { clusters: ['aaa', 'bbb', 'ccc'] });
  is(labels('S/clusters in (aaa,bbb,ccc),S/namespaces=ddd'), { clusters: ['aaa', 'bbb', 'ccc'], namespaces: ['ddd'] });
  is(labels('S/clusters=aaa,S/namespaces in (bbb,ccc,ddd)'), { clusters: ['aaa'], namespaces: ['bbb', 'ccc', 'ddd'] });
  is(labels('S/orderby in (cluster,name_desc,created_at)'), {
    order: [
      { by: 'cluster', descending: false },
      { by: 'created_at', descending: false },
      { by: 'name', descending: true },
    ],
  });
  is(labels('S/orderby=created_at_desc'), { order: [{ by: 'created_at', descending: true }] });
  is(labels('S/orderby=name_desc,S/orderby=cluster'), {
    order: [
      { by: 'name', descending: true },
      { by: 'cluster', descending: false },
    ],
  });
  assert.ok(labels('S/orderby=name,S/with-remaining-count=true').page.withRemaining);
  is(labels('a=b,S/clusters=aaa'), { clusters: ['aaa'], labels: [{ key: 'a', operator: 'In', values: ['b'] }] });
  is(labels(''), {});
});

test('search labels nobody knows are named in a warning, other keys of clusterpedia.io are labels of objects', () => {
  const asked = labels('S/forward-something=true,x.clusterpedia.io/y=1');
  assert.deepEqual(asked.query.labels, [{ key: 'x.clusterpedia.io/y', operator: 'In', values: ['1'] }]);
  assert.match(asked.warnings[0]!, /"search.clusterpedia.io\/forward-something" is not known/);
});

test('a JSON document asks the same as a URL', () => {
  const json = readQuery(
    jsonParameters({
      clusters: ['a', 'b,c'],
      labelSelector: 'x=1',
      fieldSelector: 'a.b=2',
      filter: ['c.d=3,e.f=4'],
      orderby: ['name desc', 'cluster'],
      since: '2022-03-04',
      limit: 10,
      withRemainingCount: true,
      fields: ['metadata.name', "metadata.labels['a,b']"],
      names: null,
    }),
    { types: [pods] },
  );
  const url = ask(
    "clusters=a,X&labelSelector=x=1&fieldSelector=a.b=2&filter=c.d=3,e.f=4&orderby=name desc,cluster&since=2022-03-04&limit=10&withRemainingCount&fields=metadata.name,metadata.labels['a,b']",
  );
  const clusters = ['a', 'b,c'];
  const { query, conditions } = url;
  assert.deepEqual(json, { ...url, query: { ...query, clusters }, conditions: { ...conditions, clusters } });
  assert.equal(json.fields?.length, 2);
  for (const document of [
    null,
    [],
    'x',
    { limit: 1.5 },
    { clusters: [1] },
    { clusters: { a: 1 } },
    { withContinue: 'yes' },
    { since: {} },
  ])
    refused(() => readQuery(jsonParameters(document), { types: [pods] }), /query document/);
});

test('a text where a JSON document may have a list is read as a URL reads it, but a filter keeps its commas', () => {
  const json = readQuery(jsonParameters({ clusters: 'a,b', names: ' n1', filter: 'c.d=3,e.f=4' }), { types: [pods] });
  assert.deepEqual(json, ask('clusters=a,b&names= n1&filter=c.d=3,e.f=4'));
  assert.deepEqual(json.query.clusters, ['a', 'b']);
  assert.deepEqual(jsonParameters({ resource: 'pods.v1.,deployments.v1.apps' }).list('resource'), [
    'pods.v1.',
    'deployments.v1.apps',
  ]);
  assert.deepEqual(readQuery(jsonParameters({ clusters: '' }), { types: [pods] }), ask('clusters='));
});

test('what is over a limit or no text is refused', () => {
  refused(`names=${'a,'.repeat(10_001)}`, /more than 10000 items/);
  refused('a&'.repeat(2049), /more than 2048/);
  refused('x'.repeat(300_000), /longer than/);
  for (const query of ['a=%', 'a=%zz', 'names=%ff%fe', '%c0%80']) refused(query, /percent-encoded UTF-8/);
  refused(`nameContains=${'a'.repeat(1025)}`, /longer than 1024/);
  refused(`fields=${'a,'.repeat(300)}a`, /more than 256/);
  refused(`fieldSelector=${'a[0]'.repeat(1)}${'[0]'.repeat(40)}.b=1`, /more than 32 steps/);
});
