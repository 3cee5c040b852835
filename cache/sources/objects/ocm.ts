// The source that makes one cluster of each ManagedCluster of Open Cluster Management, which contains address and CA.
// The credential comes from the Secret of the same name in cluster-gateway's namespace. When there is no such Secret,
// the credential is the token of the ManagedServiceAccount in the cluster's namespace. When cluster-gateway's Secrets
// are read, a Secret without a ManagedCluster becomes a cluster of its own. Easy to get wrong: when the Secret of
// cluster-gateway exists but is faulty, the token must not be used instead. Otherwise a typing error in the Secret
// would change the user as whom the gateway authenticates to the member cluster.
import type { ApiObject, ApiObjects, WatchedResource } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import type { EndpointOption, SourceCondition } from '../../../model/records.ts';
import { GatewayError } from '../../../model/errors.ts';
import { gatewaySecrets } from './cluster-gateway.ts';
import {
  authorityOf,
  checkEndpointType,
  credentialOfSecret,
  credentialTypeOf,
  endpointTypeLabel,
  endpointTypeOf,
  exchangeOf,
  gatewayView,
  isGatewaySecret,
  ownLabels,
  proxyOfSecret,
  secretRegistration,
  trustBy,
  trustConditions,
  tunnelTo,
  type GatewaySecretSettings,
} from './cluster-gateway-secret.ts';
import { tokenPlan } from './hub-credential.ts';
import { fieldOf } from '../../../lib/objects/json-object.ts';
import {
  about,
  bytesField,
  conditionsNamed,
  flagField,
  labelOf,
  listField,
  oldestFirst,
  secretText,
  textField,
  titleOf,
} from './hub-object.ts';
import { oneLine } from '../../../lib/text/one-line.ts';
import type { ExecSettings } from '../kubeconfig/kubeconfig-credential.ts';
import { makeRegistry, memberAddress, type Access, type Registration } from './registration.ts';
import { SourceFault, unusable } from '../unusable.ts';

/** The settings of the source. */
export interface OcmOptions extends GatewaySecretSettings {
  /** The name of the ManagedServiceAccounts. Each cluster has one of this name in its namespace on the hub. */
  readonly managedServiceAccount: string;
  /** Namespace that holds cluster-gateway's Secrets; undefined when these Secrets are not to be read. */
  readonly secretNamespace: string | undefined;
  /**
   * The name of the source: `cluster-gateway` when the operator listed the source `cluster-gateway` before `ocm`; by
   * default `ocm`.
   */
  readonly name?: 'ocm' | 'cluster-gateway';
  readonly exec?: ExecSettings;
}

const managedClusters: WatchedResource = {
  group: 'cluster.open-cluster-management.io',
  version: 'v1',
  resource: 'managedclusters',
};

/**
 * The conditions that OCM's controllers set and that are shown. They are not renamed, as Portcullis has no conditions
 * of these names.
 */
const shownConditions = {
  ManagedClusterConditionAvailable: 'ManagedClusterConditionAvailable',
  ManagedClusterJoined: 'ManagedClusterJoined',
  ManagedClusterConditionClockSynced: 'ManagedClusterConditionClockSynced',
};

export function makeOcmSource(options: OcmOptions): HubSource {
  const registry = makeRegistry('ocm', options.exec);
  const { managedServiceAccount: account, secretNamespace } = options;
  return {
    name: options.name ?? 'ocm',
    watches: [
      managedClusters,
      // All namespaces, but only Secrets of this name, so that RBAC on the hub can be limited with resourceNames.
      { group: '', version: 'v1', resource: 'secrets', fieldSelector: `metadata.name=${account}` },
      ...(secretNamespace === undefined ? [] : [gatewaySecrets(secretNamespace)]),
    ],
    compile([clusters = new Map(), tokens = new Map(), secrets = new Map()]) {
      const joined = (name: string): ApiObject | undefined => {
        const secret = secrets.get(`${secretNamespace}/${name}`);
        return secret !== undefined && isGatewaySecret(secret) ? secret : undefined;
      };
      const managed = oldestFirst(clusters).map(([name, cluster]) =>
        clusterRegistration(cluster, joined(name), tokens.get(`${name}/${account}`), options),
      );
      return registry([...managed, ...separateSecrets(secrets, clusters, options)]);
    },
  };
}

