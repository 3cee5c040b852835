import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredType } from '../../store/store.ts';
import type { ClusterState, PartState, TypeState } from '../../sync/member/sync-types.ts';
import { typeKey, type TypeKey } from '../../query/types.ts';
import type { TypeInfo } from '../../query/types.ts';
import type { Grant } from '../../query/scope/scope.ts';
import { catalogOf, makeCatalogReader, scopeOfViews, servedTypes, typeView } from './catalog.ts';
import { clusterWarnings, prunedWarnings } from './cluster-warnings.ts';

const widgets = { group: 'x.io', resource: 'widgets' };

function typeOf(version: string, versions: readonly string[] = [version], convertible = false): TypeInfo {
  return {
    ...widgets,
    version,
    versions,
    kind: 'Widget',
    singular: 'widget',
    shortNames: [],
    categories: [],
    namespaced: true,
    convertible,
  };
}
function stored(cluster: string, type: TypeInfo): StoredType {
  const position = { resourceVersion: '1', confirmedAtMs: 1 };
  return { incarnation: { id: `${cluster}/1`, cluster }, type, position, objects: 1 };
}
const scopeOf = (...clusters: readonly string[]) => ({
  grants: new Map(clusters.map((cluster) => [`${cluster}/1`, new Map([['widgets.x.io', 'all' as const]])])),
  digest: clusters.join(),
});

test('a version is the stored one, the same object by another name, or not to be had here', () => {
  const catalog = catalogOf([
    stored('same', typeOf('v1', ['v1', 'v1beta1'])),
    stored('none', typeOf('v1beta1', ['v1beta1', 'v1'], true)),
    stored('other', typeOf('v1beta1', ['v1beta1', 'v1'])),
    stored('old', typeOf('v1beta1')),
  ]);
  const view = typeView(catalog, widgets, 'v1', () => true)!;
  assert.equal(view.apiVersion, 'x.io/v1');
  assert.deepEqual([...view.rewritten], ['none/1']);
  assert.deepEqual([...view.leftOut.keys()], ['other/1', 'old/1']);
  const shown = scopeOfViews(scopeOf('same', 'none', 'other'), [view], catalog);
  assert.deepEqual(
    [...shown.scope.grants].flatMap(([id, types]) => (types.size > 0 ? [id] : [])),
    ['same/1', 'none/1'],
  );
  // What the caller may see nothing of is not named.
  assert.deepEqual(
    shown.warnings.map(({ cluster }) => cluster),
    ['other'],
  );
  assert.match(shown.warnings[0]!.text, /keeps widgets as x.io\/v1beta1; ask \/clusters\/other\/proxy for x.io\/v1/);
  assert.notEqual(shown.scope.digest, scopeOf('same', 'none', 'other').digest);
});

test('a version that no known cluster serves is none, and one that a member serves but nobody keeps is a view of nothing', () => {
  const catalog = catalogOf([stored('a', typeOf('v1', ['v1', 'v1beta1']))]);
  assert.equal(
    typeView(catalog, widgets, 'v3', () => true),
    undefined,
  );
  assert.equal(
    typeView(catalog, widgets, 'v1', () => false),
    undefined,
  );
  assert.deepEqual([...typeView(catalog, widgets, 'v1beta1', () => true)!.leftOut.keys()], ['a/1']);
});

function state(changes: Partial<TypeState> = {}): TypeState {
  return {
    type: typeOf('v1'),
    isChosen: true,
    phase: 'watching',
    isWhole: true,
    objects: 1,
    rate: 0,
    lagMs: 0,
    confirmedAtMs: 1_000,
    fault: undefined,
    ...changes,
  };
}
function cluster(name: string, types: readonly TypeState[], fault?: ClusterState['fault']): ClusterState {
  return { cluster: name, uid: name, incarnation: { id: `${name}/1`, cluster: name }, fault, types, refused: [] };
}

const partOf = (state: ClusterState): PartState => ({ ...state, hasTypes: state.types.length > 0 });

