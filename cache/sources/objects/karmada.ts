// The source that makes one cluster of each Karmada Cluster, with two Secrets that the Cluster names: `secretRef` holds
// the CA, `impersonatorSecretRef` the token. Easy to get wrong: anyone who may write a Cluster could name the Secret of
// another cluster, and the token in it would be sent to an address of their choice. So a Secret is used only for the
// Cluster that it belongs to.
import type { ApiObject, ApiObjects, WatchedResource } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import type { ProxyAddress, SourceCondition } from '../../../model/records.ts';
import { tokenPlan, trustIn } from './hub-credential.ts';
import { fieldOf } from '../../../lib/objects/json-object.ts';
import {
  about,
  conditionsNamed,
  flagField,
  labelsOf,
  oldestFirst,
  secretText,
  textField,
  titleOf,
  uidOf,
} from './hub-object.ts';
import { makeRegistry, memberAddress, memberProxy, type Access, type Registration } from './registration.ts';
import { indexingBy, readRegistry, registryGroup, registryPlural, type Registry } from './karmada-registries.ts';
import { SourceFault, unusable } from '../unusable.ts';

export interface KarmadaOptions {
  /** Namespace of the Secrets; Karmada's flag is `--cluster-namespace`. */
  readonly secretNamespace: string;
  /**
   * The API version of the ResourceRegistries on the hub, which say what is indexed. Undefined: ResourceRegistries are
   * not read, and the gateway's configuration says what is indexed.
   */
  readonly registryVersion?: string | undefined;
}

const clusterKind: WatchedResource = { group: 'cluster.karmada.io', version: 'v1alpha1', resource: 'clusters' };

export function makeKarmadaSource({ secretNamespace, registryVersion }: KarmadaOptions): HubSource {
  const registry = makeRegistry('karmada');
  const registryKind = { group: registryGroup, version: registryVersion ?? '', resource: registryPlural };
  return {
    name: 'karmada',
    watches: [
      clusterKind,
      { group: '', version: 'v1', resource: 'secrets', namespace: secretNamespace },
      ...(registryVersion === undefined ? [] : [registryKind]),
    ],
    compile([clusters = new Map(), secrets = new Map(), registries = new Map()]) {
      const owners = ownersOf(clusters, secrets, secretNamespace);
      const known = registryVersion === undefined ? undefined : [...registries.values()].map(readRegistry);
      return registry(
        oldestFirst(clusters).map(([, cluster]) => registrationOf(cluster, secrets, owners, secretNamespace, known)),
      );
    },
  };
}

const references = ['secretRef', 'impersonatorSecretRef'] as const;
type Reference = (typeof references)[number];

/** The `namespace/name` of the Secret to which the field refers; undefined when the field is absent or incomplete. */
function refersTo(cluster: ApiObject, reference: Reference): string | undefined {
  const namespace = fieldOf(cluster, 'spec', reference, 'namespace');
  const name = fieldOf(cluster, 'spec', reference, 'name');
  return typeof namespace === 'string' && typeof name === 'string' ? `${namespace}/${name}` : undefined;
}

/**
 * The name of the Cluster that owns a Secret. The keys, made by {@link ownedKey}, are field and Secret: one Secret can
 * belong to one Cluster as `secretRef` and to another as `impersonatorSecretRef`.
 */
type Owners = ReadonlyMap<string, string>;

function ownedKey(reference: Reference, secret: string): string {
  return `${reference} ${secret}`;
}

/**
 * Finds the Cluster that each Secret belongs to. The first of these that exists decides: the owner reference that
 * Karmada sets when a cluster joins, the Cluster after which Karmada names the Secret, the oldest Cluster that refers
 * to the Secret. Karmada names the Secret of secretRef `<name>` and that of impersonatorSecretRef
 * `<name>-impersonator`. Security: for a Cluster that is called `a-impersonator`, the token of `a` is not its own.
 */
function ownersOf(clusters: ApiObjects, secrets: ApiObjects, namespace: string): Owners {
  const byUid = new Map([...clusters.values()].map((cluster) => [uidOf(cluster), cluster.metadata.name]));
  const owners = new Map<string, string>();
  const claim = (reference: Reference, secret: string, name: string): void => {
    const key = ownedKey(reference, secret);
    if (!owners.has(key)) owners.set(key, name);
  };
  const names = [...clusters.values()].map(({ metadata }) => metadata.name);
  for (const name of names) {
    claim('secretRef', `${namespace}/${name}`, name);
    claim('impersonatorSecretRef', `${namespace}/${name}-impersonator`, name);
  }
  for (const name of names) {
    claim('impersonatorSecretRef', `${namespace}/${name}`, name);
    claim('secretRef', `${namespace}/${name}-impersonator`, name);
  }
  for (const [, cluster] of oldestFirst(clusters)) {
    const { name } = cluster.metadata;
    const referred = references.flatMap((reference) => refersTo(cluster, reference) ?? []);
    for (const secret of referred) for (const reference of references) claim(reference, secret, name);
  }
  for (const [secret, object] of secrets) {
    const uid = ownerUid(object);
    if (uid === undefined) continue;
    for (const reference of references) owners.set(ownedKey(reference, secret), byUid.get(uid) ?? '');
  }
  return owners;
}