function separateSecrets(secrets: ApiObjects, clusters: ApiObjects, settings: GatewaySecretSettings): Registration[] {
  return oldestFirst(secrets)
    .filter(([, secret]) => isGatewaySecret(secret) && !clusters.has(secret.metadata.name))
    .map(([, secret]) => secretRegistration(secret, settings));
}

function clusterRegistration(
  cluster: ApiObject,
  secret: ApiObject | undefined,
  token: ApiObject | undefined,
  options: OcmOptions,
): Registration {
  const title = titleOf('ManagedCluster', cluster);
  const holder = secret ?? token;
  const credentialType = secret === undefined ? 'ServiceAccountToken' : credentialTypeOf(secret);
  return {
    key: title,
    object: cluster,
    others: [secret, token],
    describe: () => ({
      originalName: cluster.metadata.name,
      sourceDetail: holder === undefined ? title : `${title}, ${titleOf('Secret', holder)}`,
      labels: ownLabels(cluster),
      conditions: [
        acceptanceOf(cluster),
        ...conditionsNamed(cluster, shownConditions),
        ...taintsOf(cluster),
        ...deletionOf(cluster),
      ],
      identityExchange: exchangeOf(secret),
      clusterGateway: gatewayView(secret ?? cluster, credentialType, endpointTypeFor(cluster, secret, options), secret),
    }),
    access: () => accessTo(cluster, title, secret, token, options),
  };
}

/**
 * The endpoint type from the label of the Secret, or without a Secret from the label of the ManagedCluster. Without a
 * Secret and without this label, a ManagedCluster that has no address counts as ClusterProxy if the operator configured
 * konnectivity's proxy server.
 */
function endpointTypeFor(cluster: ApiObject, secret: ApiObject | undefined, options: OcmOptions): string {
  if (secret !== undefined) return endpointTypeOf(secret);
  const written = labelOf(cluster, endpointTypeLabel);
  if (written !== undefined) return written;
  const configs = fieldOf(cluster, 'spec', 'managedClusterClientConfigs');
  const addressed = configs !== undefined && (!Array.isArray(configs) || configs.length > 0);
  return addressed || options.clusterProxy === undefined ? 'Const' : 'ClusterProxy';
}

function accessTo(
  cluster: ApiObject,
  title: string,
  secret: ApiObject | undefined,
  token: ApiObject | undefined,
  options: OcmOptions,
): Access {
  const accepted = about(title, () => flagField('spec.hubAcceptsClient', fieldOf(cluster, 'spec', 'hubAcceptsClient')));
  if (!accepted) {
    throw new SourceFault(
      'HubDeniesClient',
      `${title}: the hub does not accept the cluster; set spec.hubAcceptsClient to true (clusteradm accept)`,
    );
  }
  const holder = secret ?? token;
  if (holder === undefined) throw new SourceFault('NoCredential', noCredential(cluster, title, options));
  const plan = about(titleOf('Secret', holder), () =>
    secret === undefined
      ? tokenPlan('data["token"]', secretText(holder, 'token'))
      : credentialOfSecret(secret, options),
  );
  const type = endpointTypeFor(cluster, secret, options);
  about(titleOf('Secret', holder), () => checkEndpointType(type));
  if (type === 'ClusterProxy') {
    const reach = about(titleOf('Secret', holder), () =>
      tunnelTo(cluster.metadata.name, options, (serverName) =>
        trustBy([secret, cluster], 'data["ca.crt"]', authorityOf(holder), serverName),
      ),
    );
    return { ...reach, plan, conditions: trustConditions(titleOf('Secret', holder), 'data["ca.crt"]', reach.tls) };
  }
  const proxy = secret === undefined ? undefined : about(titleOf('Secret', secret), () => proxyOfSecret(secret));
  return { ...about(title, () => directAccess(cluster, title, secret, holder)), proxy, plan };
}

