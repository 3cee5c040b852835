// The least RBAC a member cluster must give the gateway's credential: to impersonate, and to ask what it may do.
// Easy to get wrong: to RBAC a WebSocket exec is a `get`, so the read-only form lists resources one by one and none
// that opens a stream. RBAC has no patterns for verbs either: "impersonate-on:user-info:*" would mean nothing and
// "*" everything.
import { indexRules, reviewRules } from './index-access.ts';
import type { MemberResource } from './member-discovery.ts';
import type { PolicyRule } from './policy-rule.ts';

/** What is asked for. */
export interface MemberAccess {
  readonly account: { readonly namespace: string; readonly name: string };
  /** Constrained impersonation (KEP-5284), on by default from Kubernetes 1.36. */
  readonly constrained: boolean;
  /**
   * Resources of the member that may be read; undefined lets everything be asked that the caller's own RBAC allows.
   * Only with `constrained`.
   */
  readonly readable: readonly MemberResource[] | undefined;
  /** As the gateway's `--impersonation-mode`. */
  readonly usernameOnly: boolean;
  /** Extra keys that go out, as the gateway's `--impersonate-extra`; `*` among them means all. */
  readonly extra: readonly string[];
  /** Resources that the gateway indexes of this cluster; `default` as it does by default, undefined for no index. */
  readonly index?: readonly string[] | 'default' | undefined;
}

/**
 * Extra keys that Kubernetes itself gives: to client certificates and ServiceAccount tokens (serviceaccount/util.go,
 * x509.go).
 */
export const kubernetesExtraKeys: readonly string[] = [
  'authentication.kubernetes.io/credential-id',
  'authentication.kubernetes.io/node-name',
  'authentication.kubernetes.io/node-uid',
  'authentication.kubernetes.io/pod-name',
  'authentication.kubernetes.io/pod-uid',
];

const authentication = 'authentication.k8s.io';
const rbac = 'rbac.authorization.k8s.io';
/** Whom the gateway's probe impersonates. */
const probeUser = 'portcullis:probe';
const roleName = 'portcullis-impersonator';
const probeRoleName = 'portcullis-probe';
/** As whom the gateway follows what it indexes. */
const indexUser = 'portcullis:index';
const indexRoleName = 'portcullis-index';
const reviewRoleName = 'portcullis-index-review';

const resourceVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
/** Of requests without a resource the verb is the HTTP method. */
const urlVerbs = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];
const readVerbs = ['get', 'list', 'watch'];

/** Discovery, OpenAPI, version and health: what a client reads before anything else. */
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

/** Questions a caller asks about themselves; they are made with `create` and change nothing. */
const selfReviews: readonly MemberResource[] = [
  { group: authentication, name: 'selfsubjectreviews', verbs: ['create'] },
  { group: 'authorization.k8s.io', name: 'selfsubjectaccessreviews', verbs: ['create'] },
  { group: 'authorization.k8s.io', name: 'selfsubjectrulesreviews', verbs: ['create'] },
];

/**
 * Subresources that only show something. A list of what is known, since "only exec and its like are streams" is not
 * true of other APIs: KubeVirt's console is a `get` too.
 */
const readableSubresources: ReadonlySet<string> = new Set(['status', 'scale']);
const readablePodSubresources: ReadonlySet<string> = new Set(['log', 'ephemeralcontainers', 'resize']);

/** An object of RBAC without a namespace. */
export interface AccessObject {
  readonly apiVersion: string;
  readonly kind: 'ClusterRole' | 'ClusterRoleBinding';
  readonly metadata: { readonly name: string };
}

/** What lets `portcullis:index` read what is indexed: a role and its binding. */
export function indexAccessObjects(index: NonNullable<MemberAccess['index']>): readonly AccessObject[] {
  return [
    clusterRole(indexRoleName, index === 'default' ? indexRules() : indexRules(index)),
    binding(indexRoleName, [{ kind: 'User', apiGroup: rbac, name: indexUser }]),
  ];
}

/** The objects to apply in the member: two roles and their bindings, two more with an index. */
export function memberAccessObjects(access: MemberAccess): readonly AccessObject[] {
  const account = { kind: 'ServiceAccount', name: access.account.name, namespace: access.account.namespace };
  return [
    clusterRole(roleName, access.constrained ? constrainedRules(access) : classicRules(access)),
    binding(roleName, [account]),
    // Every authenticated user has these by default; a hardened cluster may have taken them away.
    clusterRole(probeRoleName, [
      {
        apiGroups: ['authorization.k8s.io'],
        resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
        verbs: ['create'],
      },
      { nonResourceURLs: ['/readyz', '/version'], verbs: ['get'] },
    ]),
    binding(probeRoleName, [account, { kind: 'User', apiGroup: rbac, name: probeUser }]),
    ...(access.index === undefined
      ? []
      : [
          ...indexAccessObjects(access.index),
          clusterRole(reviewRoleName, reviewRules),
          binding(reviewRoleName, [account]),
        ]),
  ];
}

/** The verb `impersonate`, one thing a rule; users and groups are in the core group. */
function classicRules({ usernameOnly, extra }: MemberAccess): readonly PolicyRule[] {
  const verbs = ['impersonate'];
  if (usernameOnly) return [{ apiGroups: [''], resources: ['serviceaccounts', 'users'], verbs }];
  return [
    { apiGroups: [''], resources: ['groups', 'serviceaccounts', 'users'], verbs },
    { apiGroups: [authentication], resources: extra.includes('*') ? ['*'] : ['uids', ...userExtras(extra)], verbs },
  ];
}

/**
 * Whom the gateway may be, then what it may do as them (apiserver:pkg/endpoints/filters/impersonation/mode.go).
 * ServiceAccounts are sent by name alone, which is all the serviceaccount mode takes.
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

function userExtras(keys: readonly string[]): readonly string[] {
  return [...new Set(keys)].toSorted().map((key) => `userextras/${key}`);
}

/** One rule for the resources of a group that are read with the same verbs. */
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

/** True for a resource that reading cannot turn into doing. */
export function isReadable(group: string, resource: string): boolean {
  const [name = '', subresource, ...rest] = resource.split('/');
  // What a server calls itself is its own choice; a star would be the right to everything.
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
  return { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules };
}

function binding(
  name: string,
  subjects: readonly object[],
): AccessObject & { readonly roleRef: object; readonly subjects: readonly object[] } {
  return {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects,
  };
}
