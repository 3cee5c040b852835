// The least RBAC that a member cluster must grant the gateway's credential: to impersonate users, and to ask what it
// may do. Easy to get wrong: for RBAC an exec over WebSocket is a `get`. So read-only access lists single resources,
// and no resource that opens a connection. RBAC has no patterns for verbs: "impersonate-on:user-info:*" would match
// nothing, and "*" would allow everything.
import { impersonationRules, userExtras } from '../../lib/rights/impersonation-rules.ts';
import { indexRules, parseIndexResource, reviewRules } from '../../lib/rights/index-rules.ts';
import { rbacGroup } from '../../lib/objects/api-names.ts';
import type { PolicyRule } from '../../lib/rights/policy-rule.ts';
import { usageFailure } from '../terminal/failure.ts';
import type { MemberResource } from './member-discovery.ts';

/** The access to a member cluster that the generated RBAC objects grant. */
export interface MemberAccess {
  readonly account: { readonly namespace: string; readonly name: string };
  /** True for constrained impersonation (KEP-5284), which is on by default from Kubernetes 1.36. */
  readonly constrained: boolean;
  /**
   * The resources that may be read through the gateway; undefined for everything that the caller's own RBAC allows.
   * Only used with `constrained`.
   */
  readonly readable: readonly MemberResource[] | undefined;
  /** True when the gateway impersonates by user name only (`--impersonation-mode=username`). */
  readonly usernameOnly: boolean;
  /**
   * Keys of the user's `extra` that the gateway passes on to clusters, as in its flag `--impersonate-extra`; `*` means
   * all keys.
   */
  readonly extra: readonly string[];
  /** The resources that the gateway indexes; `default` for its default resources, undefined for no index. */
  readonly index?: readonly string[] | 'default' | undefined;
}

const authentication = 'authentication.k8s.io';
/** The user that the gateway impersonates when it probes a cluster. */
const probeUser = 'portcullis:probe';
const roleName = 'portcullis-impersonator';
const probeRoleName = 'portcullis-probe';
/** The user that the gateway impersonates when it reads objects for the index. */
const indexUser = 'portcullis:index';
const indexRoleName = 'portcullis-index';
const reviewRoleName = 'portcullis-index-review';

const resourceVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
/** RBAC verbs for requests that are not about a resource: the HTTP methods. */
const urlVerbs = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];
const readVerbs = ['get', 'list', 'watch'];

/** Paths of discovery, OpenAPI, version and health, which clients read before anything else. */
const readableUrls = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/healthz/*',
  '/livez',
  '/livez/*',
  '/openapi/*',
  '/readyz',
  '/readyz/*',
  '/version',
  '/version/',
];

/** Reviews by which callers ask for their own rights. They are made with the verb `create` but change nothing. */
const selfReviews: readonly MemberResource[] = [
  { group: authentication, name: 'selfsubjectreviews', verbs: ['create'] },
  { group: 'authorization.k8s.io', name: 'selfsubjectaccessreviews', verbs: ['create'] },
  { group: 'authorization.k8s.io', name: 'selfsubjectrulesreviews', verbs: ['create'] },
];

/**
 * Subresources for which a `get` only reads. The list names what is known to be safe, because an API can have other
 * subresources than exec that run something on `get`, such as KubeVirt's console.
 */
const readableSubresources: ReadonlySet<string> = new Set(['status', 'scale']);
const readablePodSubresources: ReadonlySet<string> = new Set(['log', 'ephemeralcontainers', 'resize']);

/** An RBAC object, always cluster-scoped. */
export interface AccessObject {
  readonly apiVersion: string;
  readonly kind: 'ClusterRole' | 'ClusterRoleBinding';
  readonly metadata: { readonly name: string };
}

/** A ClusterRole and its binding, which let `portcullis:index` read the indexed resources. */
export function indexAccessObjects(index: NonNullable<MemberAccess['index']>): readonly AccessObject[] {
  return [
    clusterRole(indexRoleName, index === 'default' ? indexRules() : indexRules(index.map(checkedResource))),
    binding(indexRoleName, [{ kind: 'User', apiGroup: rbacGroup, name: indexUser }]),
  ];
}

/**
 * Returns an entry of `--index-resources` unchanged if it names a resource. @throws Failure (usage) when it does not
 */
function checkedResource(entry: string): string {
  if (parseIndexResource(entry) !== undefined) return entry;
  throw usageFailure(
    `"${entry}" is no resource`,
    'Write RESOURCE or RESOURCE.GROUP, divided by commas, as --index-resources of the gateway.',
  );
}

