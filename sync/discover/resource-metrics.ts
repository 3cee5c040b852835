// The types of `metrics.k8s.io`, for which kubectl top looks in discovery first. These types do not support watch, so
// the index has no rows of them and only remembers whether a member cluster serves them.
import { typeKey, type LiveType } from '../../query/types.ts';
import type { Served } from './discovery-documents.ts';

/** The API group of the resource metrics API (k8s.io/metrics). */
export const resourceMetricsGroup = 'metrics.k8s.io';

/** PodMetrics and NodeMetrics, as metrics-server describes them. */
const metricsTypes: readonly LiveType[] = [metricsType('nodes', false), metricsType('pods', true)];

function metricsType(resource: 'nodes' | 'pods', namespaced: boolean): LiveType {
  const kind = namespaced ? 'PodMetrics' : 'NodeMetrics';
  const names = { singular: '', shortNames: [], categories: [] };
  const version = 'v1beta1';
  return Object.freeze({
    group: resourceMetricsGroup,
    resource,
    version,
    versions: [version],
    kind,
    ...names,
    namespaced,
    convertible: true,
    verbs: ['get', 'list'],
  });
}

/**
 * The types of resource metrics that a member cluster serves. While its metrics-server is down, all of them are
 * returned, so that kubectl top reports unavailable metrics instead of a cluster without a metrics API.
 */
export function measuredTypes({ resources, unknownGroups }: Served): readonly LiveType[] {
  if (unknownGroups.has(resourceMetricsGroup)) return metricsTypes;
  return metricsTypes.filter((type) =>
    resources.some((served) => served.version === type.version && typeKey(served) === typeKey(type)),
  );
}
