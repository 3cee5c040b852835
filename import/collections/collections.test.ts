import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { startStatusControllers } from '../../controllers/status/status-controllers.ts';
import { collectionStatus, type CollectionType } from './collection-status.ts';

const collectionsOf = 'collectionresources.index.portcullis.io';
const type = { group: 'index.portcullis.io', versions: ['v1alpha1'], resource: 'collectionresources' };

function start(t: TestContext) {
  const hub = new FakeClient([type]);
  let types: readonly CollectionType[] | undefined;
  const listeners = new Set<() => void>();
  const note = (): void => undefined;
  const end = startStatusControllers({
    client: hub,
    log: { info: note, warn: note, error: note },
    timing: { missingPollMs: 20, firstBackoffMs: 5, maxBackoffMs: 20 },
    subject: collectionStatus({
      types({ metadata: { name } }) {
        if (name === 'wrong') throw new Error('resourceTypes must name 1 to 256 types');
        return types;
      },
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
  });
  t.after(end);
  return {
    hub,
    set(next: readonly CollectionType[]) {
      types = next;
      for (const listener of listeners) listener();
    },
    said: (name: string, condition: string): string => {
      const all = hub.get(collectionsOf, name)?.['status']?.conditions ?? [];
      const found = all.find((each: { type: string }) => each.type === condition);
      return found === undefined ? '' : `${found.status} ${found.reason} ${found.message}`;
    },
  };
}

test('the status of a collection tells the types that are not indexed, and is written only when that changes', async (t) => {
  const { hub, set, said } = start(t);
  hub.put(collectionsOf, { metadata: { name: 'c' } });
  await until(() => said('c', 'Indexed') === 'Unknown NoIndex the index does not run yet');
  assert.equal(said('c', 'Accepted'), 'True Accepted ');
  const [pods, gadgets, apps] = ['pods', 'gadgets.example.io', '*.apps'];
  set([
    { name: pods, is: 'indexed' },
    { name: gadgets, is: 'unknown' },
    { name: apps, is: 'listing' },
  ]);
  const both = 'indexed of no cluster: gadgets.example.io; not complete yet: *.apps';
  await until(() => said('c', 'Indexed') === `False UnknownTypes ${both}`);
  set([{ name: apps, is: 'listing' }]);
  await until(() => said('c', 'Indexed') === 'False Incomplete not complete yet: *.apps');
  set([{ name: apps, is: 'indexed' }]);
  await until(() => said('c', 'Indexed') === 'True Complete ');
  const { length } = hub.writes;
  set([{ name: apps, is: 'indexed' }]);
  // The collection that is made now is looked at after the other one.
  hub.put(collectionsOf, { metadata: { name: 'later' } });
  await until(() => said('later', 'Indexed') !== '');
  assert.deepEqual(
    hub.writes.slice(length).filter((write) => !write.includes('/later/')),
    [],
  );
});

test('a collection whose definition cannot be used says what is wrong', async (t) => {
  const { hub, said } = start(t);
  hub.put(collectionsOf, { metadata: { name: 'wrong' } });
  await until(() => said('wrong', 'Accepted') === 'False InvalidDefinition resourceTypes must name 1 to 256 types');
  assert.equal(said('wrong', 'Indexed'), 'False NotAccepted there is no such collection');
});
