// Reads the discovery of a member cluster: two requests for aggregated discovery (KEP-3352), or one request for each
// group version with older API servers. Easy to get wrong: while the server of an aggregated API is down, its group is
// missing or stale in discovery. That does not mean that its types were removed.
import {
  acceptAggregated,
  aggregatedResources,
  groupsIn,
  isAggregated,
  isSubresource,
  listedResources,
  staleGroups,
  type ServedResource,
} from '../../kube/discovery/documents.ts';
import { groupVersionPath } from '../../kube/paths.ts';
import { mostDiscoveryValues, parseLimited } from '../../lib/json/value-count.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import { refusalOf } from '../member/member-faults.ts';
import type { AskMember, SyncTiming } from '../member/sync-types.ts';

/** The result of reading a member cluster's discovery. */
export interface Served {
  /**
   * The resources that the cluster serves, in its order of groups. Within a group, resources of the preferred version
   * come first.
   */
  readonly resources: readonly ServedResource[];
  /** API groups whose aggregated server is down, so that their resources cannot be known now. */
  readonly unknownGroups: ReadonlySet<string>;
}

const accept = `${acceptAggregated},application/json`;
const documentBytes = 32 * 1024 * 1024;

/**
 * Reads the discovery of all groups.
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects) when `/api` or `/apis` cannot be read
 */
export async function readServed(
  ask: AskMember,
  cluster: string,
  timing: Pick<SyncTiming, 'headTimeoutMs'>,
  signal: AbortSignal,
): Promise<Served> {
  const resources: ServedResource[] = [];
  const unknownGroups = new Set<string>();
  const get = async (path: string): Promise<JsonObject> => {
    const answer = await ask({
      path,
      accept,
      headTimeoutMs: timing.headTimeoutMs,
      wholeTimeoutMs: timing.headTimeoutMs * 2,
      signal,
    });
    if (answer.status !== 200) throw await refusalOf(answer, cluster, `discovery (${path})`);
    const document = parseLimited(await readWhole(answer, documentBytes), mostDiscoveryValues);
    return isJsonObject(document) ? document : {};
  };
  for (const root of ['/api', '/apis']) {
    const document = await get(root);
    if (isAggregated(document)) {
      resources.push(...aggregatedResources(document));
      for (const group of staleGroups(document)) unknownGroups.add(group);
      continue;
    }
    for (const { group, versions } of groupsIn(document)) {
      for (const version of versions) {
        try {
          resources.push(...listedResources(await get(groupVersionPath(group, version)), group, version));
        } catch (error) {
          signal.throwIfAborted();
          // The server of one aggregated API may be down and answer 503, or the group may be no name. All other groups
          // can still be read.
          if (!(error instanceof Error)) throw error;
          unknownGroups.add(group);
        }
      }
    }
  }
  return { resources: resources.filter((each) => !isSubresource(each)), unknownGroups };
}
