// Keeps some fields of an object when a manifest replaces it: fields that the API server fills in and that cannot be
// removed again, and fields that a controller in the cluster writes, such as injected CA bundles. All other fields
// become as in the manifest. OCM's work agent keeps similar fields (openshift/library-go,
// pkg/operator/resource/resourceapply).
import { canonicalText } from './canonical-text.ts';
import { groupKindOf } from './group-kind.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** A function that returns the manifest with some fields taken from the existing object `live`. */
type Keep = (live: JsonObject, manifest: JsonObject) => JsonObject;

const rules = new Map<string, Keep>(
  Object.entries({
    // The API server adds its finalizer, also to a spec without one.
    Namespace: keepSpec,
    // The kubelet and the cloud controller fill in fields of the spec, such as `providerID`, which cannot be removed.
    Node: keepSpec,
    // Most fields of the spec are immutable, and the volume name is set when the claim is bound.
    PersistentVolumeClaim: keepSpec,
    PersistentVolume: keepClaim,
    Pod: keepPod,
    'Job.batch': keepJob,
    // An autoscaler may have set the number of replicas.
    'Deployment.apps': keepingAbsent('spec', 'replicas'),
    'StatefulSet.apps': keepingAbsent('spec', 'replicas'),
    'ReplicaSet.apps': keepingAbsent('spec', 'replicas'),
    ReplicationController: keepingAbsent('spec', 'replicas'),
    // Controllers add the names of token Secrets and pull Secrets.
    ServiceAccount: (live, manifest) =>
      ['secrets', 'imagePullSecrets'].reduce(
        (kept, field) => replaceAt(kept, [field], (given) => joined(live[field], given)),
        manifest,
      ),
    ConfigMap: keepInjectedData,
    Secret: keepSecret,
    // A controller computes the rules of a ClusterRole with an aggregationRule.
    'ClusterRole.rbac.authorization.k8s.io': (live, manifest) =>
      isJsonObject(manifest['aggregationRule']) ? replaceAt(manifest, ['rules'], () => live['rules']) : manifest,
    'MutatingWebhookConfiguration.admissionregistration.k8s.io': keepBundlesOfWebhooks,
    'ValidatingWebhookConfiguration.admissionregistration.k8s.io': keepBundlesOfWebhooks,
    'CustomResourceDefinition.apiextensions.k8s.io': keepInjectedBundle(
      'spec',
      'conversion',
      'webhook',
      'clientConfig',
    ),
    'APIService.apiregistration.k8s.io': keepInjectedBundle('spec'),
    // The administrator of the cluster chooses the default class.
    'StorageClass.storage.k8s.io': keepingPresent(
      ...['metadata', 'annotations', 'storageclass.kubernetes.io/is-default-class'],
    ),
    'CSIDriver.storage.k8s.io': keepingPresent(
      ...['metadata', 'labels', 'security.openshift.io/csi-ephemeral-volume-profile'],
    ),
  }),
);

/** Returns the manifest, with those fields taken from `live` that belong to the cluster and not to the manifest. */
export function withServerFields(live: JsonObject, manifest: JsonObject): JsonObject {
  const { apiVersion, kind } = live;
  const keep = rules.get(groupKindOf({ apiVersion: String(apiVersion), kind: String(kind) }));
  return keep === undefined ? manifest : keep(live, manifest);
}

/** Takes the field at the path from `live` if the manifest does not have it. */
function keepingAbsent(...path: readonly string[]): Keep {
  return (live, manifest) => replaceAt(manifest, path, (given) => given ?? valueAt(live, path));
}

/** Takes the field at the path from `live` if the object has it, even if the manifest has another value. */
function keepingPresent(...path: readonly string[]): Keep {
  return (live, manifest) => replaceAt(manifest, path, (given) => valueAt(live, path) ?? given);
}