test('what is kept for rights alone is not served; what is chosen is there before its first row', () => {
  const rights = stored('a', typeOf('v1'));
  assert.deepEqual(
    servedTypes([rights], [cluster('a', [state({ isChosen: false })])], () => true),
    [],
  );
  assert.deepEqual(
    servedTypes([rights], [], () => false),
    [],
  );
  assert.equal(servedTypes([], [cluster('a', [state()])], () => false)[0]!.type.resource, 'widgets');
});

test('warnings name clusters in reach whose rows are missing or old, with the age, and types of which the caller may see something (ATT-51)', () => {
  const unavailable = { reason: 'Unavailable', message: 'connection refused' } as const;
  const states = [
    cluster('coming', [state({ isWhole: false, phase: 'listing', listed: { done: 5, of: 10 } })]),
    cluster('down', [state({ phase: 'failing', fault: unavailable })]),
    cluster('fine', [state()]),
    cluster('hidden', [state()]),
    cluster('secret', [state({ isWhole: false })]),
    // In reach, and nobody's rights in it are known.
    cluster('unread', [state({ isWhole: false, phase: 'listing', fault: unavailable })], {
      ...unavailable,
      message: 'no route',
    }),
    cluster('unread-yet', [state({ isWhole: false, phase: 'failing', fault: unavailable })]),
    // In reach, and nothing in it is theirs.
    cluster('walled', [state({ isWhole: false, phase: 'listing', listed: { done: 5, of: 10 } })]),
    cluster('walled-down', [state({ phase: 'failing', fault: unavailable })]),
  ];
  const seen = new Map([[typeKey(widgets), 'all' as const]]);
  const answer = {
    scope: { digest: '', grants: new Map(['coming/1', 'down/1', 'fine/1'].map((id) => [id, seen])) },
    reachable: new Map(
      ['coming', 'down', 'fine', 'hidden', 'unread', 'unread-yet', 'walled', 'walled-down'].map((name) => [
        name,
        new Set(seen.keys()),
      ]),
    ),
    unread: new Set(['unread', 'unread-yet']),
    hidden: [{ cluster: 'hidden', reason: 'RightsStale', message: 'nothing of cluster "hidden" is shown' }],
  } as const;
  const shown = (clusters?: readonly string[]): string[] =>
    clusterWarnings({ types: [widgets], clusters }, answer, states.map(partOf), 301_000).map(
      (each) => `${each.cluster}: ${each.text}`,
    );
  assert.deepEqual(shown(), [
    'coming: widgets.x.io not indexed yet (5 of 10 objects)',
    'down: widgets.x.io shown as of 5m ago: connection refused',
    'hidden: nothing of cluster "hidden" is shown',
    'unread: not indexed yet: no route',
    'unread-yet: not indexed yet',
  ]);
  assert.deepEqual(shown(['fine', 'secret']), []);
  assert.deepEqual(
    clusterWarnings({ types: [{ group: '', resource: 'pods' }], clusters: ['down'] }, answer, states.map(partOf), 0),
    [],
  );
});

test('objects that the index cannot store are counted and named to who may see all of the type, and to no one else (ATT-51, ATT-59)', () => {
  const leftOut = { count: 2, example: 'shop/x (its name has 600 bytes, more than 512)' };
  const states = [cluster('a', [state({ leftOut })]), cluster('unchosen', [state({ leftOut, isChosen: false })])];
  const shown = (grant: Grant): readonly string[] => {
    const grants = new Map(['a/1', 'unchosen/1'].map((id) => [id, new Map([[typeKey(widgets), grant]])]));
    const reachable = new Map(['a', 'unchosen'].map((name) => [name, new Set([typeKey(widgets)])]));
    const answer = { scope: { digest: '', grants }, reachable, unread: new Set<string>(), hidden: [] };
    const asked = { types: [widgets], clusters: undefined };
    return clusterWarnings(asked, answer, states.map(partOf), 0).map(({ cluster: of, text }) => `${of}: ${text}`);
  };
  assert.deepEqual(shown('all'), [
    `a: 2 objects are missing in widgets.x.io, the index cannot store such: ${leftOut.example}`,
  ]);
  const some = ['a: some widgets.x.io may be missing: the index cannot store them'];
  assert.deepEqual(shown({ namespaces: ['shop'], names: [] }), some);
  assert.deepEqual(shown({ namespaces: [], names: [] }), []);
});

