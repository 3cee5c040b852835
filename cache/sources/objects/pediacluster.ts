// The source that makes one cluster of each PediaCluster of Clusterpedia, which contains address and credential. When
// `caData` is empty, the system roots verify the API server (rule "verification is never silently off"); Clusterpedia
// would verify nothing.
import type { HubObject, HubSource } from '../../hub/hub-types.ts';
import type { SourceIndexing } from '../../model/records.ts';
import { onlyPlan, trustIn } from './hub-credential.ts';
import {
  about,
  bytesField,
  conditionsNamed,
  fieldOf,
  labelsOf,
  oldestFirst,
  textField,
  titleOf,
  trimLineEnd,
} from './hub-object.ts';
import { makeRegistry, memberAddress, type Access, type Registration } from './registration.ts';
import { readSecretKubeconfig } from './secret-kubeconfig.ts';
import { unusable } from '../unusable.ts';

export function makePediaClusterSource(): HubSource {
  const registry = makeRegistry('pediacluster');
  return {
    name: 'pediacluster',
    watches: ['pediaclusters', 'clustersyncresources'].map((resource) => ({
      group: 'cluster.clusterpedia.io',
      version: 'v1alpha2',
      resource,
    })),
    compile([clusters = new Map(), syncResources = new Map()]) {
      return registry(
        oldestFirst(clusters).map(([, cluster]) => {
          const name = fieldOf(cluster, 'spec', 'syncResourcesRefName');
          return registrationOf(cluster, typeof name === 'string' ? syncResources.get(name) : undefined);
        }),
      );
    },
  };
}

function registrationOf(cluster: HubObject, syncResources: HubObject | undefined): Registration {
  const title = titleOf('PediaCluster', cluster);
  return {
    key: title,
    object: cluster,
    others: [syncResources],
    describe: () => ({
      originalName: cluster.metadata.name,
      sourceDetail: title,
      labels: labelsOf(cluster),
      indexing: indexingOf(cluster, syncResources),
      conditions: conditionsNamed(cluster, {
        Ready: 'PediaClusterReady',
        ClusterHealthy: 'ClusterHealthy',
        Validated: 'PediaClusterValidated',
      }),
    }),
    access: () => about(title, () => accessTo(cluster)),
  };
}

/**
 * The resources that Clusterpedia would collect from this cluster: those listed in the PediaCluster, then those of the
 * ClusterSyncResources it refers to; undefined when there are none. Invalid entries are skipped, so that they do not
 * make the cluster unusable.
 */
function indexingOf(cluster: HubObject, syncResources: HubObject | undefined): SourceIndexing | undefined {
  const own = groupResources(fieldOf(cluster, 'spec', 'syncResources'));
  const referred = groupResources(fieldOf(syncResources, 'spec', 'syncResources'));
  const resources = [...own, ...referred];
  const allCustomResources = fieldOf(cluster, 'spec', 'syncAllCustomResources') === true;
  return resources.length === 0 && !allCustomResources ? undefined : { resources, allCustomResources };
}

/** Parses a list of Clusterpedia's type ClusterGroupResources. Invalid entries are skipped. */
function groupResources(value: unknown): SourceIndexing['resources'] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => {
    const group = fieldOf(entry, 'group') ?? '';
    if (typeof group !== 'string') return [];
    const versions = textsOf(fieldOf(entry, 'versions'));
    return textsOf(fieldOf(entry, 'resources')).map((resource) => ({ group, resource, versions }));
  });
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** A kubeconfig in the object wins over the single fields, as in Clusterpedia's `buildClusterConfig`. */
function accessTo(cluster: HubObject): Access {
  const bytes = (field: string): string => bytesField(`spec.${field}`, fieldOf(cluster, 'spec', field));
  const kubeconfig = bytes('kubeconfig');
  if (kubeconfig !== '') return readSecretKubeconfig('spec.kubeconfig', kubeconfig);
  const fields = { token: bytes('tokenData'), cert: bytes('certData'), key: bytes('keyData') };
  if (
    Object.values(fields).every((value) => value === '') &&
    fieldOf(cluster, 'spec', 'authenticationFrom') !== undefined
  ) {
    throw unusable('spec.authenticationFrom is not supported; put the credential into the PediaCluster');
  }
  const server = trimLineEnd(textField('spec.apiserver', fieldOf(cluster, 'spec', 'apiserver')));
  return {
    endpoint: memberAddress('spec.apiserver', server),
    tls: trustIn('spec.caData', bytes('caData'), false),
    plan: onlyPlan({ token: 'spec.tokenData', cert: 'spec.certData', key: 'spec.keyData' }, fields),
  };
}