/** Takes all fields of the spec from `live` that the manifest does not have. */
function keepSpec(live: JsonObject, manifest: JsonObject): JsonObject {
  return replaceAt(manifest, ['spec'], (spec) => overlay(live['spec'], spec));
}

/**
 * Keeps the claim that the volume is bound to. A manifest may choose the claim by namespace and name; the binding then
 * adds its UID and resourceVersion, without which the claim would lose the volume.
 */
function keepClaim(live: JsonObject, manifest: JsonObject): JsonObject {
  const claim = valueAt(live, ['spec', 'claimRef']);
  return replaceAt(manifest, ['spec', 'claimRef'], (given) => {
    const isSame = ['namespace', 'name'].every((key) => valueAt(claim, [key]) === valueAt(given, [key]));
    return given === undefined || given === null || isSame ? overlay(claim, given) : given;
  });
}

/**
 * Only a few fields of a Pod can be changed, such as images. So fields that the manifest does not have were filled in
 * by the API server or by admission plugins, and must be kept.
 */
function keepPod(live: JsonObject, manifest: JsonObject): JsonObject {
  const spec = overlay(live['spec'], manifest['spec']);
  if (!isJsonObject(spec)) return manifest;
  const gates = valueAt(live, ['spec', 'schedulingGates']);
  const { schedulingGates: _, ...rest } = spec;
  const tolerations = union(valueAt(live, ['spec', 'tolerations']), valueAt(manifest, ['spec', 'tolerations']));
  return {
    ...manifest,
    spec: {
      ...rest,
      ...(tolerations === undefined ? {} : { tolerations }),
      // Controllers remove scheduling gates, and a removed gate cannot be added again. So the gates of `live` are kept.
      ...(gates === undefined ? {} : { schedulingGates: gates }),
    },
  };
}

/**
 * Selector and template of a Job cannot be changed, and the server has put its labels into both. Kueue suspends and
 * resumes the Jobs of its queues.
 */
function keepJob(live: JsonObject, manifest: JsonObject): JsonObject {
  const isQueued = valueAt(live, ['metadata', 'labels', 'kueue.x-k8s.io/queue-name']) !== undefined;
  const fixed = ['completions', 'completionMode', 'manualSelector', 'managedBy'];
  const fields = isQueued ? [...fixed, 'suspend'] : fixed;
  const kept = fields.reduce((all, field) => keepingAbsent('spec', field)(live, all), manifest);
  return ['selector', 'template'].reduce(
    (all, field) => replaceAt(all, ['spec', field], (given) => overlay(valueAt(live, ['spec', field]), given)),
    kept,
  );
}

/**
 * Keeps the CA certificates that controllers of OpenShift inject into ConfigMaps with a certain label or annotation.
 */
function keepInjectedData(live: JsonObject, manifest: JsonObject): JsonObject {
  const asks = [
    ['ca-bundle.crt', ['labels', 'config.openshift.io/inject-trusted-cabundle']],
    ['service-ca.crt', ['annotations', 'service.beta.openshift.io/inject-cabundle']],
  ] as const;
  return asks
    .filter(([, path]) => valueAt(manifest, ['metadata', ...path]) === 'true')
    .reduce((kept, [key]) => keepingAbsent('data', key)(live, kept), manifest);
}

/**
 * Keeps the data of a ServiceAccount token Secret, which a controller fills in. A Secret without a type has the type
 * Opaque.
 */
function keepSecret(live: JsonObject, manifest: JsonObject): JsonObject {
  const { type = 'Opaque' } = manifest;
  if (type !== 'kubernetes.io/service-account-token') return { ...manifest, type };
  return { ...manifest, type, data: overlay(live['data'], manifest['data'] ?? {}) };
}

