// Clusterpedia's `injectEvents` over HTTP: events about objects of the site that index-peer-objects.ts seeds. The same
// uid in another cluster, and the same name under another uid, are other objects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import type { IndexedList, IndexedObject, IndexSite } from './index-site.ts';

const base = '/apis/clusterpedia.io/v1beta1/resources/apis/apps/v1/namespaces/own-1/deployments';
const annotation = 'shadow.clusterpedia.io/cluster-name';

/**
 * What happened to the Deployment of one of the clusters, and to one before it that had its name; and what somebody in
 * another namespace says of it.
 */
export const eventSeeds: readonly JsonObject[] = [
  ['scaled', 'uid-Deployment-web', 'own-1'],
  ['paused', 'uid-Deployment-web', 'own-1'],
  ['long-ago', 'uid-Deployment-before', 'own-1'],
  ['forged', 'uid-Deployment-web', 'own-2'],
].map(([name = '', uid = '', namespace = '']): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace },
  involvedObject: { apiVersion: 'apps/v1', kind: 'Deployment', namespace, name: 'web', uid },
  reason: 'Said',
  message: `"${name}" \\ \n`,
  type: 'Normal',
}));

/** Registers it. @param site the one of the file, once it runs */
export function testInjectedEvents(site: () => IndexSite): void {
  test('injectEvents: the events about each object that the caller may list, by URL and by label, of its own namespace, and no others', async () => {
    const shown = async (query: string, user = 'admin', headers: Record<string, string> = {}) => {
      const answer = await site().ask(`${base}?names=web&${query}`, user, {
        headers,
      });
      assert.equal(answer.status, 200, answer.text);
      const list = answer.json<IndexedList & { rows?: { object: IndexedObject }[] }>();
      const items = list.items ?? list.rows!.map(({ object }) => object);
      return items.map(({ metadata: { annotations = {} } }) => {
        const text = annotations['shadow.clusterpedia.io/events'];
        const events = text === undefined ? undefined : (JSON.parse(text) as (IndexedObject & { message: string })[]);
        return [annotations[annotation], events?.map(({ kind, metadata, message }) => [kind, metadata.name, message])];
      });
    };
    const both = ['paused', 'scaled'].map((name) => ['Event', name, `"${name}" \\ \n`]);
    const expected = [
      ['alpha', both],
      ['beta', undefined],
    ];
    for (const query of [
      'injectEvents',
      'injectEvents=true',
      'labelSelector=search.clusterpedia.io/inject-events%3Dtrue',
      'injectEvents&onlyMetadata',
    ])
      assert.deepEqual(await shown(query), expected, query);
    assert.deepEqual(
      await shown('injectEvents', 'admin', { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }),
      expected,
    );
    const none = [
      ['alpha', undefined],
      ['beta', undefined],
    ];
    for (const query of ['', 'injectEvents=false']) assert.deepEqual(await shown(query), none, query);
    // Who may list the Deployment and no events is shown the first without the second, and shown.
    assert.deepEqual(await shown('injectEvents', 'viewer'), none);
  });
}
