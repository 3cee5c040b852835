// A hub with one ManagedCluster, the registrations of a gateway for it, and what OCM's agent and hub write there.
import type { TestContext } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { createClusterStore } from '../../model/store.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { Registrations } from './registrations.ts';

export type Json = Record<string, any>;

export const clusterType = {
  group: 'cluster.open-cluster-management.io',
  versions: ['v1'],
  resource: 'managedclusters',
};
export const leaseType = { group: 'coordination.k8s.io', versions: ['v1'], resource: 'leases' };
export const clusterCollection = 'managedclusters.cluster.open-cluster-management.io';
export const leaseCollection = 'leases.coordination.k8s.io';
export const lease = 'managed-cluster-lease';
export const mark = 'gateway.portcullis.io/renewed-at';
/** The hub's clock at the beginning of each test. */
export const startMs = Date.parse('2030-01-01T00:00:00Z');
export const chosen = { 'gateway.portcullis.io/execute-works': 'true' };
export const accepted = condition('HubAcceptedManagedCluster', 'True', 'HubClusterAdminAccepted', 'Accepted by hub');
/** What OCM's agent and the lease controller of OCM's hub write. */
export const agentJoined = condition('ManagedClusterJoined', 'True', 'ManagedClusterJoined', 'Managed cluster joined');
export const agentAvailable = condition(
  'ManagedClusterConditionAvailable',
  'True',
  'ManagedClusterAvailable',
  'Managed cluster is available',
);
export const stopped = condition(
  'ManagedClusterConditionAvailable',
  'Unknown',
  'ManagedClusterLeaseUpdateStopped',
  'Registration agent stopped updating its lease.',
);

export function condition(type: string, status: string, reason: string, message: string): Json {
  return { type, status, reason, message, lastTransitionTime: '2029-12-31T00:00:00Z' };
}

export const micro = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

export function specOf(name: string, changes: Partial<ClusterSpec> = {}): ClusterSpec {
  return {
    name,
    originalName: name,
    uid: `uid-${name}`,
    source: 'ocm',
    sourceDetail: `ManagedCluster ${name}`,
    labels: {},
    endpoint: { scheme: 'https', host: 'hidden.example.com', port: 6443, basePath: '' },
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
    credential: undefined,
    transportKey: 'a',
    problem: undefined,
    ...changes,
  };
}

/** A hub with the ManagedCluster m1, which is chosen and accepted. */
export function makeHub(changes: Json = {}, types = [clusterType, leaseType]): FakeClient {
  const hub = new FakeClient(types);
  hub.put(clusterCollection, {
    metadata: { name: 'm1', annotations: chosen },
    spec: { hubAcceptsClient: true, leaseDurationSeconds: 60 },
    status: { conditions: [accepted] },
    ...changes,
  });
  return hub;
}

export function start(t: TestContext, hub: FakeClient, clock = { ms: startMs }) {
  const store = createClusterStore();
  const logged: string[] = [];
  const note = (fields: object, message: string): void => void logged.push(`${JSON.stringify(fields)} ${message}`);
  const log = { info: note, warn: note, error: note };
  const clusterSets = ['fleet'];
  const timing = { missingPollMs: 20 };
  const made = new Registrations({ client: hub, store, log, clusterSets, timing, now: () => clock.ms });
  t.after(() => made.close());
  store.apply('test', [specOf('m1')]);
  let settled = 0;
  let latencyMs = 0;
  const probe = (name: string, available: string, version = 'v1.36.3', reason = 'Said'): void => {
    const found = condition('Available', available, reason, 'https://hidden.example.com does not answer');
    latencyMs += 1;
    store.setStatus(`uid-${name}`, { conditions: [found as never], version, latencyMs });
  };
  return {
    clock,
    store,
    logged,
    probe,
    status: (): Json => hub.get(clusterCollection, 'm1')!['status'],
    said: (type: string): Json | undefined => conditionOf(hub, type),
    lease: (): Json | undefined => hub.get(leaseCollection, lease, 'm1'),
    /**
     * Waits until the cluster m1 was looked at again after all that happened before, by another cluster that is looked
     * at after it.
     */
    settle: async (): Promise<void> => {
      const name = `later-${(settled += 1)}`;
      store.apply('later', [specOf(name)]);
      const status = { conditions: [accepted] };
      hub.put(clusterCollection, { metadata: { name, annotations: chosen }, spec: { hubAcceptsClient: true }, status });
      probe(name, 'True');
      await until(() => hub.get(clusterCollection, name)?.['status'].version !== undefined);
    },
  };
}

export function conditionOf(hub: FakeClient, type: string): Json | undefined {
  return hub.get(clusterCollection, 'm1')!['status'].conditions.find((each: Json) => each['type'] === type);
}

export const available = 'ManagedClusterConditionAvailable';
export const writesFor = (hub: FakeClient): readonly string[] => hub.writes.filter((each) => each.includes('/m1'));

/** The Lease as the lease controller of OCM's hub makes it, or as an agent renewed it at `renewedMs`. */
export function hubLease(createdMs: number, renewedMs = createdMs + 300): Json {
  return {
    metadata: {
      ...{ name: lease, namespace: 'm1', creationTimestamp: new Date(createdMs).toISOString() },
      labels: { 'open-cluster-management.io/cluster-name': 'm1' },
    },
    spec: { holderIdentity: lease, renewTime: micro(renewedMs) },
  };
}

/** An agent renews the Lease: it changes `renewTime` alone. */
export function renewAsAgent(hub: FakeClient, ms: number): void {
  const { spec } = hub.get(leaseCollection, lease, 'm1')!;
  hub.put(leaseCollection, { metadata: { name: lease, namespace: 'm1' }, spec: { ...spec, renewTime: micro(ms) } });
}

export function tellCluster(hub: FakeClient, ...conditions: readonly Json[]): void {
  const { status } = hub.get(clusterCollection, 'm1')!;
  const kept = status.conditions.filter((each: Json) => !conditions.some(({ type }) => type === each['type']));
  hub.put(clusterCollection, { metadata: { name: 'm1' }, status: { ...status, conditions: [...kept, ...conditions] } });
}
