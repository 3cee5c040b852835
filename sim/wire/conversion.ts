// Converts objects between the version in which they are stored and the requested version. Only the versions of Events
// and HorizontalPodAutoscalers differ in more than apiVersion. An Event has the same content in the core group and in
// events.k8s.io, with other field names.
import { apiVersionOf, type Resource } from '../store/resources.ts';
import type { JsonObject, KubeObject } from '../model/types.ts';

const eventNames: readonly (readonly [core: string, events: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

/** Converts a stored object into the version of `resource`. */
export function toVersion(resource: Resource, stored: KubeObject): KubeObject {
  const apiVersion = apiVersionOf(resource);
  if (stored.apiVersion === apiVersion) return stored;
  if (resource.kind === 'Event') return rename(stored, apiVersion, resource.group === '' ? 'core' : 'events');
  if (resource.key === autoscalers && resource.version === 'v1') return scalerToV1(stored);
  return { ...stored, apiVersion };
}

const autoscalers = 'autoscaling/horizontalpodautoscalers';
const percent = 'targetCPUUtilizationPercentage';

function cpuMetric(metric: JsonObject): boolean {
  return metric['resource']?.name === 'cpu' && metric['resource'].target?.averageUtilization !== undefined;
}

function scalerToV1(stored: KubeObject): KubeObject {
  const { metrics = [], ...spec } = stored['spec'] ?? {};
  const target = (metrics as JsonObject[]).find(cpuMetric)?.['resource'].target.averageUtilization;
  const { currentMetrics: _metrics, conditions: _conditions, ...status } = stored['status'] ?? {};
  return {
    ...stored,
    apiVersion: 'autoscaling/v1',
    spec: { ...spec, ...(target === undefined ? {} : { [percent]: target }) },
    status: { currentReplicas: 0, desiredReplicas: 0, ...status },
  };
}

function scalerToStored(written: KubeObject): KubeObject {
  const { [percent]: target, ...spec } = written['spec'] ?? {};
  const metric = {
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: target } },
  };
  return {
    ...written,
    apiVersion: 'autoscaling/v2',
    spec: { ...spec, ...(target === undefined ? {} : { metrics: [metric] }) },
  };
}

/** Converts an object that a client sent into the version in which it is stored. */
export function toStored(resource: Resource, written: KubeObject): KubeObject {
  if (resource.group === 'events.k8s.io') return rename(written, 'v1', 'core');
  if (resource.key === autoscalers && resource.version === 'v1') return scalerToStored(written);
  return written;
}

function rename(event: KubeObject, apiVersion: string, to: 'core' | 'events'): KubeObject {
  const pairs = new Map(eventNames.map(([core, events]) => (to === 'core' ? [events, core] : [core, events])));
  const entries = Object.entries(event).map(([field, value]) => [pairs.get(field) ?? field, value] as const);
  return { ...(Object.fromEntries(entries) as KubeObject), apiVersion };
}
