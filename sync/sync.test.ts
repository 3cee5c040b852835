import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeFakeMember } from './fake-member.fixture.ts';
import { crdType } from './discover/discovery.ts';
import { until } from './follow/follow.fixture.ts';
import { typeKey } from '../query/types.ts';
import {
  pods,
  crds,
  widgets,
  kinds,
  podType,
  widgetType,
  specOf,
  site,
  memberWith,
  podNames,
  stateOf,
  widgetCrd,
} from './sync.fixture.ts';

describe('sync', () => {
  it('follows what is chosen, and beside it what decides rights', async (t) => {
    const { clusters, store, members, start } = site(t);
    members.set('m1', memberWith('p1'));
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.deepEqual(podNames(store), ['a/p1']));
    await until(() =>
      assert.equal(
        handle.state()[0]?.types.every(({ phase }) => phase === 'watching'),
        true,
      ),
    );
    const followed = handle.state()[0]!.types.map(({ type, isChosen }) => [type.resource, isChosen]);
    assert.deepEqual(followed.toSorted(), [
      ['clusterroles', false],
      ['customresourcedefinitions', false],
      ['namespaces', false],
      ['pods', true],
    ]);
    assert.deepEqual(handle.state()[0]?.incarnation, { id: 'r1/life-1', cluster: 'm1' });
    assert.ok(handle.confirmedAtMs('r1/life-1', podType)! > 0);
    assert.equal(handle.confirmedAtMs('r1/life-2', podType), undefined);
    assert.equal(
      members.get('m1')!.asked.some((path) => path.startsWith('/api/v1/secrets')),
      false,
    );
  });

  it('follows a type from the moment its CRD is there, in its storage version, until it is gone', async (t) => {
    const { clusters, store, members, start } = site(t);
    const member = memberWith();
    const served: Record<string, string> = { ...kinds };
    const grown = makeFakeMember(served, new Set([pods, widgets]));
    members.set('m1', grown);
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.equal(stateOf(handle, 'customresourcedefinitions')?.phase, 'watching'));
    assert.match(JSON.stringify(handle.state()[0]?.refused), /widgets\.example\.com/);
    served['/apis/example.com/v2/widgets'] = 'Widget';
    served[widgets] = 'Widget';
    grown.put(crds, widgetCrd);
    grown.put(widgets, { namespace: 'a', name: 'w1' });
    await until(() => assert.deepEqual(Object.keys(store.rows(widgetType)), ['a/w1']));
    const { type } = stateOf(handle, 'widgets')!;
    assert.deepEqual([type.version, type.versions, type.convertible], ['v1', ['v2', 'v1'], true]);
    assert.deepEqual(type.printerColumns?.['v1'], [{ name: 'Size', type: 'string', jsonPath: '.spec.size' }]);
    delete served[widgets];
    delete served['/apis/example.com/v2/widgets'];
    grown.endWatches();
    grown.remove(crds, widgetCrd);
    await until(() => assert.deepEqual(Object.keys(store.rows(widgetType)), []));
    assert.equal(stateOf(handle, 'widgets'), undefined);
    assert.equal(member.asked.length, 0);
  });

  it('follows a type that discovery names only some time after its CRD is there', async (t) => {
    const { clusters, store, members, start } = site(t);
    const served: Record<string, string> = { ...kinds };
    const member = makeFakeMember(served, new Set([pods, widgets]));
    let isServed = false;
    let looks = 0;
    members.set('m1', {
      ...member,
      async ask(question) {
        if (question.path === '/apis') looks += 1;
        if (question.path === '/apis' && !isServed) delete served[widgets];
        const answer = await member.ask(question);
        served[widgets] = 'Widget';
        return answer;
      },
    });
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.equal(stateOf(handle, 'customresourcedefinitions')?.phase, 'watching'));
    const before = looks;
    member.put(crds, widgetCrd);
    member.put(widgets, { namespace: 'a', name: 'w1' });
    await until(() => assert.ok(looks > before + 2));
    isServed = true;
    await until(() => assert.deepEqual(Object.keys(store.rows(widgetType)), ['a/w1']));
  });

  it('rows of a type are kept while its server is only missing from discovery', async (t) => {
    const { clusters, store, members, start } = site(t);
    const served: Record<string, string> = { ...kinds };
    const member = makeFakeMember(served, new Set([pods]));
    member.put(pods, { namespace: 'a', name: 'p1' });
    members.set('m1', member);
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.equal(stateOf(handle, 'pods')?.phase, 'watching'));
    // Discovery does not name pods any more; asked itself, the member still has them.
    const hidden = member.ask;
    members.set('m1', {
      ...member,
      async ask(question) {
        if (question.path !== '/api') return await hidden(question);
        delete served[pods];
        const answer = await hidden(question);
        served[pods] = 'Pod';
        return answer;
      },
    });
    const before = member.asked.length;
    member.put(crds, widgetCrd);
    await until(() => assert.ok(member.asked.slice(before).includes('/api')));
    await until(() => assert.ok(member.asked.slice(before).some((path) => path === `${pods}?limit=1`)));
    member.put(pods, { namespace: 'a', name: 'p2' });
    await until(() => assert.deepEqual(podNames(store), ['a/p1', 'a/p2']));
  });

  it('a member made anew behind the same address loses every row of its former life first', async (t) => {
    const { clusters, store, members, start } = site(t);
    const member = memberWith('old-1', 'old-2');
    members.set('m1', member);
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.equal(stateOf(handle, 'pods')?.phase, 'watching'));
    const batches = store.batches.length;
    const next = memberWith('new-1');
    next.uid = 'life-2';
    members.set('m1', next);
    member.endWatches();
    await until(() => assert.deepEqual(podNames(store), ['a/new-1']));
    assert.deepEqual(store.forgotten, ['r1/life-1']);
    assert.ok(store.batches.slice(batches).every(({ incarnation }) => incarnation.id === 'r1/life-2'));
    assert.deepEqual(handle.state()[0]?.incarnation?.id, 'r1/life-2');
  });

  it('a member that was exchanged while no process ran is noticed before anything is resumed', async (t) => {
    const { clusters, store, members, start } = site(t);
    members.set('m1', memberWith('old'));
    clusters.apply('s', [specOf('m1', 'r1')]);
    const first = await start();
    await until(() => assert.deepEqual(podNames(store), ['a/old']));
    await first.close();
    const next = memberWith('x', 'y', 'z');
    next.uid = 'life-2';
    members.set('m1', next);
    await start();
    await until(() => assert.deepEqual(podNames(store), ['a/x', 'a/y', 'a/z']));
  });

  it('a removed record takes its rows along; another one of the same name begins with none', async (t) => {
    const { clusters, store, members, start } = site(t);
    members.set('m1', memberWith('p1'));
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.deepEqual(podNames(store), ['a/p1']));
    // A change of the former one is still on its way into the store.
    await until(() => assert.equal(stateOf(handle, 'pods')?.phase, 'watching'));
    const open = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const order: string[] = [];
    store.gate = async ({ incarnation }) => {
      reached.resolve();
      if (incarnation.id.startsWith('r1/')) await open.promise;
      order.push(incarnation.id.slice(0, 2));
    };
    members.get('m1')!.put(pods, { namespace: 'a', name: 'p2' });
    await reached.promise;
    members.set('m1', memberWith('q1'));
    clusters.apply('s', [specOf('m1', 'r2')]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    open.resolve();
    await until(() => assert.deepEqual(podNames(store), ['a/q1']));
    assert.deepEqual(order, order.toSorted(), 'nothing of the new one was written before the end of the former');
    assert.deepEqual(
      handle.state().map(({ uid }) => uid),
      ['r2'],
    );
    // The store cannot forget at first, as when its disk is full.
    store.forgetFaults = 2;
    clusters.apply('s', []);
    await until(() => assert.deepEqual(podNames(store), []));
    assert.deepEqual(handle.state(), []);
  });

  it('rows of a cluster that no source has named yet are kept; once all sources were read they go', async (t) => {
    const { clusters, store, members, start } = site(t);
    members.set('m1', memberWith('p1'));
    clusters.apply('s', [specOf('m1', 'r1')]);
    const first = await start();
    await until(() => assert.deepEqual(podNames(store), ['a/p1']));
    await first.close();
    clusters.apply('s', []);
    const known = Promise.withResolvers<void>();
    await start({ areClustersKnown: known.promise });
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(podNames(store), ['a/p1']);
    known.resolve();
    await until(() => assert.deepEqual(podNames(store), []));
  });

  it('a cluster that another process has taken over is not followed any more, says so, and keeps its rows', async (t) => {
    const { clusters, store, members, start } = site(t);
    const [taken, kept] = [memberWith('p1'), memberWith('p2')];
    members.set('m1', taken);
    members.set('m2', kept);
    clusters.apply('s', [specOf('m1', 'r1'), specOf('m2', 'r2')]);
    store.epochs.set(1, 5).set(2, 5);
    const handle = await start({ writerOf: (uid) => ({ shard: uid === 'r1' ? 1 : 2, epoch: 5 }) });
    await until(() => assert.deepEqual(podNames(store), ['a/p1', 'a/p2']));
    await until(() => assert.equal(stateOf(handle, 'pods')?.phase, 'watching'));
    store.epochs.set(1, 6);
    taken.put(pods, { namespace: 'a', name: 'late' });
    await until(() => assert.equal(stateOf(handle, 'pods')?.phase, 'stopped'));
    const [one, two] = handle.state();
    assert.deepEqual([one!.fault?.reason, two!.fault], ['TakenOver', undefined]);
    assert.equal(handle.stateOf(new Set([typeKey(podType)]))[0]?.fault?.reason, 'TakenOver');
    const asked = taken.asked.length;
    kept.put(pods, { namespace: 'a', name: 'p3' });
    await until(() => assert.deepEqual(podNames(store), ['a/p1', 'a/p2', 'a/p3']));
    assert.equal(taken.asked.length, asked);
    clusters.apply('s', [specOf('m2', 'r2')]);
    await until(() =>
      assert.match(
        handle
          .state()
          .map(({ cluster }) => cluster)
          .join(),
        /^m2$/,
      ),
    );
    await handle.close();
    assert.deepEqual(podNames(store), ['a/p1', 'a/p2', 'a/p3']);
  });

  it('a cluster that is written by another process is neither followed nor forgotten', async (t) => {
    const { clusters, store, members, start } = site(t);
    members.set('m1', memberWith('p1'));
    members.set('m2', memberWith('p2'));
    clusters.apply('s', [specOf('m1', 'r1'), specOf('m2', 'r2')]);
    const first = await start();
    await until(() => assert.deepEqual(podNames(store), ['a/p1', 'a/p2']));
    await first.close();
    store.epochs.set(2, 1);
    clusters.apply('s', [specOf('m2', 'r2')]);
    const handle = await start({ writerOf: (uid) => (uid === 'r2' ? { shard: 2, epoch: 1 } : undefined) });
    clusters.apply('s', [specOf('m1', 'r1'), specOf('m2', 'r2')]);
    await until(() => assert.equal(stateOf(handle, 'pods')?.phase, 'watching'));
    assert.deepEqual(
      handle.state().map(({ cluster }) => cluster),
      ['m2'],
    );
    clusters.apply('s', []);
    await until(() => assert.deepEqual(podNames(store), ['a/p1']));
  });

  it('a member that does not answer keeps its rows, is named, and does not keep others', async (t) => {
    const { clusters, store, members, start } = site(t);
    members.set('m1', memberWith('p1'));
    clusters.apply('s', [specOf('m1', 'r1')]);
    const first = await start();
    await until(() => assert.equal(stateOf(first, 'pods')?.phase, 'watching'));
    const confirmed = first.confirmedAtMs('r1/life-1', podType);
    await first.close();
    members.get('m1')!.fault = () => 503;
    members.set('m2', memberWith('p2'));
    clusters.apply('s', [specOf('m1', 'r1'), specOf('m2', 'r2')]);
    const handle = await start();
    await until(() => assert.deepEqual(podNames(store), ['a/p1', 'a/p2']));
    const [one, two] = handle.state();
    assert.match(one!.fault!.message, /m1.*503/);
    assert.equal(one!.types.find(({ type }) => type.resource === 'pods')?.phase, 'waiting');
    assert.equal(handle.confirmedAtMs('r1/life-1', podType), confirmed);
    assert.equal(two!.fault, undefined);
    await until(() => {
      const [down, well] = handle.stateOf(new Set([typeKey(podType)]));
      assert.deepEqual(
        [down?.cluster, down?.fault, down?.types.map(({ phase }) => phase)],
        ['m1', one!.fault, ['waiting']],
      );
      assert.deepEqual(
        [well?.cluster, well?.types, well?.hasTypes],
        ['m2', [], true],
        'there is nothing to tell of it',
      );
    });
  });

  it('what the member forbids is named; everything else is followed', async (t) => {
    const { clusters, store, members, start } = site(t);
    const member = memberWith('p1');
    member.fault = ({ path }) => (path.startsWith(crds) ? 403 : undefined);
    members.set('m1', member);
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.deepEqual(podNames(store), ['a/p1']));
    assert.match(
      JSON.stringify(handle.state()[0]?.refused),
      /customresourcedefinitions.*forbidden to portcullis:index/,
    );
    await until(() => assert.equal(stateOf(handle, 'customresourcedefinitions')?.fault?.reason, 'Forbidden'));
    assert.equal(handle.state()[0]?.fault, undefined);
    const crdsOf = handle.stateOf(new Set([typeKey(crdType)]))[0]?.types;
    assert.equal(crdsOf?.[0]?.fault?.reason, 'Forbidden');
  });

  it('a label and the fields of a PediaCluster choose for their cluster; what is no longer chosen is forgotten', async (t) => {
    const { clusters, store, members, start } = site(t);
    members.set('m1', memberWith('p1'));
    clusters.apply('s', [specOf('m1', 'r1')]);
    const handle = await start();
    await until(() => assert.equal(stateOf(handle, 'pods')?.phase, 'watching'));
    const indexing = { resources: [{ group: '', resource: 'secrets', versions: [] }], allCustomResources: false };
    clusters.apply('s', [specOf('m1', 'r1', { indexing })]);
    await until(() => assert.equal(stateOf(handle, 'secrets')?.phase, 'watching'));
    await until(() => assert.deepEqual(podNames(store), []));
    clusters.apply('s', [
      specOf('m1', 'r1', { indexing, labels: { 'search.portcullis.io/resources': 'pods_secrets' } }),
    ]);
    await until(() => assert.deepEqual(podNames(store), ['a/p1']));
    clusters.apply('s', [specOf('m1', 'r1', { labels: { 'search.portcullis.io/resources': 'none' } })]);
    await until(() => assert.deepEqual(handle.state(), []));
    await until(() => assert.deepEqual(podNames(store), []));
  });
});
