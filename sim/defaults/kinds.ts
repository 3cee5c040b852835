// The functions that fill in defaults, by storage key. They run on every write, so they must not change a field that is
// set.
import type { Cluster } from '../call/cluster.ts';
import type { Resource } from '../store/resources.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import { admitPodSpec, fill, fillPodSpec, qosClass } from './pods.ts';
import { allocate, fillService } from './services.ts';
import { labelJob, workloadDefaulters } from './workloads.ts';
import type { Defaulter } from './defaulter.ts';

const namespace: Defaulter = (object, _cluster, current) => {
  object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  if (current !== undefined) return;
  object['spec'] ??= {};
  object['status'] = { phase: 'Active' };
};

const secret: Defaulter = (object) => {
  object['type'] ??= 'Opaque';
  if (object['stringData'] === undefined) return;
  object['data'] ??= {};
  for (const [key, value] of Object.entries(object['stringData'] as Record<string, string>))
    object['data'][key] = Buffer.from(value).toString('base64');
  delete object['stringData'];
};

const pod: Defaulter = (object, _cluster, current) => {
  const spec: JsonObject = (object['spec'] ??= {});
  fillPodSpec(spec);
  fill(spec, { enableServiceLinks: true });
  if (current === undefined) object['status'] = { phase: 'Pending', qosClass: qosClass(spec) };
};

const isUnset = (status: JsonObject | undefined): boolean => status?.['phase'] === undefined;

const binding: Defaulter = (object) => {
  const group = 'rbac.authorization.k8s.io';
  if (object['roleRef'] !== undefined) fill(object['roleRef'], { apiGroup: group });
  for (const subject of (object['subjects'] ?? []) as JsonObject[])
    if (subject['kind'] !== 'ServiceAccount') fill(subject, { apiGroup: group });
};

const claim: Defaulter = (object) => {
  fill((object['spec'] ??= {}), { volumeMode: 'Filesystem' });
  if (isUnset(object['status'])) object['status'] = { phase: 'Pending' };
};

const volume: Defaulter = (object) => {
  fill((object['spec'] ??= {}), { volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain' });
  if (isUnset(object['status'])) object['status'] = { phase: 'Available' };
};

const storageClass: Defaulter = (object) => fill(object, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });

const definition: Defaulter = (object) => {
  const spec: JsonObject = (object['spec'] ??= {});
  const names: JsonObject = (spec['names'] ??= {});
  const kind: string = names['kind'] ?? '';
  fill(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
  fill(spec, { conversion: { strategy: 'None' } });
};

const event: Defaulter = (object) => {
  fill(object, { type: 'Normal', eventTime: undefined });
  if (object['eventTime'] === undefined) delete object['eventTime'];
};

const byKey: Readonly<Record<string, readonly Defaulter[]>> = {
  '/namespaces': [namespace],
  '/secrets': [secret],
  '/pods': [pod],
  '/services': [fillService],
  '/persistentvolumeclaims': [claim],
  '/persistentvolumes': [volume],
  '/events': [event],
  'rbac.authorization.k8s.io/rolebindings': [binding],
  'rbac.authorization.k8s.io/clusterrolebindings': [binding],
  'storage.k8s.io/storageclasses': [storageClass],
  'apiextensions.k8s.io/customresourcedefinitions': [definition],
  ...workloadDefaulters,
};

/** Changes a new object after managedFields were computed, as an admission plugin of kube-apiserver does. */
export type Admitter = (object: KubeObject, cluster: Cluster) => void;

const admitters: Readonly<Record<string, Admitter>> = {
  '/pods': (object) => admitPodSpec(object['spec']),
  '/services': (object, cluster) => allocate(object, cluster),
  'batch/jobs': labelJob,
  '/namespaces'(object) {
    object['spec'] = { ...object['spec'], finalizers: ['kubernetes'] };
  },
};

/** The admission function of a resource; undefined when it has none. */
export function admitterOf(resource: Resource): Admitter | undefined {
  return admitters[resource.key];
}

/** The functions that fill in defaults for a resource. */
export function defaultersOf(resource: Resource): readonly Defaulter[] {
  return byKey[resource.key] ?? [];
}
