// Recognises requests below the paths of the index that ask for resource metrics (`metrics.k8s.io`), as kubectl top
// reads them.
import { resourceMetricsGroup } from '../../sync/discover/resource-metrics.ts';
import type { IndexSurface } from '../../request/index-groups.ts';

/** A request for resource metrics of one cluster or of all clusters. */
export interface MetricsQuestion {
  /** The cluster in the path; undefined for all clusters. */
  readonly cluster: string | undefined;
  /** Path on each cluster, for example `/apis/metrics.k8s.io/v1beta1/pods`. */
  readonly path: string;
}

/**
 * Which resource metrics (`metrics.k8s.io`) a path asks for; undefined when the path asks for anything else. The index
 * itself answers discovery of the group metrics.k8s.io.
 */
export function metricsQuestion(surface: IndexSurface): MetricsQuestion | undefined {
  if (!('segments' in surface)) return undefined;
  const isOfOne = surface.segments[0] === 'clusters';
  const segments = isOfOne ? surface.segments.slice(2) : surface.segments;
  if (segments[0] !== 'apis' || segments[1] !== resourceMetricsGroup || segments.length < 4) return undefined;
  return {
    cluster: isOfOne ? surface.segments[1] : undefined,
    path: `/${segments.map(encodeURIComponent).join('/')}`,
  };
}
