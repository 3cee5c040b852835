// Starts the controllers that write to the hub (import policies, the status of Karmada's ResourceRegistries and of
// CollectionResources) where the configuration asks for them, and tells them what the gateway knows of the clusters.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import type { ClusterRecord } from '../../cache/model/records.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import type { ClusterFacts, ImportedClusters, SyncedType } from '../../import/clusters/cluster-facts.ts';
import { startImports } from '../../import/start.ts';
import type { Imports } from '../../import/start.ts';
import type { ClusterState, TypeState } from '../../search/sync/sync-types.ts';
import { indexedCollections } from './collections.ts';
import type { GatewayIndex } from './gateway-index.ts';
import { indexedRegistries } from './registries.ts';
import type { SharedParts } from './shared-parts.ts';

/**
 * Starts the controllers of import policies; returns undefined when they are off.  @param index the index of the
 * gateway; without one, the status of PediaClusters is not updated
 */
export function startImportsOf(
  { options, hub, store }: SharedParts,
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
    timeScale: config.timeScale,
  });
  closers.push(() => void imports.close());
  return imports;
}

const source = 'pediacluster';
/**
 * Milliseconds for which one reading of the index's state is used again, so that a round over many PediaClusters reads
 * it only once.
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
    facts({ metadata: { name } }: HubObject) {
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
