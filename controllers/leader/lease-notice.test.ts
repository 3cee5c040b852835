import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import { clusterpediaTypes, FakeClient } from '../../test/pretend/fake-client.ts';
import { startElected } from './elected.ts';
import { LeaseFaults } from './lease-faults.ts';
import type { AwaitedObjects } from './lease-notice.ts';

const type = { group: 'x.io', version: 'v1', resource: 'things' };
const things = 'things.x.io';
const message = 'namespaces "gone" not found';

type Status = { readonly conditions?: readonly Record<string, unknown>[] } | undefined;

interface Scene {
  readonly hub: FakeClient;
  /** While true, the Lease cannot be made. */
  broken: boolean;
  leads: boolean;
  start(awaited?: Partial<AwaitedObjects>): void;
  /** Makes or changes an object; another spec is another generation, from 1 on. */
  put(name: string, status?: object, spec?: object): void;
  condition(name: string): Record<string, unknown> | undefined;
  /** Resolves when objects that came before have waited long enough to be told. */
  reported(): Promise<void>;
}

function makeScene(t: TestContext): Scene {
  const hub = new FakeClient([...clusterpediaTypes, { group: 'x.io', versions: ['v1'], resource: 'things' }]);
  const put: Scene['put'] = (name, status, spec = {}) =>
    void hub.put(things, { metadata: { name }, spec, ...(status && { status }) });
  const condition: Scene['condition'] = (name) => (hub.get(things, name)?.['status'] as Status)?.conditions?.[0];
  let probes = 0;
  const scene: Scene = {
    hub,
    broken: true,
    leads: false,
    start: (awaited = {}) => {
      const election = startElected({
        client: hub,
        lease: { namespace: 'gone', name: 'lease' },
        log: { info: () => undefined, warn: () => undefined, error: () => undefined },
        what: 'test',
        lead: () => {
          scene.leads = true;
          return () => (scene.leads = false);
        },
        leases: new LeaseFaults(),
        awaited: [{ type, condition: 'Applied', ...awaited }],
        timeScale: 0.004,
      });
      t.after(() => election.close());
    },
    put,
    condition,
    async reported() {
      const name = `probe-${(probes += 1)}`;
      put(name);
      await until(() => condition(name) !== undefined);
    },
  };
  hub.refuse = ({ method, path }) => {
    if (!scene.broken || method !== 'POST' || !path.includes('/leases')) return undefined;
    return { status: 404, headers: {}, body: Buffer.from(JSON.stringify({ kind: 'Status', message })) } as never;
  };
  return scene;
}

test('while a Lease cannot be used, each object that waits says so, also one that comes later', async (t) => {
  const { start, put, condition, reported } = makeScene(t);
  put('one');
  put('one', undefined, { other: true });
  start();
  await reported();
  const { lastTransitionTime, ...said } = condition('one')!;
  assert.equal(typeof lastTransitionTime, 'string');
  assert.deepEqual(said, {
    type: 'Applied',
    status: 'False',
    reason: 'LeaseUnavailable',
    message: `no gateway does anything about this, because the Lease gone/lease cannot be used: ${message}`,
    observedGeneration: 2,
  });
  put('later');
  await until(() => condition('later') !== undefined);
});

test('what a leader has said about this generation stays; of an older generation it does not', async (t) => {
  const { start, put, condition, reported } = makeScene(t);
  const done = { type: 'Applied', status: 'True', reason: 'Done', message: '', observedGeneration: 1 };
  put('done', { conditions: [done] });
  put('old', { conditions: [done] });
  put('old', { conditions: [done] }, { other: true });
  put('without-generation', { conditions: [{ ...done, observedGeneration: undefined }] });
  start();
  await reported();
  await reported();
  assert.equal(condition('done')?.['reason'], 'Done');
  assert.equal(condition('without-generation')?.['reason'], 'Done');
  assert.equal(condition('old')?.['reason'], 'LeaseUnavailable');
});

test('objects that others look after are not written to', async (t) => {
  const { hub, start, put, reported } = makeScene(t);
  put('foreign');
  start({ choose: () => ({ isChosen: ({ metadata: { name } }) => name !== 'foreign', close: () => undefined }) });
  await reported();
  await reported();
  assert.deepEqual(
    hub.writes.filter((write) => write.includes('foreign')),
    [],
  );
});

test('once the Lease can be used, the leader leads and nothing more is written', async (t) => {
  const scene = makeScene(t);
  const { hub, start, put, reported } = scene;
  start();
  await reported();
  scene.broken = false;
  await until(() => scene.leads);
  const writes = (): readonly string[] => hub.writes.filter((write) => write.includes('/things/'));
  put('now');
  const before = writes().length;
  // The Lease is renewed several times within the time after which the object would have been told.
  const renewals = hub.writes.length;
  await until(() => hub.writes.length >= renewals + 20);
  assert.equal(writes().length, before);
});
