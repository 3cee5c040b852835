// The type of a way in which clusters are registered on a hub. A request to a member uses only the cluster records that
// were made before (rule "records swap whole" of docs/rules.md), so it does not wait for the hub to find its cluster.
import type { ApiObjects, WatchedResource } from '../../kube/types.ts';
import type { ClusterSpec } from '../../model/records.ts';

/**
 * A way in which clusters are registered on the hub, such as OCM or Karmada: what to watch, and how objects become
 * clusters.
 */
export interface HubSource {
  /** The name in the flag `--sources`. */
  readonly name: string;
  readonly watches: readonly WatchedResource[];
  /**
   * The clusters that the objects describe, in a stable order. Never throws: an object that cannot be used gives a spec
   * with `problem`. The result depends on nothing but the objects. Objects that did not change since the last call give
   * the same spec instance again.
   * @param objects one map for each element of `watches`, in the same order; the map is empty when the hub does not
   * have the kind
   */
  compile(objects: readonly ApiObjects[]): readonly ClusterSpec[];
}