test('how many objects a list that is being read has is told to who may see all of the type, and to no one else (ATT-51)', () => {
  const states = [cluster('a', [state({ isWhole: false, phase: 'listing', listed: { done: 5, of: 10 } })])];
  const shown = (grant: Grant): readonly string[] => {
    const scope = { digest: '', grants: new Map([['a/1', new Map([[typeKey(widgets), grant]])]]) };
    const answer = { scope, reachable: new Map([['a', new Set<TypeKey>()]]), unread: new Set<string>(), hidden: [] };
    const asked = { types: [widgets], clusters: undefined };
    return clusterWarnings(asked, answer, states.map(partOf), 0).map(({ text }) => text);
  };
  assert.deepEqual(shown('all'), ['widgets.x.io not indexed yet (5 of 10 objects)']);
  for (const some of [
    { namespaces: ['shop'], names: [] },
    { namespaces: [], names: [{ namespace: undefined, name: 'a' }] },
  ])
    assert.deepEqual(shown(some), ['widgets.x.io not indexed yet']);
});

test('the catalog is made anew when types of the store or what is followed have changed, and not before', async () => {
  let nowMs = 0;
  let stored: readonly StoredType[] = [];
  const sync = { version: 1, state: (): readonly ClusterState[] => [] };
  const read = makeCatalogReader({ types: async () => stored, sync, isChosen: () => true }, 500, () => nowMs);
  const later = () => {
    nowMs += 501;
    return read();
  };
  const first = await read();
  assert.equal(await later(), first);
  stored = [...stored];
  assert.equal(await read(), first, 'it is not looked so soon again');
  const second = await later();
  assert.notEqual(second, first);
  sync.version = 2;
  const third = await later();
  assert.notEqual(third, second);
  assert.equal(await later(), third);
});

test('an empty catalog is read again as soon as something is known, and not only when it is old', async () => {
  const sync = { state: () => [], version: 1 };
  let known: readonly StoredType[] = [];
  const read = makeCatalogReader({ types: async () => known, sync, isChosen: () => true }, 500, () => 0);
  assert.deepEqual((await read()).all, []);
  known = [stored('one', typeOf('v1'))];
  sync.version = 2;
  assert.equal((await read()).all.length, 1);
});

test('pruned fields are told once for all clusters that keep a type without them, and no cluster is named that shows nothing', () => {
  const without = (...pruned: readonly string[]): TypeInfo => ({ ...typeOf('v1'), pruned });
  const names = ['a', 'b', 'c', 'd', 'hidden'];
  const catalog = catalogOf([
    ...names.map((name) => stored(name, without('data', 'spec.x'))),
    stored('other', without('status')),
    stored('whole', typeOf('v1')),
  ]);
  const scope = scopeOf('a', 'b', 'c', 'd', 'other', 'whole');
  const reported = (cluster?: string, clusters?: readonly string[]): readonly string[] =>
    prunedWarnings(catalog, [widgets], { cluster, clusters }, scope).map(({ text }) => text.split(':')[0]!);
  assert.deepEqual(reported(), [
    'widgets.x.io of clusters a, b, c and 1 more are kept without data, spec.x',
    'widgets.x.io of cluster other are kept without status',
  ]);
  assert.deepEqual(reported('b'), ['widgets.x.io of cluster b are kept without data, spec.x']);
  assert.deepEqual(reported(undefined, ['whole', 'hidden']), []);
});