/**
 * The objects to apply in the cluster: two ClusterRoles with their bindings; with an index, two more ClusterRoles and
 * bindings.
 */
export function memberAccessObjects(access: MemberAccess): readonly AccessObject[] {
  const account = { kind: 'ServiceAccount', name: access.account.name, namespace: access.account.namespace };
  return [
    clusterRole(roleName, access.constrained ? constrainedRules(access) : impersonationRules(access)),
    binding(roleName, [account]),
    // By default every authenticated user has the following rights, but a hardened cluster may have removed them, so
    // they are granted here.
    clusterRole(probeRoleName, [
      {
        apiGroups: ['authorization.k8s.io'],
        resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
        verbs: ['create'],
      },
      { nonResourceURLs: ['/readyz', '/version'], verbs: ['get'] },
    ]),
    binding(probeRoleName, [account, { kind: 'User', apiGroup: rbacGroup, name: probeUser }]),
    ...(access.index === undefined
      ? []
      : [
          ...indexAccessObjects(access.index),
          clusterRole(reviewRoleName, reviewRules),
          binding(reviewRoleName, [account]),
        ]),
  ];
}

/**
 * Rules for constrained impersonation: first whom the gateway may impersonate, then what it may do as these users
 * (pkg/endpoints/filters/impersonation/mode.go of k8s.io/apiserver). ServiceAccounts are impersonated by name only,
 * since the RBAC verb for ServiceAccounts allows nothing else.
 */
function constrainedRules({ usernameOnly, extra, readable }: MemberAccess): readonly PolicyRule[] {
  const identity = usernameOnly ? ['users'] : ['groups', 'uids', 'users', ...userExtras(extra)];
  const who: readonly PolicyRule[] = [
    {
      apiGroups: [authentication],
      resources: extra.includes('*') && !usernameOnly ? ['*'] : identity,
      verbs: ['impersonate:user-info'],
    },
    { apiGroups: [authentication], resources: ['serviceaccounts'], verbs: ['impersonate:serviceaccount'] },
  ];
  if (readable === undefined) {
    return [
      ...who,
      { apiGroups: ['*'], resources: ['*'], verbs: onVerbs(resourceVerbs) },
      { nonResourceURLs: ['*'], verbs: onVerbs(urlVerbs) },
    ];
  }
  return [
    ...who,
    ...readRules(readable),
    ...readRules(selfReviews, ['create']),
    { nonResourceURLs: readableUrls, verbs: onVerbs(['get', 'head']) },
  ];
}

function onVerbs(verbs: readonly string[]): readonly string[] {
  return ['user-info', 'serviceaccount'].flatMap((mode) => verbs.map((verb) => `impersonate-on:${mode}:${verb}`));
}

/** Makes one rule for all resources of an API group that have the same read verbs. */
function readRules(resources: readonly MemberResource[], wanted: readonly string[] = readVerbs): readonly PolicyRule[] {
  const rules = new Map<
    string,
    { readonly group: string; readonly verbs: readonly string[]; readonly names: Set<string> }
  >();
  for (const { group, name, verbs } of resources) {
    const readWith = wanted.filter((verb) => verbs.includes(verb));
    if (readWith.length === 0 || !isReadable(group, name)) continue;
    const key = `${group} ${readWith.join()}`;
    const rule = rules.get(key) ?? { group, verbs: readWith, names: new Set() };
    rule.names.add(name);
    rules.set(key, rule);
  }
  return [...rules.values()]
    .toSorted((one, other) => compare(one.group, other.group) || compare(one.verbs.join(), other.verbs.join()))
    .map(({ group, verbs, names }) => ({
      apiGroups: [group],
      resources: [...names].toSorted(compare),
      verbs: onVerbs(verbs),
    }));
}

/** True for a resource whose get, list or watch can neither run nor change anything. */
export function isReadable(group: string, resource: string): boolean {
  const [name = '', subresource, ...rest] = resource.split('/');
  // Security: the API server of the cluster chooses the names of its resources. A name `*` would grant a right to
  // everything.
  if (rest.length > 0 || !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) || !/^[a-z0-9.-]*$/.test(group)) return false;
  if (subresource === undefined || readableSubresources.has(subresource)) return true;
  return group === '' && name === 'pods' && readablePodSubresources.has(subresource);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
): AccessObject & { readonly rules: readonly PolicyRule[] } {
  return { apiVersion: `${rbacGroup}/v1`, kind: 'ClusterRole', metadata: { name }, rules };
}

function binding(
  name: string,
  subjects: readonly object[],
): AccessObject & { readonly roleRef: object; readonly subjects: readonly object[] } {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
    subjects,
  };
}
