// Who puts policies into effect when several processes could: gateways beside each other, and Clusterpedia's own
// controllers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { eventually, paths, read, startImportSite, type ImportSite, type Json } from './import-site.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/clusterpedia-system/leases';
const lease = `${leases}/clusterpedia-controller-manager`;
let site: ImportSite;
let hub: Member;
let second: GatewayProcess;

before(async () => {
  site = await startImportSite({ members: [] });
  hub = site.hub;
  second = await site.startGateway();
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sources' } }, policy('many'));
});

after(() => site?.stop());

/** A policy that takes the Secrets labelled with its name. */
function policy(name: string): object {
  return {
    apiVersion: 'policy.clusterpedia.io/v1alpha1',
    kind: 'ClusterImportPolicy',
    metadata: { name },
    spec: {
      source: {
        group: '',
        resource: 'secrets',
        selectorTemplate: `{{ eq (get (.source.metadata.labels | default dict) "of") "${name}" }}`,
      },
      nameTemplate: '{{ .source.metadata.name }}',
      template: 'spec: { syncResources: [{ group: "", resources: [pods] }] }',
      creationCondition: 'true',
    },
  };
}

async function addSource(name: string, of = 'many'): Promise<void> {
  const metadata = { name, namespace: 'sources', labels: { of } };
  const answer = await hub.request('POST', '/api/v1/namespaces/sources/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
  });
  assert.equal(answer.status, 201, answer.body);
}

const isImported = (name: string): Promise<Json> =>
  eventually(`${name} is imported`, () => read(hub, `${paths.clusters}/${name}`));
const holder = async (): Promise<string> => (await read(hub, lease))?.spec.holderIdentity ?? '';

/** UIDs of PediaClusters by name: another one is another life. */
async function uids(): Promise<ReadonlyMap<string, string>> {
  const { items } = await read(hub, paths.clusters);
  return new Map(items.map(({ metadata }: Json) => [metadata.name, metadata.uid]));
}

test('when the gateway that leads is killed the other takes over, and nothing is made anew', async () => {
  for (const index of [1, 2, 3]) await addSource(`before-${index}`);
  for (const index of [1, 2, 3]) await isImported(`before-${index}`);
  const before = await uids();
  const first = await holder();
  await site.gateway.stop('SIGKILL');
  await addSource('after-the-kill');
  await isImported('after-the-kill');
  assert.notEqual(await holder(), first);
  const after = await uids();
  for (const [name, uid] of before) assert.equal(after.get(name), uid);
});

test('a gateway that ends in good order gives the Lease back', async () => {
  await second.stop('SIGTERM');
  assert.equal(await holder(), '');
});

test('while Clusterpedia’s controllers hold the Lease nothing is written, and when they end the gateway takes over', async () => {
  const hold = async (holderIdentity: string): Promise<void> => {
    const spec = {
      holderIdentity,
      leaseDurationSeconds: 600,
      renewTime: new Date().toISOString().replace('Z', '000Z'),
    };
    const answer = await hub.request('PATCH', lease, { spec }, { 'content-type': 'application/merge-patch+json' });
    assert.equal(answer.status, 200, answer.body);
  };
  const made = await uids();
  await hold('clusterpedia');
  const gateway = await site.startGateway();
  await eventually('it sees who leads', () => /"holder":"clusterpedia"/.test(gateway.log()));
  await addSource('waits');
  await delay(3_000);
  assert.equal(await read(hub, `${paths.lifecycles}/waits`), undefined);
  await hold('');
  await isImported('waits');
  for (const [name, uid] of made) assert.equal((await uids()).get(name), uid);
});
