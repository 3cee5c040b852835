// Runs alone: it measures how long hundreds of sources take, and counts what the gateway asks the hub at rest.
// PORTCULLIS_IMPORT_SOURCES says how many sources there are (500), PORTCULLIS_IMPORT_ANSWERING how many of the clusters
// answer (10), PORTCULLIS_IMPORT_REST_SECONDS how long the hub is watched at rest (20).
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEvent, Member } from '../../controlplane/fixture.ts';
import { gatewayAccount } from '../../hub/objects.ts';
import { eventually as eventuallyWithin, type Ask } from '../../site/polling.ts';
import { hasReason, paths, read, startImportSite, type ImportSite, type Json } from './import-site.ts';

const sources = Number(process.env['PORTCULLIS_IMPORT_SOURCES'] ?? 500);
const restSeconds = Number(process.env['PORTCULLIS_IMPORT_REST_SECONDS'] ?? 20);
/** So many of the clusters answer; nobody listens at the address of the others. */
const answering = Number(process.env['PORTCULLIS_IMPORT_ANSWERING'] ?? 10);
const account = `system:serviceaccount:${gatewayAccount.namespace}:${gatewayAccount.name}`;
const writeVerbs: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete']);
const secrets = '/api/v1/namespaces/sources/secrets';
/** Even a machine that does much else must be through by then. */
const eventually = <T>(what: string, ask: Ask<T>): Promise<T> =>
  eventuallyWithin(what, ask, { timeoutMs: 90_000 + sources * 200, everyMs: 500 });
let site: ImportSite;
let hub: Member;

before(async () => {
  site = await startImportSite({ audit: true });
  hub = site.hub;
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sources' } });
});

after(() => site?.stop());

const policy = {
  apiVersion: 'policy.clusterpedia.io/v1alpha1',
  kind: 'ClusterImportPolicy',
  metadata: { name: 'many' },
  spec: {
    source: {
      group: '',
      resource: 'secrets',
      selectorTemplate: '{{ eq .source.metadata.namespace "sources" }}',
    },
    nameTemplate: '{{ .source.metadata.name }}',
    template: `
spec:
  apiserver: "{{ .source.data.server | b64dec }}"
  caData: "{{ .source.data.ca }}"
  tokenData: "{{ .source.data.token }}"
  syncResources: [{ group: "", resources: [pods] }]`,
    creationCondition: 'true',
  },
};

async function addSource(index: number): Promise<void> {
  const member = site.plane.member('m1');
  const server = index < answering ? member.url : 'https://127.0.0.1:1';
  const answer = await hub.request('POST', secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `s-${index}`, namespace: 'sources' },
    stringData: { server, ca: member.caPem, token: member.users.carol.token },
  });
  assert.equal(answer.status, 201, answer.body);
}

/** Requests of the gateway since the mark that are no renewals of its Leases and no reviews. */
async function requestsSince(mark: number): Promise<readonly AuditEvent[]> {
  const events = await hub.audit(mark);
  return events.filter(
    ({ user, stage, verb }) => user.username === account && (stage === 'ResponseComplete' || verb === 'watch'),
  );
}

/** Requests that are neither for the Leases nor watches, which the hub ends after some minutes. */
function otherRequests(events: readonly AuditEvent[]): readonly string[] {
  return events
    .filter(({ verb, objectRef }) => verb !== 'watch' && objectRef?.resource !== 'leases')
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}

function reported(t: TestContext, what: string, events: readonly AuditEvent[]): void {
  const counts = Map.groupBy(
    events,
    ({ verb, objectRef }) => `${verb} ${objectRef?.resource ?? ''}${objectRef?.subresource ? '/status' : ''}`,
  );
  const shown = [...counts].map(([name, { length }]) => `${length} ${name}`);
  t.diagnostic(`${what}: ${events.length} requests (${shown.join(', ')})`);
}

async function allHave(path: string, type: string): Promise<boolean> {
  const { items }: { items: Json[] } = await read(hub, path);
  return (
    items.length === sources &&
    items.every(({ status }) => status?.conditions?.some((each: Json) => each.type === type))
  );
}

test('hundreds of sources that are there at once are all imported', async (t) => {
  for (let index = 0; index < sources; index += 20)
    await Promise.all(Array.from({ length: Math.min(20, sources - index) }, (_, each) => addSource(index + each)));
  const mark = await hub.auditMark();
  const startedMs = performance.now();
  await hub.apply(policy);
  const tell = (what: string): void =>
    t.diagnostic(`${what} after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  await eventually('all are imported', async () => (await read(hub, paths.clusters)).items.length === sources);
  tell(`${sources} PediaClusters`);
  await eventually('all lifecycles say so', () => allHave(paths.lifecycles, 'Updating'));
  await eventually('all clusters have a status', () => allHave(paths.clusters, 'Ready'));
  tell('all conditions');
  await hasReason(hub, `${paths.policies}/many`, 'Reconciling', 'ReconcileSourceResourceAndLifecycle');
  for (let index = 0; index < answering; index += 1)
    await hasReason(hub, `${paths.clusters}/s-${index}`, 'Ready', 'Ready');
  reported(t, 'until then', await requestsSince(mark));
});

test('at rest the hub is asked for nothing but the Leases and watches, however many clusters there are', async (t) => {
  const writesOf = (events: readonly AuditEvent[]): readonly AuditEvent[] =>
    events.filter(({ verb, objectRef }) => writeVerbs.has(verb) && objectRef?.resource !== 'leases');
  await eventually('it comes to rest', async () => {
    const mark = await hub.auditMark();
    await delay(5_000);
    return writesOf(await requestsSince(mark)).length === 0;
  });
  const mark = await hub.auditMark();
  await delay(restSeconds * 1000);
  const events = await requestsSince(mark);
  reported(t, `at rest, ${restSeconds} s, ${Math.round((events.length / restSeconds) * 60)} a minute`, events);
  assert.deepEqual(otherRequests(events), []);
});
