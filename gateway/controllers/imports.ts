// Starts the controllers that write to the hub (import policies, the status of Karmada's ResourceRegistries and of
// CollectionResources, ClusterProfiles) where the configuration enables them, and gives them the gateway's data about
// clusters.
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import type { ClusterStore } from '../../model/store.ts';
import type { ClusterFacts, ImportedClusters, SyncedType } from '../../import/clusters/cluster-facts.ts';
import { startImports } from '../../import/start.ts';
import type { Imports } from '../../import/start.ts';
import type { ClusterState, TypeState } from '../../sync/member/sync-types.ts';
import { indexedCollections } from './collections.ts';
import type { GatewayIndex } from '../parts/gateway-index.ts';
import { indexedRegistries } from './registries.ts';
import type { SharedParts } from '../parts/shared-parts.ts';

/**
 * Starts the controllers of import policies; returns undefined when the configuration does not enable them.
 * @param index the index of the gateway; without an index, the status of PediaClusters (Clusterpedia's objects for
 * clusters) is not updated
 */
export function startImportsOf(
  { options, hub, store, leases }: SharedParts,
  index: GatewayIndex | undefined,
): Imports | undefined {
  const { config, log, closers } = options;
  const { imports: settings, karmadaSearch, karmadaNamespace: namespace, collections } = config.hub ?? {};
  const writesRegistries = karmadaSearch === 'replace' && index !== undefined;
  const writesCollections = collections !== undefined && index !== undefined;
  if (hub === undefined || (settings === undefined && !writesRegistries && !writesCollections)) return undefined;
  const imports = startImports({
    client: hub.client,
    policies: settings && { ...settings, clusters: index && importedClusters(store, index) },
    registries: writesRegistries ? { namespace: namespace!, indexed: indexedRegistries(store, index) } : undefined,
    collections: writesCollections ? { ...collections, indexed: indexedCollections(index) } : undefined,
    log,
    leases,
    timeScale: config.timeScale,
  });
  closers.push(() => void imports.close());
  return imports;
}

/** Starts publishing ClusterProfiles; returns undefined when the configuration does not enable it. */
export function startProfilesOf({ options, hub, store, sources, serving, leases }: SharedParts): Imports | undefined {
  const { config, log, closers } = options;
  const settings = config.hub?.profiles;
  if (settings === undefined || hub === undefined) return undefined;
  const { namespace, lease, address, ca } = settings;
  const profiles = startImports({
    client: hub.client,
    profiles: {
      lease,
      store,
      areClustersKnown: () => sources.synced(),
      publisher: {
        namespace,
        lease: `${lease.namespace}/${lease.name}`,
        address,
        ca: () => ca ?? serving.caBundle(),
      },
    },
    log,
    leases,
    timeScale: config.timeScale,
  });
  closers.push(() => void profiles.close());
  return profiles;
}

const source = 'pediacluster';
/**
 * For this many milliseconds one reading of the index's state is used again, so that updating many PediaClusters in a
 * row reads the state only once.
 */
const lookMs = 200;

function importedClusters(store: ClusterStore, index: GatewayIndex): ImportedClusters {
  let states: ReadonlyMap<string, ClusterState> = new Map();
  let lookedAtMs = -Infinity;
  const stateOf = (uid: string): ClusterState | undefined => {
    if (performance.now() - lookedAtMs > lookMs) {
      states = new Map(index.state()?.map((state) => [state.uid, state]));
      lookedAtMs = performance.now();
    }
    return states.get(uid);
  };
  return {
    facts({ metadata: { name } }: ApiObject) {
      const isMeant = ({ spec }: ClusterRecord): boolean => spec.source === source && spec.originalName === name;
      const first = store.get(name);
      const record = first !== undefined && isMeant(first) ? first : store.list().find(isMeant);
      if (record === undefined) return undefined;
      return factsOf(record, stateOf(record.spec.uid));
    },
    onChange(listener) {
      const endRecords = store.subscribe(({ record: { spec } }) => {
        if (spec.source === source) listener(spec.originalName);
      });
      const endIndex = index.onChange(() => listener(undefined));
      return () => {
        endRecords();
        endIndex();
      };
    },
    rowsGone: (name) => index.rowsGone(name),
  };
}

function factsOf({ spec, status }: ClusterRecord, state: ClusterState | undefined): ClusterFacts {
  const available = status.conditions.find(({ type }) => type === 'Available');
  const { endpoint } = spec;
  const host = endpoint?.host.includes(':') === true ? `[${endpoint.host}]` : endpoint?.host;
  return {
    problem: spec.problem?.message.replace(`${spec.sourceDetail}: `, ''),
    sameAs: state === undefined ? spec.sameAs?.name : undefined,
    apiserver: endpoint === undefined ? '' : `${endpoint.scheme}://${host}:${endpoint.port}${endpoint.basePath}`,
    version: status.version,
    health: available && { isHealthy: available.status === 'True', message: available.message },
    sync: state && {
      isRunning: state.incarnation !== undefined,
      fault: state.fault?.message ?? '',
      types: state.types.filter(({ isChosen }) => isChosen).map(syncedType),
      refused: state.refused.map(({ resource, message }) => `${resource}: ${message}`),
    },
  };
}

function syncedType({ type, phase, isWhole, fault }: TypeState): SyncedType {
  const { group, version, resource, kind, namespaced } = type;
  return {
    group,
    version,
    resource,
    kind,
    namespaced,
    status: statuses[phase],
    reason: fault?.reason ?? '',
    message: fault?.message ?? '',
    initialListPhase: phase === 'listing' && !isWhole,
  };
}

const statuses = {
  waiting: 'Pending',
  listing: 'Syncing',
  watching: 'Syncing',
  failing: 'Error',
  stopped: 'Stop',
} as const satisfies Record<TypeState['phase'], SyncedType['status']>;
