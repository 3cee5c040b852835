import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { startStatusControllers } from './status-controllers.ts';

const collection = 'pediaclusters.cluster.clusterpedia.io';
const resource = { group: 'cluster.clusterpedia.io', version: 'v1alpha2', resource: 'pediaclusters' };

test('a condition that somebody else writes at the same moment is never lost', async (t) => {
  const hub = new FakeClient();
  const theirs = { type: 'Drained', status: 'True', reason: 'Said', message: '', lastTransitionTime: 'then' };
  const object = { metadata: { name: 'x' }, spec: {}, status: { conditions: [] } };
  hub.put(collection, object);
  const types = (): readonly string[] => {
    const { conditions } = hub.get(collection, 'x')!['status'] as { conditions: readonly { type: string }[] };
    return conditions.map(({ type }) => type);
  };
  const seen: string[] = [];
  hub.refuse = () => {
    // Before the first write arrives, somebody else writes.
    if (seen.length === 0) hub.put(collection, { ...object, status: { conditions: [theirs] } });
    seen.push(types().join());
    return undefined;
  };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const findings = () => [{ type: 'Read', status: 'True', reason: 'Read', message: '' }] as const;
  const subject = { kind: 'PediaCluster', resource, findings, onChange: () => () => undefined };
  t.after(startStatusControllers({ client: hub, log, subject }));
  await until(() => types().includes('Read') && seen.length > 1);
  assert.deepEqual(seen, ['Drained', 'Drained']);
  assert.deepEqual(types(), ['Drained', 'Read']);
});
