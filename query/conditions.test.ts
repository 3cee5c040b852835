import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../model/errors.ts';
import { takeForwardLabel } from './selectors/forward-label.ts';
import { allOf, type ListQuery } from './list-query.ts';
import { urlParameters } from './parameters.ts';
import { parsePath } from './path.ts';
import { readQuery, type AskedQuery, type PathTarget } from './read/read-query.ts';

const pods = { group: '', resource: 'pods' };

function ask(query: string, target: Partial<PathTarget> = {}): AskedQuery {
  return readQuery(urlParameters(query), { types: [pods], ...target });
}

function is(asked: AskedQuery, part: Partial<ListQuery>): void {
  assert.deepEqual(asked.query, { ...allOf(pods), ...part });
}

function refused(query: string, message: RegExp): void {
  assert.throws(
    () => ask(query),
    (error) => {
      assert.ok(error instanceof GatewayError && error.code === 'BAD_REQUEST', String(error));
      assert.match(error.message, message);
      return true;
    },
  );
}

test('filters: alternatives, quotes, sets and every operator', () => {
  const of = (filter: string): unknown => {
    const { fields, anyOf } = ask(`filter=${encodeURIComponent(filter)}`).query;
    return [...fields.map((field) => [field]), ...anyOf].map((any) =>
      any.map(({ operator, values }) => [operator, ...values]),
    );
  };
  assert.deepEqual(of('status.phase=Failed, status.phase = Unknown one '), [
    [
      ['Equals', 'Failed'],
      ['Equals', 'Unknown one'],
    ],
  ]);
  assert.deepEqual(of('a.b in (x, "y, )", z),a.b notin ()'), [
    [
      ['In', 'x', 'y, )', 'z'],
      ['NotIn', ''],
    ],
  ]);
  assert.deepEqual(of('a.b~x,a.b!=y,a.b==z'), [
    [
      ['Contains', 'x'],
      ['NotEquals', 'y'],
      ['Equals', 'z'],
    ],
  ]);
  assert.deepEqual(of("a['k=1, x'].b>1Gi,a.b<2"), [
    [
      ['Gt', '1Gi'],
      ['Lt', '2'],
    ],
  ]);
  assert.deepEqual(of('a.b, !a.c'), [[['Exists'], ['DoesNotExist']]]);
  assert.deepEqual(of("a.b=x\\,y\\ ,a.c= 'in (' "), [
    [
      ['Equals', 'x,y '],
      ['Equals', 'in ('],
    ],
  ]);
  assert.deepEqual(of('a.in=in'), [[['Equals', 'in']]]);
  for (const filter of [
    ',',
    'a,',
    '=x',
    'a.b in (x',
    'a.b in x',
    'a.b="x',
    'a.b="x"y',
    'a.b>high',
    'a b',
    'a.b~',
    '(a=b)',
    'a$b=1',
  ])
    refused(`filter=${encodeURIComponent(filter)}`, /filter|invalid field path|cannot be compared/);
  refused(`filter=${'a,'.repeat(300)}a`, /more than 256 terms/);
});

test('conditions on name, namespace and uid become conditions on keys', () => {
  is(ask('fieldSelector=metadata.name=a,metadata.namespace!=b'), { names: ['a'], notNamespaces: ['b'] });
  is(ask('filter=name in (a,b)&filter=metadata.uid=u&fieldSelector=metadata.name!=a'), {
    names: ['a', 'b'],
    notNames: ['a'],
    uids: ['u'],
  });
  is(ask('fieldSelector=metadata.namespace=other', { namespace: 'ns' }), { namespaces: [] });
  is(ask('filter=cluster=a&filter=cluster!=b'), { clusters: ['a'], notClusters: ['b'] });
  is(ask('clusters=a,b&filter=cluster in (b,c)'), { clusters: ['b'] });
  const namespace = { path: parsePath('metadata.namespace'), operator: 'Equals' as const, values: [''] };
  is(ask('fieldSelector=metadata.namespace='), { fields: [namespace] });
});

test('a native field that is missing counts as its default, of any other path nothing equals nothing', () => {
  const condition = (
    path: string,
    operator: 'Equals' | 'Exists' | 'DoesNotExist' | 'NotEquals',
    ...values: string[]
  ) => ({ path: parsePath(path), operator, values });
  const free = [condition('spec.nodeName', 'Equals', ''), condition('spec.nodeName', 'DoesNotExist')];
  is(ask('fieldSelector=spec.nodeName='), { anyOf: [free] });
  is(ask('fieldSelector=spec.nodeName!='), {
    fields: [condition('spec.nodeName', 'NotEquals', ''), condition('spec.nodeName', 'Exists')],
  });
  is(ask('fieldSelector=spec.nodeName=n,spec.other='), {
    fields: [condition('spec.nodeName', 'Equals', 'n'), condition('spec.other', 'Equals', '')],
  });
  is(ask('filter=spec.nodeName='), { fields: [condition('spec.nodeName', 'Equals', '')] });
});

test('the forward label is taken out of a selector (CP-130 to CP-136)', () => {
  const take = (selector: string): unknown => {
    const taken = takeForwardLabel(selector.replaceAll('F', 'search.clusterpedia.io/forward'));
    return [taken.selector.replaceAll('search.clusterpedia.io/forward', 'F'), taken.forward];
  };
  for (const selector of ['', 'b=1,a=2', 'a=1,F-something=true', ',,,', 'F=b_', 'a b,F'])
    assert.deepEqual(take(selector), [selector, false]);
  for (const selector of ['F', 'F=true', 'F in (true)']) assert.deepEqual(take(selector), ['', true]);
  for (const selector of ['F,b=1,a=2', 'b=1,F,a=2', 'b=1,a=2,F', 'b=1,F=true,a=2'])
    assert.deepEqual(take(selector), ['a=2,b=1', true]);
  assert.deepEqual(take('env in (prod,stage),F,tier=frontend'), ['env in (prod,stage),tier=frontend', true]);
  assert.deepEqual(take('a=1,b!=2,F'), ['a=1,b!=2', true]);
  assert.deepEqual(take('F,F-something=true'), ['F-something=true', true]);
  assert.deepEqual(take('a=1,F=false'), ['a=1', false]);
});