function noCredential(
  cluster: ApiObject,
  title: string,
  { managedServiceAccount, secretNamespace }: OcmOptions,
): string {
  const { name } = cluster.metadata;
  const account = `create the ManagedServiceAccount ${managedServiceAccount} in the namespace ${name}`;
  const secret =
    secretNamespace === undefined ? '' : `, or a Secret ${secretNamespace}/${name} with the label of cluster-gateway`;
  return `${title} has no credential; ${account}${secret}`;
}

/**
 * The addresses in `spec.managedClusterClientConfigs`, in order. An unusable element is skipped, and the first such
 * fault is reported as a condition. Throws when no element is usable.
 */
function directAccess(
  cluster: ApiObject,
  title: string,
  secret: ApiObject | undefined,
  holder: ApiObject,
): Pick<Access, 'endpoint' | 'tls' | 'fallbacks' | 'conditions'> {
  const field = 'spec.managedClusterClientConfigs';
  const configs = listField(field, fieldOf(cluster, 'spec', 'managedClusterClientConfigs'));
  if (configs.length === 0) {
    throw new SourceFault('NoAddress', `has no ${field}; let the klusterlet report the external server URL`);
  }
  const faults: string[] = [];
  const options = configs.flatMap((config, index): EndpointOption[] => {
    try {
      return [endpointOption(`${field}[${index}]`, config, cluster, secret, holder)];
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      faults.push(error.message);
      return [];
    }
  });
  const [first, ...fallbacks] = options;
  if (first === undefined) throw unusable(faults[0] ?? `has no usable ${field}`);
  const rejected: SourceCondition[] = faults.map((message) => ({
    type: 'ClientConfigRejected',
    status: 'True',
    reason: 'InvalidConfiguration',
    message,
  }));
  const conditions = [...rejected.slice(0, 1), ...trustConditions(title, `${field}[].caBundle`, first.tls)];
  return { ...first, fallbacks, conditions };
}

function endpointOption(
  field: string,
  config: unknown,
  cluster: ApiObject,
  secret: ApiObject | undefined,
  holder: ApiObject,
): EndpointOption {
  const endpoint = memberAddress(`${field}.url`, textField(`${field}.url`, fieldOf(config, 'url')));
  const bundle = bytesField(`${field}.caBundle`, fieldOf(config, 'caBundle'));
  // Without a CA in the client configuration, the CA in the credential's Secret is used, because the cluster's own CA
  // is often not among the system roots.
  const [name, ca] =
    bundle === '' ? ['data["ca.crt"] of its Secret', authorityOf(holder)] : [`${field}.caBundle`, bundle];
  return { endpoint, tls: trustBy([secret, cluster], name, ca) };
}

/**
 * The condition that says whether the hub accepts the cluster. The field `accepted` of VirtualCluster objects, which
 * the gateway's API shows, is read from this condition.
 */
function acceptanceOf(cluster: ApiObject): SourceCondition {
  const accepted = fieldOf(cluster, 'spec', 'hubAcceptsClient') === true;
  return {
    type: 'HubAccepted',
    status: accepted ? 'True' : 'False',
    reason: accepted ? 'HubAcceptsClient' : 'HubDeniesClient',
    message: `spec.hubAcceptsClient is ${accepted ? '' : 'not '}true`,
  };
}

function taintsOf(cluster: ApiObject): readonly SourceCondition[] {
  const taints = fieldOf(cluster, 'spec', 'taints');
  if (!Array.isArray(taints) || taints.length === 0) return [];
  const texts = taints.map((taint) => {
    const [key, value, effect] = ['key', 'value', 'effect'].map((name) => oneLine(fieldOf(taint, name)));
    return `${key}${value === '' ? '' : `=${value}`}:${effect}`;
  });
  return [{ type: 'Tainted', status: 'True', reason: 'Tainted', message: oneLine(texts.join(', ')) }];
}

function deletionOf(cluster: ApiObject): readonly SourceCondition[] {
  if (fieldOf(cluster, 'metadata', 'deletionTimestamp') === undefined) return [];
  return [{ type: 'Deleting', status: 'True', reason: 'Deleting', message: 'the ManagedCluster is being deleted' }];
}
