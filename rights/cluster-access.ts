// What a caller may know of the RBAC of each cluster. Security: a cluster that the gateway does not let the caller
// reach is not in the answer. What is missing of a cluster follows from the caller's own rights and the state of the
// index, and says nothing about objects that the caller may not read.
import { memberView } from '../auth/rules/impersonation.ts';
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord } from '../model/records.ts';
import type { User } from '../model/user.ts';
import { recordUidOf, typeKey } from '../query/types.ts';
import type { ResourceType } from '../query/types.ts';
import type { ClusterRightsOptions } from './cluster-rights.ts';
import type { ScopeAnswer } from './evaluation.ts';
import { grantAllows, noGrant } from '../query/scope/grants.ts';
import { hiddenByAge } from './hidden-cluster.ts';
import type { HiddenCluster } from './hidden-cluster.ts';
import { rightsTypes } from './mirror.ts';
import { rbacGroup } from '../lib/objects/api-names.ts';
import type { RbacView } from './rbac/rbac-view.ts';
import type { RowScopes } from './row-scopes.ts';
import type { StoredIncarnation, StoredIncarnations } from './stored-incarnations.ts';
import type { AskedClusters, KnownRbac } from './access/who-can.ts';

/** Why an answer about a cluster may lack something. */
export interface AccessGap {
  readonly cluster: string;
  /**
   * Those of {@link HiddenCluster}, and `NotIndexed`: the index has nothing of the cluster yet. `NotReadable`: the
   * caller may not list all its roles and bindings. `OtherAuthorizers`: the cluster has authorizers besides RBAC.
   */
  readonly reason: HiddenCluster['reason'] | 'NotIndexed' | 'NotReadable' | 'OtherAuthorizers' | 'TooManyRows';
  readonly message: string;
}

/** What a caller may know of the RBAC of one cluster. */
export interface ClusterAccess {
  readonly cluster: string;
  /** One entry for each incarnation; empty while the copied RBAC may not be used. */
  readonly known: readonly (KnownRbac & { readonly view: RbacView })[];
  /** The caller as the cluster sees them. Undefined when that is not known. */
  readonly identity: User | undefined;
  readonly gaps: readonly AccessGap[];
}

/** The clusters that a caller may reach. */
export interface AccessAnswer {
  readonly clusters: readonly ClusterAccess[];
  /** Changes whenever the set of RBAC objects that the caller is allowed to read changes. */
  readonly digest: string;
}

/** The parts of the index's rights that {@link makeAccess} asks. */
export interface AccessParts extends Pick<
  ClusterRightsOptions,
  'outgoing' | 'modes' | 'confirmations' | 'maxAgeMs' | 'now'
> {
  readonly mirror: { view(incarnation: string): RbacView };
  readonly scopes: Pick<RowScopes, 'scope'>;
  readonly stored: Pick<StoredIncarnations, 'all'>;
  readonly clusters: { list(): readonly ClusterRecord[] };
}

/** Finds what a user may know of the RBAC of some clusters. Rejects as `Scopes.scope` does. */
export type FindAccess = (user: User, asked: AskedClusters) => Promise<AccessAnswer>;

export function makeAccess(parts: AccessParts): FindAccess {
  return async (user, { clusters, clusterSelector }) => {
    const answer = await parts.scopes.scope(user, 'list', rightsTypes, clusters);
    const stored = Map.groupBy((await parts.stored.all()).values(), ({ incarnation }) => recordUidOf(incarnation.id));
    const found: ClusterAccess[] = [];
    for (const record of parts.clusters.list()) {
      if (!answer.reachable.has(record.spec.name)) continue;
      if (clusterSelector !== undefined && !clusterSelector(record.spec.labels)) continue;
      found.push(await accessTo(parts, { user, answer, record, stored: stored.get(record.spec.uid) ?? [] }));
    }
    found.sort((one, other) => (one.cluster < other.cluster ? -1 : 1));
    return { clusters: found, digest: answer.scope.digest };
  };
}

interface Reached {
  readonly user: User;
  readonly answer: ScopeAnswer;
  readonly record: ClusterRecord;
  readonly stored: readonly StoredIncarnation[];
}

async function accessTo(parts: AccessParts, reached: Reached): Promise<ClusterAccess> {
  const { user, answer, record, stored } = reached;
  const cluster = record.spec.name;
  const hidden = answer.hidden.find((each) => each.cluster === cluster);
  if (hidden !== undefined) return { cluster, known: [], identity: undefined, gaps: [hidden] };
  if (stored.length === 0) {
    const message = 'the index has not read its roles and bindings yet';
    return { cluster, known: [], identity: undefined, gaps: [{ cluster, reason: 'NotIndexed', message }] };
  }
  const gaps: AccessGap[] = [];
  const known: ClusterAccess['known'][number][] = [];
  for (const each of stored) {
    const fault = await faultOf(parts, record, each.incarnation.id);
    if (fault !== undefined) gaps.push(fault);
    if (fault === undefined || fault.reason === 'OtherAuthorizers') known.push(knownOf(parts, answer, each));
    if (!readsAll(answer, each.incarnation.id)) gaps.push(notReadable(cluster));
  }
  const outgoing = parts.outgoing(user, record.spec);
  const identity = outgoing === 'self' ? undefined : memberView(outgoing);
  return { cluster, known, identity, gaps: [...new Map(gaps.map((gap) => [gap.reason, gap])).values()] };
}

/**
 * Why the copied RBAC of one incarnation of a cluster is incomplete, or may not be used; undefined when it is complete.
 */
async function faultOf(parts: AccessParts, record: ClusterRecord, incarnation: string): Promise<AccessGap | undefined> {
  const { modes, confirmations, maxAgeMs, now } = parts;
  const cluster = record.spec.name;
  const confirmedAtMs = Math.min(...(await confirmations(incarnation, rightsTypes)));
  const old = hiddenByAge(record, 'roles and bindings', { confirmedAtMs, nowMs: now(), maxAgeMs });
  if (old !== undefined) return old;
  try {
    if ((await modes.modeOf(record, incarnation)) === 'rbac') return undefined;
    const message = 'it has authorizers beside RBAC, which may allow more and refuse what RBAC allows';
    return { cluster, reason: 'OtherAuthorizers', message };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { cluster, reason: 'OtherAuthorizers', message: `whether RBAC alone decides there: ${error.message}` };
  }
}

function knownOf(
  { mirror }: AccessParts,
  { scope }: ScopeAnswer,
  { incarnation, types }: StoredIncarnation,
): ClusterAccess['known'][number] {
  const grants = scope.grants.get(incarnation.id);
  return {
    view: mirror.view(incarnation.id),
    isReadable: (resource, namespace, name) =>
      grantAllows(grants?.get(typeKey({ group: rbacGroup, resource })) ?? noGrant, namespace, name),
    isNamespaced: (type: ResourceType) => types.get(typeKey(type))?.type.namespaced,
  };
}

function readsAll({ scope }: ScopeAnswer, incarnation: string): boolean {
  const grants = scope.grants.get(incarnation);
  return rightsTypes.every((type) => grants?.get(typeKey(type)) === 'all');
}

function notReadable(cluster: string): AccessGap {
  const message = 'you may not list all its roles, clusterroles, rolebindings and clusterrolebindings';
  return { cluster, reason: 'NotReadable', message };
}
