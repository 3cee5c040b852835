// A sync of clusters in memory, for tests.
import { type TestContext } from 'node:test';
import type { ClusterSpec } from '../model/records.ts';
import { createClusterStore, type ClusterStore } from '../model/store.ts';
import { makeFakeMember, type FakeMember } from './fake-member.fixture.ts';
import { makeFakeStore, type FakeStore } from './fake-store.fixture.ts';
import { makeSelection } from './discover/selection.ts';
import { startSync, type SyncOptions } from './sync.ts';
import { defaultSyncTiming, type SyncHandle } from './member/sync-types.ts';

export const pods = '/api/v1/pods';
export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const widgets = '/apis/example.com/v1/widgets';
export const kinds: Record<string, string> = {
  [pods]: 'Pod',
  '/api/v1/namespaces': 'Namespace',
  '/api/v1/secrets': 'Secret',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles': 'ClusterRole',
  [crds]: 'CustomResourceDefinition',
  '/apis/apiregistration.k8s.io/v1/apiservices': 'APIService',
};
export const podType = { group: '', resource: 'pods' };
export const widgetType = { group: 'example.com', resource: 'widgets' };
const timing = {
  ...defaultSyncTiming,
  clusterRetry: { firstMs: 1, maxMs: 2, fastTries: 5, slowMs: 2 },
  firstBackoffMs: 1,
  maxBackoffMs: 2,
  batchWaitMs: 1,
  positionEveryMs: 1,
  discoveryPauseMs: 1,
};

export function specOf(name: string, uid: string, more: Partial<ClusterSpec> = {}): ClusterSpec {
  return {
    name,
    originalName: name,
    uid,
    source: 'test',
    sourceDetail: name,
    labels: {},
    endpoint: undefined,
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
    credential: undefined,
    transportKey: uid,
    problem: undefined,
    ...more,
  };
}

export interface Site {
  readonly clusters: ClusterStore;
  readonly store: FakeStore;
  readonly members: Map<string, FakeMember>;
  readonly logged: string[];
  start(more?: Partial<SyncOptions>): Promise<SyncHandle>;
}

export function site(t: TestContext): Site {
  const clusters = createClusterStore();
  const store = makeFakeStore();
  const members = new Map<string, FakeMember>();
  const logged: string[] = [];
  const note = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  return {
    clusters,
    store,
    members,
    logged,
    async start(more = {}) {
      const handle = await startSync({
        clusters,
        areClustersKnown: Promise.resolve(),
        asksOf: ({ name }) => ({ ask: (question) => members.get(name)!.ask(question) }),
        store,
        selection: makeSelection(['pods', 'widgets.example.com'], undefined),
        log: { info: note, warn: note },
        timing,
        random: () => 0.5,
        ...more,
      });
      t.after(() => handle.close());
      return handle;
    },
  };
}

export function memberWith(...names: readonly string[]): FakeMember {
  const member = makeFakeMember({ ...kinds }, new Set([pods, '/api/v1/secrets', widgets]));
  for (const name of names) member.put(pods, { namespace: 'a', name });
  return member;
}

export const podNames = (store: FakeStore): readonly string[] => Object.keys(store.rows(podType));
export const stateOf = (handle: SyncHandle, resource: string) =>
  handle.state()[0]?.types.find(({ type }) => type.resource === resource);

const crd = (name: string, more: string): { readonly name: string; readonly more: string } => ({ name, more });
export const widgetCrd = crd(
  'widgets.example.com',
  '"spec":{"group":"example.com","names":{"plural":"widgets"},"versions":[{"name":"v2","served":true,"storage":false},' +
    '{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[{"name":"Size","type":"string","jsonPath":".spec.size"}]}]}',
);
