// Which kinds a cluster serves, under which path, and whether their objects are in namespaces. A run asks each cluster
// for its kinds once, and again only after it has applied CustomResourceDefinitions.
import {
  acceptAggregated,
  aggregatedResources,
  isAggregated,
  isSubresource,
  type ServedKind as Served,
} from '../../../kube/discovery/documents.ts';
import { parseExact } from '../../../lib/json/exact-json.ts';
import { refusal, Unreachable } from './member-client.ts';
import type { MemberClient } from './member-client.ts';

/** One kind in one version, as a cluster serves it. */
export interface ServedKind extends Served {
  /** Group and version, as objects of the kind have them. */
  readonly apiVersion: string;
}

/** The kinds that one cluster serves. */
export interface Kinds {
  find(apiVersion: string, kind: string): ServedKind | undefined;
  /** Finds a kind by kind and group, such as `Deployment.apps`, in the version that the cluster's discovery prefers. */
  findPreferred(groupKind: string): ServedKind | undefined;
}

/**
 * Asks a cluster for its kinds by aggregated discovery (KEP-3352).
 * @throws Unreachable (rejects) when the cluster cannot be asked, refuses, or is older than Kubernetes 1.26
 */
export async function discoverKinds(client: MemberClient): Promise<Kinds> {
  const versions = new Map<string, ServedKind>();
  const preferred = new Map<string, ServedKind>();
  for (const path of ['/api', '/apis']) {
    const answer = await client.ask({ method: 'GET', path, accept: acceptAggregated });
    if (answer.status !== 200) throw new Unreachable(refusal(answer));
    const document = parseExact(answer.body);
    if (!isAggregated(document)) {
      throw new Unreachable('the cluster has no aggregated discovery: it is older than Kubernetes 1.26');
    }
    for (const each of aggregatedResources(document)) {
      // Kinds without the verb `get`, such as reviews, are left out, because nothing of them is stored.
      if (isSubresource(each) || !each.verbs.includes('get')) continue;
      const { group, version, kind } = each;
      const groupKind = group === '' ? kind : `${kind}.${group}`;
      const served = { ...each, apiVersion: group === '' ? version : `${group}/${version}` };
      versions.set(`${served.apiVersion} ${kind}`, served);
      // The preferred version of a group comes first.
      if (!preferred.has(groupKind)) preferred.set(groupKind, served);
    }
  }
  return {
    find: (apiVersion, kind) => versions.get(`${apiVersion} ${kind}`),
    findPreferred: (groupKind) => preferred.get(groupKind),
  };
}
