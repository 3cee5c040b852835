// Finds out what the user may do in each cluster, with Kubernetes' self-subject reviews, which each cluster answers
// itself.
import { clusterOf, paths } from '../api/kube.ts';
import type { Metadata } from '../api/kube.ts';
import { post } from '../api/api.ts';

export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** A verb and a resource for which an RBAC right is needed, such as `create pods/exec`. */
export interface Deed {
  readonly title: string;
  readonly verb: string;
  readonly group: string;
  /** Plural name of the resource, with the subresource if there is one, such as `pods/exec`. */
  readonly resource: string;
}

export type Verdict = 'yes' | 'some' | 'no';

/** The actions for which the access page shows whether each cluster allows them. */
export const deeds: readonly Deed[] = [
  { title: 'see pods', verb: 'list', group: '', resource: 'pods' },
  { title: 'read logs', verb: 'get', group: '', resource: 'pods/log' },
  { title: 'open a shell', verb: 'create', group: '', resource: 'pods/exec' },
  { title: 'create deployments', verb: 'create', group: 'apps', resource: 'deployments' },
  { title: 'change deployments', verb: 'patch', group: 'apps', resource: 'deployments' },
  { title: 'delete pods', verb: 'delete', group: '', resource: 'pods' },
  { title: 'read secrets', verb: 'get', group: '', resource: 'secrets' },
];

/** Whether RBAC rules allow an action: for all names (`yes`), only for some names (`some`), or not at all (`no`). */
export function judge(
  rules: readonly Rule[],
  { verb, group, resource }: Pick<Deed, 'verb' | 'group' | 'resource'>,
): Verdict {
  const [, subresource] = resource.split('/');
  const matching = rules.filter(
    ({ verbs, apiGroups = [], resources = [] }) =>
      has(verbs, verb) &&
      has(apiGroups, group) &&
      (has(resources, resource) || (subresource !== undefined && resources.includes(`*/${subresource}`))),
  );
  if (matching.some(({ resourceNames = [] }) => resourceNames.length === 0)) return 'yes';
  return matching.length > 0 ? 'some' : 'no';
}

function has(list: readonly string[], word: string): boolean {
  return list.includes('*') || list.includes(word);
}

export interface ClusterRules {
  readonly cluster: string;
  readonly rules: readonly Rule[];
  /**
   * True when the cluster could not list all rules, for example because it uses a webhook authorizer. The verdict `no`
   * may then be wrong.
   */
  readonly incomplete: boolean;
}

interface ReviewList<S> {
  readonly items: readonly { readonly metadata: Metadata; readonly status: S }[];
}

const reviews = `${paths.everyCluster}/apis/authorization.k8s.io/v1`;

/** Reads the rules of the user in one namespace of every cluster, with one request. */
export async function readRules(
  namespace: string,
  signal: AbortSignal,
): Promise<{ readonly clusters: readonly ClusterRules[]; readonly warnings: readonly string[] }> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
  const list = await post<ReviewList<{ resourceRules?: readonly Rule[]; incomplete?: boolean }>>(
    `${reviews}/selfsubjectrulesreviews`,
    body,
    signal,
  );
  const clusters = list.items.map(({ metadata, status }) => ({
    cluster: clusterOf(metadata),
    rules: status.resourceRules ?? [],
    incomplete: status.incomplete ?? false,
  }));
  return { clusters, warnings: list.warnings };
}

export interface AccessAnswer {
  readonly cluster: string;
  readonly allowed: boolean;
  readonly reason: string;
}

/** Asks every cluster with one request whether the user may do something. An empty namespace means all namespaces. */
export async function askAccess(
  { verb, resource, group, namespace }: Record<'verb' | 'resource' | 'group' | 'namespace', string>,
  signal: AbortSignal,
): Promise<{ readonly answers: readonly AccessAnswer[]; readonly warnings: readonly string[] }> {
  const [plural, subresource] = resource.split('/');
  const resourceAttributes = {
    verb,
    resource: plural,
    ...(subresource && { subresource }),
    group,
    ...(namespace && { namespace }),
  };
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
  const list = await post<ReviewList<{ allowed: boolean; reason?: string }>>(
    `${reviews}/selfsubjectaccessreviews`,
    body,
    signal,
  );
  const answers = list.items.map(({ metadata, status }) => ({
    cluster: clusterOf(metadata),
    allowed: status.allowed,
    reason: status.reason ?? '',
  }));
  return { answers, warnings: list.warnings };
}

/** `resourceAttributes` of a SelfSubjectAccessReview: the action whose permission is checked. */
export interface Attributes {
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string | undefined;
  readonly name?: string;
}

/** Asks one cluster whether the user may do something; `reason` says why, if the cluster gives a reason. */
export async function mayDo(
  cluster: string,
  resourceAttributes: Attributes,
  signal: AbortSignal,
): Promise<{ readonly allowed: boolean; readonly reason?: string }> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
  const { status } = await post<{ status: { allowed: boolean; reason?: string } }>(
    `${paths.cluster(cluster)}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
    body,
    signal,
  );
  return status;
}
