// Watches on the index over two simulated clusters, as client-go and kubectl use them; registered by index-api.test.ts,
// whose site they share. Objects keep their cluster's resourceVersion, so only lists and bookmarks say where to go on.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding } from './index-site.ts';
import type { IndexedList, IndexSite, Watching, WatchEvent } from './index-site.ts';

const proxy = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy';
const path = `${proxy}/api/v1/configmaps?labelSelector=watched%3Dyes`;
const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
const cluster = 'shadow.clusterpedia.io/cluster-name';

function configMap(
  name: string,
  place = 'shop',
  watched = 'yes',
  data: Record<string, string> = { at: 'first' },
): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: place, labels: { watched } }, data };
}

/** What there is to watch in a cluster before anything happens; the namespaces are those of the file. */
export function watchSeeds(name: 'alpha' | 'beta'): readonly JsonObject[] {
  return name === 'alpha' ? [configMap('there'), configMap('there', 'ops')] : [configMap('there')];
}

/**
 * Registers the tests; the last of them ends the gateway.
 * @param site the one of the file, once it runs
 * @param before registers what has to run before the gateway ends
 */
export function testWatches(site: () => IndexSite, before: () => void): void {
  const open: Watching[] = [];
  after(() => {
    for (const watching of open) watching.close();
  });

  function watch(target: string, user?: string, headers?: Readonly<Record<string, string>>): Watching {
    const watching = site().watch(`${path}&watch=1${target}`, user, headers);
    open.push(watching);
    return watching;
  }
  async function versionNow(): Promise<string> {
    return (await site().ask(path)).json<IndexedList>().metadata.resourceVersion;
  }
  const shown = (events: readonly WatchEvent[]): string[] =>
    events
      .filter(({ type }) => type !== 'BOOKMARK')
      .map(
        ({ type, object: { metadata } }) =>
          `${type} ${metadata.annotations?.[cluster]}/${metadata.namespace}/${metadata.name}`,
      );
  const alpha = () => site().members['alpha']!.store;

  test('without a version a watch begins with what is there; with bookmarks every flush says where to go on', async () => {
    const plain = watch('');
    assert.deepEqual(shown(await plain.until(3)), [
      'ADDED alpha/ops/there',
      'ADDED alpha/shop/there',
      'ADDED beta/shop/there',
    ]);
    const marked = watch('&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
    await marked.until(3);
    alpha().apply(configMap('new'));
    const events = await marked.until(4);
    const [bookmark] = events.filter(({ type }) => type === 'BOOKMARK');
    assert.equal(bookmark!.object.metadata.annotations?.['k8s.io/initial-events-end'], 'true');
    assert.match(bookmark!.object.metadata.resourceVersion, /^\d{19}$/);
    assert.equal(events.indexOf(bookmark!), 3);
    assert.equal(shown(await plain.until(4)).at(-1), 'ADDED alpha/shop/new');
    assert.ok(plain.events.every(({ type }) => type === 'ADDED'));
  });

  test('a watch goes on after a version; what leaves the selector is deleted as it was before, what enters is added', async () => {
    const from = await versionNow();
    const live = watch(`&resourceVersion=${from}`);
    // One by one: what happens within one commit of the index is one change.
    for (const [watched, at] of [
      ['yes', 'in'],
      ['yes', 'changed'],
      ['no', 'out'],
    ] as const) {
      const before = live.events.length;
      alpha().apply(configMap('moving', 'shop', watched, { at }));
      await live.until(before + 1);
    }
    alpha().remove('ConfigMap', 'shop', 'new', { gracePeriodSeconds: 0 });
    await live.until(4);
    // A watch that begins later gets the same.
    const events = await watch(`&resourceVersion=${from}&allowWatchBookmarks=1`).until(4);
    assert.deepEqual(shown(events), shown(live.events));
    assert.deepEqual(shown(events), [
      'ADDED alpha/shop/moving',
      'MODIFIED alpha/shop/moving',
      'DELETED alpha/shop/moving',
      'DELETED alpha/shop/new',
    ]);
    const objects = events.filter(({ type }) => type !== 'BOOKMARK').map(({ object }) => object);
    assert.deepEqual(
      objects.map(({ data }) => data?.['at']),
      ['in', 'changed', 'changed', 'first'],
    );
    // The last bookmark is good for the next watch, which gets nothing twice.
    const last =
      events.findLast(({ type }) => type === 'BOOKMARK')?.object.metadata.resourceVersion ?? (await versionNow());
    const next = watch(`&resourceVersion=${last}`);
    alpha().apply(configMap('after'));
    assert.deepEqual(shown(await next.until(1)).at(-1), 'ADDED alpha/shop/after');
  });

  test("what another replica's index has issued is expired: versions of lists and watches, and continue tokens", async () => {
    const from = await versionNow();
    // The same moment with the check digits of two other stores.
    for (const digits of [1, 2]) {
      const foreign = from.slice(0, 16) + String((Number(from.slice(16)) + digits) % 1000).padStart(3, '0');
      for (const asked of [
        '',
        '&resourceVersionMatch=Exact',
        '&watch=1',
        '&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1',
      ]) {
        const answer = await site().ask(`${path}&resourceVersion=${foreign}${asked}`);
        assert.equal(answer.status, 410, answer.text);
        assert.equal(answer.json<{ reason: string }>().reason, 'Expired');
      }
    }
    const token = (await site().ask(`${path}&limit=1`)).json<IndexedList>().metadata.continue!;
    const [form, store, sealed] = token.split('.') as [string, string, string];
    const theirs = [form, store.replace(/./g, (digit) => (digit === '0' ? '1' : '0')), sealed].join('.');
    const answer = await site().ask(`${path}&limit=1&continue=${theirs}`);
    assert.equal(answer.status, 410);
    assert.match(answer.text, /of another replica/);
  });

  test('Tables are watched with columns in the first event only; one cluster is watched alone', async () => {
    const from = await versionNow();
    const tables = watch(`&resourceVersion=${from}`, 'admin', asTable);
    alpha().apply(configMap('in-table'));
    await tables.until(1);
    alpha().apply(configMap('in-table', 'shop', 'yes', { at: 'second' }));
    const events = await tables.until(2);
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.kind, object.columnDefinitions === null]),
      [
        ['ADDED', 'Table', false],
        ['MODIFIED', 'Table', true],
      ],
    );
    const beta = site().watch(
      `${proxy}/clusters/beta/api/v1/namespaces/shop/configmaps?watch=1&resourceVersion=${from}`,
    );
    open.push(beta);
    site().members['beta']!.store.apply(configMap('in-beta'));
    assert.deepEqual(shown(await beta.until(1)), ['ADDED beta/shop/in-beta']);
  });

  test('rights that are lost take their objects away by name only, rights that are won bring theirs, and nothing newer is told between', async () => {
    const from = await versionNow();
    const seen = watch(`&resourceVersion=${from}&allowWatchBookmarks=1`, 'viewer');
    alpha().apply(configMap('secret-soon', 'shop', 'yes', { at: 'seen' }));
    assert.deepEqual(shown(await seen.until(1)), ['ADDED alpha/shop/secret-soon']);
    const before = (await site().ask(path, 'viewer')).json<IndexedList>().items.length;

    alpha().remove('RoleBinding', 'shop', 'viewer');
    alpha().apply(configMap('secret-soon', 'shop', 'yes', { at: 'not for them' }));
    const lost = (await seen.until(1 + before)).filter(({ type }) => type !== 'BOOKMARK').slice(1);
    assert.ok(lost.every(({ type }) => type === 'DELETED'));
    for (const { object } of lost) {
      assert.deepEqual(Object.keys(object), ['apiVersion', 'kind', 'metadata']);
      assert.match(object.metadata.resourceVersion, /^\d{19}$/);
    }
    assert.ok(!JSON.stringify(seen.events).includes('not for them'));
    assert.deepEqual((await site().ask(path, 'viewer')).json<IndexedList>().items, []);

    alpha().apply(binding('viewer-ops', 'view', 'viewer', 'ops'));
    const won = await seen.until(1 + before + 1);
    assert.equal(shown(won).at(-1), 'ADDED alpha/ops/there');
  });

  test('a watch that goes on where rights were others is told what they brought and took meanwhile', async () => {
    const listed = async (): Promise<readonly string[]> => {
      const { items } = (await site().ask(path, 'viewer')).json<IndexedList>();
      return items.map(({ metadata }) => `alpha/${metadata.namespace}/${metadata.name}`);
    };
    const kinds = (events: readonly WatchEvent[], type: string): readonly string[] =>
      shown(events)
        .filter((text) => text.startsWith(type))
        .map((text) => text.slice(type.length + 1))
        .toSorted();
    const { metadata } = (await site().ask(path, 'viewer')).json<IndexedList>();
    assert.deepEqual(await listed(), ['alpha/ops/there']);
    alpha().apply(binding('viewer-shop', 'view', 'viewer', 'shop'));
    alpha().remove('RoleBinding', 'ops', 'viewer-ops');
    alpha().apply(configMap('meanwhile'));
    await eventually('the rights of now', async () => {
      const rows = await listed();
      return rows.includes('alpha/shop/meanwhile') && !rows.includes('alpha/ops/there');
    });
    const won = (await listed()).toSorted();
    const fromList = watch(`&resourceVersion=${metadata.resourceVersion}&allowWatchBookmarks=1`, 'viewer');
    const caughtUp = await fromList.until(1 + won.length);
    assert.deepEqual(kinds(caughtUp, 'ADDED'), won);
    assert.deepEqual(kinds(caughtUp, 'DELETED'), ['alpha/ops/there']);
    // And goes on under the rights of now.
    alpha().apply(configMap('meanwhile', 'shop', 'yes', { at: 'second' }));
    await eventually('a bookmark', () => shown(fromList.events).at(-1) === 'MODIFIED alpha/shop/meanwhile');
    await eventually('its bookmark', () => fromList.events.at(-1)!.type === 'BOOKMARK');
    const { resourceVersion } = fromList.events.at(-1)!.object.metadata;
    fromList.close();

    alpha().remove('RoleBinding', 'shop', 'viewer-shop');
    alpha().apply(configMap('meanwhile', 'shop', 'yes', { at: 'not for them' }));
    await eventually('no rights', async () => (await listed()).length === 0);
    const fromBookmark = watch(`&resourceVersion=${resourceVersion}&allowWatchBookmarks=1`, 'viewer');
    const lost = await fromBookmark.until(won.length);
    assert.deepEqual(kinds(lost, 'DELETED'), won);
    assert.ok(!JSON.stringify(lost).includes('not for them'));
    // Who has got there under rights that are those of now goes on as ever.
    const same = watch(`&resourceVersion=${await versionNow()}`);
    alpha().apply(configMap('for-admins'));
    assert.deepEqual(shown(await same.until(1)), ['ADDED alpha/shop/for-admins']);
  });

  before();

  test('a watch ends cleanly by its time, and when the gateway ends', async () => {
    const timed = watch(`&resourceVersion=${await versionNow()}&timeoutSeconds=1&allowWatchBookmarks=true`);
    assert.equal(await timed.ended, true);
    assert.deepEqual(
      timed.events.map(({ type }) => type),
      ['BOOKMARK'],
    );
    const drained = watch(`&resourceVersion=${await versionNow()}`);
    alpha().apply(configMap('before-the-end'));
    await drained.until(1);
    const draining = site().gateway.drain();
    assert.equal(await drained.ended, true);
    await draining;
  });
}
