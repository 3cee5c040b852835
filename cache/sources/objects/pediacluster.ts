// The source that makes one cluster of each PediaCluster of Clusterpedia, which contains address and credential. When
// `caData` is empty, the system roots verify the API server (rule "verification is never silently off" of
// docs/rules.md); Clusterpedia would verify nothing.
import { fieldOf, textsAt } from '../../../lib/objects/json-object.ts';
import type { ApiObject } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import type { SourceIndexing } from '../../../model/records.ts';
import { onlyPlan, trustIn } from './hub-credential.ts';
import {
  about,
  bytesField,
  conditionsNamed,
  labelsOf,
  oldestFirst,
  secretText,
  textField,
  titleOf,
  trimLineEnd,
} from './hub-object.ts';
import { makeRegistry, memberAddress, type Access, type Registration } from './registration.ts';
import { readSecretKubeconfig } from './secret-kubeconfig.ts';
import { unusable } from '../unusable.ts';

/** Which PediaClusters this gateway uses. Clusterpedia divides PediaClusters by `shardingName` among its processes. */
export interface OwnedPediaClusters {
  /** Namespace of the Secrets that `spec.authenticationFrom` names. */
  readonly namespace: string;
  /** Only PediaClusters with this `spec.shardingName` are used; '' selects PediaClusters without a `shardingName`. */
  readonly shardingName: string;
}

/**
 * Makes the source.
 * @param owned when given, PediaClusters with another `shardingName` in spec or status, and PediaClusters that are
 * being deleted, are left out; undefined uses all PediaClusters
 */
export function makePediaClusterSource(owned?: OwnedPediaClusters): HubSource {
  const registry = makeRegistry('pediacluster');
  return {
    name: 'pediacluster',
    watches: [
      ...['pediaclusters', 'clustersyncresources'].map((resource) => ({
        group: 'cluster.clusterpedia.io',
        version: 'v1alpha2',
        resource,
      })),
      ...(owned === undefined ? [] : [{ group: '', version: 'v1', resource: 'secrets', namespace: owned.namespace }]),
    ],
    compile([clusters = new Map(), syncResources = new Map(), secrets = new Map()]) {
      const taken = oldestFirst(clusters).filter(([, cluster]) => owned === undefined || isTaken(cluster, owned));
      return registry(
        taken.map(([, cluster]) => {
          const name = fieldOf(cluster, 'spec', 'syncResourcesRefName');
          const secretOf = (secret: string): ApiObject | undefined => secrets.get(`${owned?.namespace}/${secret}`);
          return registrationOf(
            cluster,
            typeof name === 'string' ? syncResources.get(name) : undefined,
            owned === undefined ? undefined : secretOf,
          );
        }),
      );
    },
  };
}

function isTaken(cluster: ApiObject, { shardingName }: OwnedPediaClusters): boolean {
  const wanted = fieldOf(cluster, 'spec', 'shardingName') ?? '';
  const present = fieldOf(cluster, 'status', 'shardingName') ?? shardingName;
  return (
    wanted === shardingName &&
    present === shardingName &&
    fieldOf(cluster, 'metadata', 'deletionTimestamp') === undefined
  );
}

/** Returns the Secret of that name in {@link OwnedPediaClusters.namespace}; undefined when there is none. */
type SecretOf = (name: string) => ApiObject | undefined;

function registrationOf(
  cluster: ApiObject,
  syncResources: ApiObject | undefined,
  secretOf: SecretOf | undefined,
): Registration {
  const title = titleOf('PediaCluster', cluster);
  const refs = secretOf === undefined ? [] : secretRefs(cluster);
  return {
    key: title,
    object: cluster,
    others: [syncResources, ...refs.map(([, { name }]) => secretOf?.(name))],
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
    access: () => about(title, () => accessTo(cluster, secretOf)),
  };
}

/**
 * The resources that Clusterpedia would collect from this cluster: those listed in the PediaCluster, then those of the
 * ClusterSyncResources to which it refers. Undefined when the PediaCluster has neither a list nor a reference; then the
 * gateway's configuration decides what is indexed. An empty list is a choice, too: nothing. A reference to a missing
 * object gives no resources. Invalid entries are skipped, so that they do not make the cluster unusable.
 */
function indexingOf(cluster: ApiObject, syncResources: ApiObject | undefined): SourceIndexing | undefined {
  const given = fieldOf(cluster, 'spec', 'syncResources');
  const own = groupResources(given);
  const referred = groupResources(fieldOf(syncResources, 'spec', 'syncResources'));
  const resources = [...own, ...referred];
  const allCustomResources = fieldOf(cluster, 'spec', 'syncAllCustomResources') === true;
  const refers = (fieldOf(cluster, 'spec', 'syncResourcesRefName') ?? '') !== '';
  const isChosen = Array.isArray(given) || allCustomResources || refers;
  return !isChosen ? undefined : { resources, allCustomResources };
}

