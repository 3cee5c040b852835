import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../client/hub.fixture.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { makeFollowedTypes } from './followed-types.ts';

const things = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };
const others = { group: 'policy.clusterpedia.io', version: 'v1alpha1', resource: 'clusterimportpolicies' };
const nothing = (): void => undefined;

test('a type is watched while somebody uses it, and none is watched after the end, whoever still asks', async (t) => {
  const hub = new FakeClient();
  const types = makeFollowedTypes({ client: hub, onObjects: nothing, onState: nothing, onError: nothing });
  t.after(() => types.close());
  types.use('a', [things]);
  await until(() => types.state(things)?.phase === 'watching');
  types.use('a', [others]);
  assert.equal(types.state(things), undefined);
  assert.equal(types.isIdle(), false);
  types.use('a', []);
  assert.equal(types.isIdle(), true);
  types.close();
  types.use('a', [things]);
  assert.equal(types.state(things), undefined);
  assert.equal(types.state(others), undefined);
  assert.deepEqual(types.usersOf(things), []);
});
