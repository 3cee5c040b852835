// Records which ClusterJoin has which member, so that one member does not join under two names.
import { textAt } from '../../lib/objects/json-object.ts';
import type { ApiObject, ApiObjects } from '../../kube/types.ts';

export interface Claims {
  /**
   * Claims the member whose `kube-system` Namespace has this UID for a ClusterJoin. Returns the name of another
   * ClusterJoin that has the member already; otherwise undefined.
   */
  claim(join: ApiObject, clusterUid: string): string | undefined;
  /** Ends the claims of the ClusterJoin with this name. */
  release(name: string): void;
}

/**
 * Claims are kept in memory beside the UIDs in the statuses: two ClusterJoins may reach the same member at the same
 * time, before the status of either has its UID.
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
