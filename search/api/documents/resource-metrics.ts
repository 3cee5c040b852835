// The types of `metrics.k8s.io`. Discovery of the index lists them, because kubectl top looks there for the group
// first, but the index has no rows of them: requests for them go to the clusters.
import type { TypeInfo } from '../../types.ts';

/** The API group of the resource metrics API (k8s.io/metrics). */
export const resourceMetricsGroup = 'metrics.k8s.io';

/** The verbs of PodMetrics and NodeMetrics. The resource metrics API has no watch. */
export const metricsVerbs: readonly string[] = ['get', 'list'];

/** PodMetrics and NodeMetrics, as metrics-server describes them. */
export const metricsTypes: readonly TypeInfo[] = [metricsType('nodes', false), metricsType('pods', true)];

function metricsType(resource: 'nodes' | 'pods', namespaced: boolean): TypeInfo {
  const kind = namespaced ? 'PodMetrics' : 'NodeMetrics';
  const names = { singular: '', shortNames: [], categories: [] };
  const version = 'v1beta1';
  return {
    group: resourceMetricsGroup,
    resource,
    version,
    versions: [version],
    kind,
    ...names,
    namespaced,
    convertible: false,
  };
}
