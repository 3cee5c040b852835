// Records which member joined by which ClusterJoin, so that one member does not join under two names.
import { textAt } from '../../lib/objects/json-object.ts';
import type { ApiObject, ApiObjects } from '../../kube/types.ts';

export interface Claims {
  /**
   * Claims the member whose `kube-system` Namespace has this UID for a ClusterJoin. Returns the name of another
   * ClusterJoin by which the member has joined already; otherwise undefined.
   */
  claim(join: ApiObject, clusterUid: string): string | undefined;
  /** Ends the claims of the ClusterJoin with this name. */
  release(name: string): void;
}

/**
 * Besides the `clusterUID` in the statuses of ClusterJoins, claims are kept in memory: two ClusterJoins may reach the
 * same member at the same time, before the UID is in the status of either.
 */
export function makeClaims(joins: () => ApiObjects): Claims {
  const claimed = new Map<string, string>();
  return {
    claim({ metadata: { name } }, clusterUid) {
      for (const [other, object] of joins())
        if (other !== name && textAt(object, 'status', 'clusterUID') === clusterUid) return other;
      const holder = claimed.get(clusterUid);
      if (holder !== undefined && holder !== name) return holder;
      claimed.set(clusterUid, name);
      return undefined;
    },
    release(name) {
      for (const [uid, holder] of claimed) if (holder === name) claimed.delete(uid);
    },
  };
}
