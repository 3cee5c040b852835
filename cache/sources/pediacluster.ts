// The source of Clusterpedia's PediaCluster objects, which hold address and credential themselves. Easy to get wrong: Clusterpedia verifies
// nothing when `caData` is empty; here that means the system roots (DESIGN rule 14).
import type { HubObject, HubSource } from '../hub-types.ts';
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
import { unusable } from './unusable.ts';

/** Makes the source. */
export function makePediaClusterSource(): HubSource {
  const registry = makeRegistry('pediacluster');
  return {
    name: 'pediacluster',
    watches: [{ group: 'cluster.clusterpedia.io', version: 'v1alpha2', resource: 'pediaclusters' }],
    compile([clusters = new Map()]) {
      return registry(oldestFirst(clusters).map(([, cluster]) => registrationOf(cluster)));
    },
  };
}

function registrationOf(cluster: HubObject): Registration {
  const title = titleOf('PediaCluster', cluster);
  return {
    key: title,
    object: cluster,
    others: [],
    describe: () => ({
      originalName: cluster.metadata.name,
      sourceDetail: title,
      labels: labelsOf(cluster),
      conditions: conditionsNamed(cluster, {
        Ready: 'PediaClusterReady',
        ClusterHealthy: 'ClusterHealthy',
        Validated: 'PediaClusterValidated',
      }),
    }),
    access: () => about(title, () => accessTo(cluster)),
  };
}

/** A kubeconfig before single fields, as Clusterpedia's `buildClusterConfig`. */
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