function ownerUid(secret: ApiObject): string | undefined {
  const list = fieldOf(secret, 'metadata', 'ownerReferences');
  if (!Array.isArray(list)) return undefined;
  const owner: unknown = list.find((each) => {
    const version = fieldOf(each, 'apiVersion');
    return fieldOf(each, 'kind') === 'Cluster' && typeof version === 'string' && version.startsWith(clusterKind.group);
  });
  const uid = fieldOf(owner, 'uid');
  return typeof uid === 'string' ? uid : undefined;
}

function registrationOf(
  cluster: ApiObject,
  secrets: ApiObjects,
  owners: Owners,
  namespace: string,
  registries: readonly Registry[] | undefined,
): Registration {
  const indexing = registries && indexingBy(registries, cluster);
  const title = titleOf('Karmada Cluster', cluster);
  const { name } = cluster.metadata;
  const keys = references.map((reference) => refersTo(cluster, reference));
  const [authority, token] = keys.map((key) => (key === undefined ? undefined : secrets.get(key)));
  /** The Secret that the reference names. @throws GatewayError CLUSTER_UNUSABLE when this Cluster may not use it */
  const secretOf = (reference: Reference, found: ApiObject | undefined): ApiObject => {
    const key = refersTo(cluster, reference);
    if (key === undefined) throw unusable(`spec.${reference} must name a namespace and a Secret`);
    if (!key.startsWith(`${namespace}/`)) {
      throw unusable(`spec.${reference} names a Secret outside of the namespace ${namespace}; move it there`);
    }
    if (found === undefined) throw new SourceFault('NoCredential', `the Secret ${key} of spec.${reference} is missing`);
    if (owners.get(ownedKey(reference, key)) !== name) {
      throw unusable(
        `spec.${reference} names the Secret ${key}, which belongs to another cluster; give this one its own`,
      );
    }
    return found;
  };
  return {
    key: title,
    object: cluster,
    others: [authority, token],
    settings: JSON.stringify([
      references.map((reference, i) => owners.get(ownedKey(reference, keys[i] ?? '')) ?? ''),
      indexing,
    ]),
    describe: () => ({
      originalName: name,
      sourceDetail: title,
      labels: labelsOf(cluster),
      indexing,
      conditions: karmadaConditions(cluster),
    }),
    access: () =>
      about(title, () =>
        accessTo(cluster, (reference) => secretOf(reference, reference === 'secretRef' ? authority : token)),
      ),
  };
}

function karmadaConditions(cluster: ApiObject): readonly SourceCondition[] {
  return conditionsNamed(cluster, { Ready: 'KarmadaReady', CompleteAPIEnablements: 'CompleteAPIEnablements' });
}

function accessTo(cluster: ApiObject, secretOf: (reference: Reference) => ApiObject): Access {
  const spec = (field: string): unknown => fieldOf(cluster, 'spec', field);
  const insecure = flagField('spec.insecureSkipTLSVerification', spec('insecureSkipTLSVerification'));
  const hasTls = insecure || spec('secretRef') !== undefined;
  const endpoint = memberAddress('spec.apiEndpoint', textField('spec.apiEndpoint', spec('apiEndpoint')), hasTls);
  // As in Karmada: without secretRef the system roots verify the API server, and a secretRef without caBundle is an
  // error.
  let ca = '';
  if (!insecure && spec('secretRef') !== undefined) {
    const secret = secretOf('secretRef');
    ca = about(titleOf('Secret', secret), () => secretText(secret, 'caBundle')) ?? '';
    if (ca === '') throw unusable(`${titleOf('Secret', secret)}: data["caBundle"] is missing; put the CA there`);
  }
  const proxy = proxyOf(spec('proxyURL'), spec('proxyHeader'));
  if (spec('impersonatorSecretRef') === undefined) {
    throw new SourceFault(
      'NoCredential',
      `spec.impersonatorSecretRef is not set; the token of secretRef is not used in its place`,
    );
  }
  const secret = secretOf('impersonatorSecretRef');
  const plan = about(titleOf('Secret', secret), () => tokenPlan('data["token"]', secretText(secret, 'token')));
  return { endpoint, tls: trustIn('data["caBundle"]', ca, insecure), proxy, plan };
}

/**
 * The proxy of `proxyURL`, with the headers of `proxyHeader`. A header's value is a comma-separated list, and each
 * element is sent as a header of its own (Karmada `ParseProxyHeaders`).
 */
function proxyOf(url: unknown, headers: unknown): ProxyAddress | undefined {
  const proxy = memberProxy('spec.proxyURL', textField('spec.proxyURL', url));
  if (proxy === undefined || headers === undefined) return proxy;
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw unusable('spec.proxyHeader must be a mapping of header names to values');
  }
  const pairs = Object.entries(headers).flatMap(([name, values]) => {
    const list = textField('a value of spec.proxyHeader', values).split(',');
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /^(?:host|content-length|transfer-encoding)$/i.test(name)) {
      throw unusable('spec.proxyHeader has a name that is not valid in HTTP');
    }
    return list.map((value): readonly [string, string] => {
      if (!/^[\x20-\x7e]*$/.test(value)) throw unusable('spec.proxyHeader has a value that is not valid in HTTP');
      return [name, value.trim()];
    });
  });
  return pairs.length === 0 ? proxy : { ...proxy, headers: pairs };
}