/** Keeps the `caBundle` of each webhook, which cert-manager and other controllers inject. */
function keepBundlesOfWebhooks(live: JsonObject, manifest: JsonObject): JsonObject {
  const before = byName(live['webhooks'], 'name');
  return replaceAt(manifest, ['webhooks'], (given) =>
    !Array.isArray(given)
      ? given
      : given.map((webhook: unknown) => {
          const known = isJsonObject(webhook) ? before?.get(webhook['name']) : undefined;
          return known === undefined
            ? webhook
            : keepingAbsent('clientConfig', 'caBundle')(known, webhook as JsonObject);
        }),
  );
}

/** Annotations by which an object asks a controller to inject `caBundle`. */
const injections = [
  'cert-manager.io/inject-ca-from',
  'cert-manager.io/inject-ca-from-secret',
  'cert-manager.io/inject-apiserver-ca',
  'service.beta.openshift.io/inject-cabundle',
];

/** Keeps `caBundle` at the path where the manifest asks for its injection and does not have it. */
function keepInjectedBundle(...path: readonly string[]): Keep {
  return (live, manifest) => {
    const isAsked = injections.some((key) => valueAt(manifest, ['metadata', 'annotations', key]) !== undefined);
    return isAsked && isJsonObject(valueAt(manifest, path))
      ? keepingAbsent(...path, 'caBundle')(live, manifest)
      : manifest;
  };
}

/**
 * Merges the fields of `over` over those of `under` at every depth. Items of lists are matched by `mountPath` or
 * `name`; items that are only in `under` stay, and the order of `under` is kept.
 */
function overlay(under: unknown, over: unknown): unknown {
  if (over === undefined || over === null) return under;
  if (isJsonObject(under) && isJsonObject(over)) {
    const merged: Record<string, unknown> = { ...under };
    for (const [key, value] of Object.entries(over)) merged[key] = overlay(under[key], value);
    return merged;
  }
  for (const key of ['mountPath', 'name']) {
    const [before, after] = [byName(under, key), byName(over, key)];
    if (before === undefined || after === undefined) continue;
    const kept = [...before].map(([name, item]) => overlay(item, after.get(name)));
    return [...kept, ...[...after].filter(([name]) => !before.has(name)).map(([, item]) => item)];
  }
  return over;
}

/** The items of a list of objects by their value of `key`; undefined unless every item has its own, different value. */
function byName(list: unknown, key: string): ReadonlyMap<unknown, JsonObject> | undefined {
  if (!Array.isArray(list)) return undefined;
  const items = list.filter(isJsonObject).filter((item) => typeof item[key] === 'string');
  const found = new Map(items.map((item) => [item[key], item]));
  return found.size === list.length ? found : undefined;
}

/** Joins two lists of objects with names; for an entry in both lists, the fields of the manifest take precedence. */
function joined(live: unknown, given: unknown): unknown {
  return given === undefined || given === null || byName(given, 'name') ? overlay(live, given) : given;
}

/** The entries of both lists without repetition. */
function union(live: unknown, given: unknown): unknown {
  if (!Array.isArray(live) || !Array.isArray(given)) return given ?? live;
  // A Set, since comparing each entry with each other one would take minutes for lists that fit into an object.
  const there = new Set(live.map(canonicalText));
  return [
    ...(live as readonly unknown[]),
    ...(given as readonly unknown[]).filter((each) => !there.has(canonicalText(each))),
  ];
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((found, key) => (isJsonObject(found) ? found[key] : undefined), object);
}

/** The object with what `make` returns at the path; undefined leaves the field out. Does not change `object`. */
function replaceAt(object: JsonObject, path: readonly string[], make: (given: unknown) => unknown): JsonObject {
  const [key, ...rest] = path as readonly [string, ...string[]];
  const given = object[key];
  if (rest.length === 0) {
    const made = make(given);
    if (made === given) return object;
    if (made !== undefined) return { ...object, [key]: made };
    const { [key]: _, ...others } = object;
    return others;
  }
  const inner = isJsonObject(given) ? given : {};
  const made = replaceAt(inner, rest, make);
  return made === inner ? object : { ...object, [key]: made };
}
