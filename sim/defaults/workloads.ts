// Defaults of the kinds in apps, batch and autoscaling (kubernetes pkg/apis/{apps,batch}/v1/defaults.go). The selector
// and the pod labels of a Job contain its own uid, so the uid is assigned before the Job is stored.
import { randomUUID } from 'node:crypto';
import { canonical } from '../store/store.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';
import type { Defaulter } from './defaulter.ts';
import { fill, fillPodSpec } from './pods.ts';

function fillTemplate(spec: JsonObject): void {
  const template: JsonObject = (spec['template'] ??= {});
  template['metadata'] = withoutCreation(template['metadata'] ?? {});
  fillPodSpec((template['spec'] ??= {}));
}

/**
 * Removes `creationTimestamp: null`, which Go clients send in pod templates and which kube-apiserver 1.36 does not
 * store.
 */
function withoutCreation(metadata: JsonObject): JsonObject {
  const { creationTimestamp, ...rest } = metadata;
  return creationTimestamp === null || creationTimestamp === undefined ? rest : metadata;
}

const deployment: Defaulter = (object) => {
  const spec: JsonObject = (object['spec'] ??= {});
  fill(spec, { replicas: 1, strategy: {}, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  fill(spec['strategy'], { type: 'RollingUpdate' });
  if (spec['strategy'].type === 'RollingUpdate')
    fill((spec['strategy'].rollingUpdate ??= {}), { maxUnavailable: '25%', maxSurge: '25%' });
  fillTemplate(spec);
};

const replicaSet: Defaulter = (object) => {
  const spec: JsonObject = (object['spec'] ??= {});
  fill(spec, { replicas: 1, selector: { matchLabels: spec['template']?.metadata?.labels } });
  fillTemplate(spec);
};

const statefulSet: Defaulter = (object) => {
  const spec: JsonObject = (object['spec'] ??= {});
  fill(spec, {
    replicas: 1,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: {},
    revisionHistoryLimit: 10,
    serviceName: '',
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  });
  fill(spec['updateStrategy'], { type: 'RollingUpdate' });
  if (spec['updateStrategy'].type === 'RollingUpdate')
    fill((spec['updateStrategy'].rollingUpdate ??= {}), { partition: 0 });
  fillTemplate(spec);
};

const templateGeneration = 'deprecated.daemonset.template.generation';

const daemonSet: Defaulter = (object, _cluster, current) => {
  const spec: JsonObject = (object['spec'] ??= {});
  fill(spec, { updateStrategy: {}, revisionHistoryLimit: 10 });
  fill(spec['updateStrategy'], { type: 'RollingUpdate' });
  if (spec['updateStrategy'].type === 'RollingUpdate')
    fill((spec['updateStrategy'].rollingUpdate ??= {}), { maxUnavailable: 1, maxSurge: 0 });
  fillTemplate(spec);
  const before = Number(current?.metadata.annotations?.[templateGeneration] ?? 0);
  const hasChanged = current === undefined || canonical(current['spec'].template) !== canonical(spec['template']);
  object.metadata.annotations = {
    ...object.metadata.annotations,
    [templateGeneration]: String(before + (hasChanged ? 1 : 0)),
  };
};

function fillJobSpec(spec: JsonObject): void {
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) fill(spec, { completions: 1 });
  fill(spec, { parallelism: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false, manualSelector: false });
  fill(spec, { podReplacementPolicy: 'TerminatingOrFailed' });
  fillTemplate(spec);
}

const job: Defaulter = (object) => fillJobSpec((object['spec'] ??= {}));

/** Gives a new Job the labels and the selector that match only its own pods. */
export function labelJob(object: KubeObject): void {
  const { spec } = object as JsonObject;
  if (spec.manualSelector === true) return;
  object.metadata.uid ??= randomUUID();
  const { uid, name } = object.metadata;
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  const { metadata } = spec.template;
  metadata.labels = { ...metadata.labels, ...labels };
  spec.selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
  object.metadata.labels ??= { ...metadata.labels };
}

const cronJob: Defaulter = (object) => {
  const spec: JsonObject = (object['spec'] ??= {});
  fill(spec, { concurrencyPolicy: 'Allow', suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 });
  const template: JsonObject = (spec['jobTemplate'] ??= {});
  template['metadata'] = withoutCreation(template['metadata'] ?? {});
  fillTemplate((template['spec'] ??= {}));
};

const autoscaler: Defaulter = (object) => fill((object['spec'] ??= {}), { minReplicas: 1 });

/** The functions that fill in defaults, by storage key. */
export const workloadDefaulters: Readonly<Record<string, readonly Defaulter[]>> = {
  'apps/deployments': [deployment],
  'apps/replicasets': [replicaSet],
  'apps/statefulsets': [statefulSet],
  'apps/daemonsets': [daemonSet],
  'batch/jobs': [job],
  'batch/cronjobs': [cronJob],
  'autoscaling/horizontalpodautoscalers': [autoscaler],
};
