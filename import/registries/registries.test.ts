import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { startStatusControllers } from '../../controllers/status/status-controllers.ts';
import { registryStatus, type RegisteredCluster } from './registry-status.ts';

const registriesOf = 'resourceregistries.search.karmada.io';
const type = { group: 'search.karmada.io', versions: ['stored'], resource: 'resourceregistries' };
const pods = { apiVersion: 'v1', kind: 'Pod' };

function start(t: TestContext, hub: FakeClient) {
  let clusters: readonly RegisteredCluster[] = [];
  const listeners = new Set<() => void>();
  const logged: string[] = [];
  const note = (fields: object, message: string): void => void logged.push(`${JSON.stringify(fields)} ${message}`);
  const end = startStatusControllers({
    client: hub,
    log: { info: note, warn: note, error: note },
    timing: { missingPollMs: 20, firstBackoffMs: 5, maxBackoffMs: 20 },
    subject: registryStatus({
      clusters: () => clusters,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
  });
  t.after(end);
  return {
    logged,
    set(next: readonly RegisteredCluster[]) {
      clusters = next;
      for (const listener of listeners) listener();
    },
    said: (name: string, condition: string): string => {
      const all = hub.get(registriesOf, name)?.['status']?.conditions ?? [];
      const found = all.find((each: { type: string }) => each.type === condition);
      return found === undefined ? '' : `${found.status} ${found.reason} ${found.message}`;
    },
  };
}

test('the status of a registry follows what the index has of its clusters, and is written only when it changes', async (t) => {
  const hub = new FakeClient([type]);
  const scene = start(t, hub);
  hub.put(registriesOf, { metadata: { name: 'r' }, spec: { resourceSelectors: [pods] } });
  await until(() => scene.said('r', 'Indexed').startsWith('False NoCluster '));
  assert.equal(scene.said('r', 'Accepted'), 'True Accepted ');
  scene.set([
    { name: 'm1', missing: [] },
    { name: 'm2', missing: ['Pod not indexed yet (no route)'] },
  ]);
  await until(() => scene.said('r', 'Indexed') === 'False Incomplete m2: Pod not indexed yet (no route)');
  scene.set([
    { name: 'm1', missing: [] },
    { name: 'm2', missing: [] },
  ]);
  await until(() => scene.said('r', 'Indexed') === 'True Complete 2 clusters');
  const many = Array.from({ length: 12 }, (_, i) => ({ name: `c${i}`, missing: ['not indexed yet'] }));
  scene.set(many);
  await until(() => scene.said('r', 'Indexed').endsWith('c9: not indexed yet; and 2 clusters more'));
  const { length } = hub.writes;
  // Another registry is written after this change, so the first one has been looked at by then.
  hub.put(registriesOf, { metadata: { name: 's' }, spec: { resourceSelectors: [pods] } });
  scene.set(many);
  await until(() => scene.said('s', 'Indexed') !== '');
  assert.deepEqual(
    hub.writes.slice(length).filter((write) => write.includes('/r/')),
    [],
  );
});

test('a registry that is refused says why, and a write that the hub refuses is tried again', async (t) => {
  const hub = new FakeClient([type]);
  hub.forbidden.add('patch resourceregistries');
  const scene = start(t, hub);
  hub.put(registriesOf, { metadata: { name: 'r' }, spec: { backendStore: { openSearch: {} } } });
  await until(() => /grant it a rule/.test(scene.logged.join('\n')));
  hub.forbidden.clear();
  await until(() => /^False BackendStoreNotSupported .*openSearch/.test(scene.said('r', 'Accepted')));
  assert.match(scene.said('r', 'Indexed'), /^False NotAccepted/);
});