/** Parses a list of Clusterpedia's type ClusterGroupResources. Invalid entries are skipped. */
function groupResources(value: unknown): SourceIndexing['resources'] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: unknown) => {
    const group = fieldOf(entry, 'group') ?? '';
    if (typeof group !== 'string') return [];
    const versions = textsAt(entry, 'versions');
    const resources = textsAt(entry, 'resources').map((resource) => ({ group, resource, versions }));
    // Clusterpedia stores Events together with the object they are about. In the index Events are rows of their own, so
    // the resource `events` is added.
    return textsAt(entry, 'eventsInvolvedResources').length === 0 ? resources : [...resources, events];
  });
}

const events = { group: '', resource: 'events', versions: [] };

/** A reference to one key of a Secret. */
interface SecretRef {
  readonly name: string;
  readonly key: string;
}

/** The fields of `spec.authenticationFrom`. */
const referredFields = ['kubeconfig', 'ca', 'token', 'cert', 'key'] as const;

/** The references in `spec.authenticationFrom`, each with the credential field that its Secret provides. */
function secretRefs(cluster: ApiObject): readonly (readonly [field: (typeof referredFields)[number], SecretRef])[] {
  return referredFields.flatMap((field) => {
    const ref = fieldOf(cluster, 'spec', 'authenticationFrom', field);
    if (ref === undefined) return [];
    const [name, key] = [fieldOf(ref, 'name'), fieldOf(ref, 'key')];
    return [[field, { name: String(name), key: String(key) }] as const];
  });
}

/**
 * The credential fields in the Secrets that `spec.authenticationFrom` names; '' for a field without a reference.
 * @throws GatewayError CLUSTER_UNUSABLE when a Secret or its key is missing or empty
 */
function referredTo(cluster: ApiObject, secretOf: SecretOf): Readonly<Record<(typeof referredFields)[number], string>> {
  const found = { kubeconfig: '', ca: '', token: '', cert: '', key: '' };
  for (const [field, { name, key }] of secretRefs(cluster)) {
    const secret = secretOf(name);
    if (secret === undefined) throw unusable(`Cluster Authentication Error: there is no Secret "${name}"`);
    found[field] = secretText(secret, key) ?? '';
    if (found[field] === '')
      throw unusable(`Cluster Authentication Error: Secret "${name}" has no or an empty key "${key}"`);
  }
  return found;
}

/**
 * How to reach the cluster. A kubeconfig takes precedence over address, CA and credential in fields of their own, as in
 * Clusterpedia's `buildClusterConfig`.
 */
function accessTo(cluster: ApiObject, secretOf: SecretOf | undefined): Access {
  const bytes = (field: string): string => bytesField(`spec.${field}`, fieldOf(cluster, 'spec', field));
  const kubeconfig = bytes('kubeconfig');
  if (kubeconfig !== '') return readSecretKubeconfig('spec.kubeconfig', kubeconfig);
  const inline = { token: bytes('tokenData'), cert: bytes('certData'), key: bytes('keyData') };
  const isInline = inline.token !== '' || (inline.cert !== '' && inline.key !== '');
  const server = trimLineEnd(textField('spec.apiserver', fieldOf(cluster, 'spec', 'apiserver')));
  if (!isInline && fieldOf(cluster, 'spec', 'authenticationFrom') !== undefined) {
    if (secretOf === undefined)
      throw unusable(
        'spec.authenticationFrom is read with --import-policies only; put the credential into the PediaCluster',
      );
    const referred = referredTo(cluster, secretOf);
    if (referred.kubeconfig !== '')
      return readSecretKubeconfig('spec.authenticationFrom.kubeconfig', referred.kubeconfig);
    return singleFields('spec.authenticationFrom', server, referred.ca, referred);
  }
  return singleFields('spec', server, bytes('caData'), inline);
}

/**
 * Checks and combines address, CA and credential that come from single fields and not from a kubeconfig.
 * @param at the part of the PediaCluster that holds the fields, for messages
 * @throws GatewayError CLUSTER_UNUSABLE when address or credential is missing, with the error messages of Clusterpedia
 */
function singleFields(
  at: 'spec' | 'spec.authenticationFrom',
  server: string,
  ca: string,
  { token, cert, key }: Readonly<Record<'token' | 'cert' | 'key', string>>,
): Access {
  if (server === '') throw unusable('Cluster APIServer Endpoint is required');
  if (token === '' && cert === '' && key === '') throw unusable("Cluster APIServer's Token or Cert is required");
  const end = at === 'spec' ? 'Data' : '';
  const name = (field: string): string => `${at}.${field}${end}`;
  return {
    endpoint: memberAddress('spec.apiserver', server, ca !== '' || cert !== ''),
    tls: trustIn(name('ca'), ca, false),
    plan: onlyPlan({ token: name('token'), cert: name('cert'), key: name('key') }, { token, cert, key }),
  };
}
