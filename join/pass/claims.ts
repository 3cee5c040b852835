// Which ClusterJoin has which member, so that one member does not join twice.
import type { HubObject, HubObjects } from '../../cache/hub/hub-types.ts';
import { textAt } from '../../controllers/objects.ts';

export interface Claims {
  /**
   * Claims the member with this UID for a join. Returns the name of another join that has it already; otherwise
   * undefined.
   */
  claim(join: HubObject, clusterUid: string): string | undefined;
  /** Gives up what the join has claimed. */
  release(name: string): void;
}

/**
 * Two joins may reach the same member at the same time, before the status of either says so; hence the memory beside
 * the objects.
 */
export function makeClaims(joins: () => HubObjects): Claims {
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
