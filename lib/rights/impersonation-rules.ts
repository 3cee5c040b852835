// Makes the RBAC rules that a member cluster needs so that the gateway's credential can impersonate users. Security:
// RBAC reads a rule without resourceNames, or with none in the list, as every name, so a list that names nobody gives
// no rule.
import type { PolicyRule } from './policy-rule.ts';

const authentication = 'authentication.k8s.io';

/**
 * Extra keys that Kubernetes itself sets, for client certificates and ServiceAccount tokens (serviceaccount/util.go,
 * x509.go).
 */
export const kubernetesExtraKeys: readonly string[] = [
  'authentication.kubernetes.io/credential-id',
  'authentication.kubernetes.io/node-name',
  'authentication.kubernetes.io/node-uid',
  'authentication.kubernetes.io/pod-name',
  'authentication.kubernetes.io/pod-uid',
];

/** The users, groups and extra keys that a member cluster lets the gateway impersonate. */
export interface Impersonation {
  /** True when the gateway runs with `--impersonation-mode=username`. */
  readonly usernameOnly: boolean;
  /** Keys of the users' extra values that may be impersonated; `*` means all keys. */
  readonly extra: readonly string[];
  /**
   * Names of the only users that may be impersonated; absent when all users and all ServiceAccounts may be, and `[]`
   * when nobody may be.
   */
  readonly users?: readonly string[] | undefined;
  /** Names of the only groups that may be impersonated; absent when all may be, and `[]` when none may be. */
  readonly groups?: readonly string[] | undefined;
}

/** Rules for the verb `impersonate`. Users and groups are in the core API group, uids and extra are not. */
export function impersonationRules({ usernameOnly, extra, users, groups }: Impersonation): readonly PolicyRule[] {
  const verbs = ['impersonate'];
  const named = (resource: string, names: readonly string[] = []): readonly PolicyRule[] =>
    names.length === 0 ? [] : [{ apiGroups: [''], resources: [resource], resourceNames: names, verbs }];
  const all = [
    ...(usernameOnly || groups !== undefined ? [] : ['groups']),
    ...(users === undefined ? ['serviceaccounts', 'users'] : []),
  ];
  return [
    ...(all.length === 0 ? [] : [{ apiGroups: [''], resources: all, verbs }]),
    ...named('users', users),
    ...(usernameOnly ? [] : named('groups', groups)),
    ...(usernameOnly
      ? []
      : [
          {
            apiGroups: [authentication],
            resources: extra.includes('*') ? ['*'] : ['uids', ...userExtras(extra)],
            verbs,
          },
        ]),
  ];
}

/** The RBAC resources `userextras/<key>` for these keys of a user's extra values, each once. */
export function userExtras(keys: readonly string[]): readonly string[] {
  return [...new Set(keys)].toSorted().map((key) => `userextras/${key}`);
}
