// The rights that the index needs in a member cluster. They are given to the user `portcullis:index`, whom the gateway
// impersonates when it reads objects for the index. Security: Secrets become readable only when they are among the
// chosen resources; `*` includes them.
import { defaultResources } from '../indexed-resources.ts';
import { rbacGroup } from '../objects/api-names.ts';
import type { PolicyRule } from './policy-rule.ts';

const follow = ['list', 'watch'];

/**
 * Rights that the index always needs: these objects tell it who may see what, and which types exist (rightsTypes in
 * sync/discover/selection.ts).
 */
const always: readonly PolicyRule[] = [
  // The index reads the UID of the Namespace kube-system, which changes when a cluster is set up anew.
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
  {
    apiGroups: [rbacGroup],
    resources: ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
    verbs: follow,
  },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: follow },
  { apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: follow },
];

/**
 * RBAC rules for `portcullis:index`: what the index always needs, and the right to list and watch the chosen resources.
 * @param chosen entries of `--index-resources`; the default is {@link defaultResources}
 * @throws TypeError for an entry that {@link parseIndexResource} cannot parse
 */
export function indexRules(chosen: readonly string[] = defaultResources): readonly PolicyRule[] {
  const groups = new Map<string, Set<string>>();
  for (const entry of chosen) {
    const parsed = parseIndexResource(entry);
    if (parsed === undefined) throw new TypeError(`"${entry}" is no resource`);
    const { group, resource } = parsed;
    const names = groups.get(group) ?? new Set();
    groups.set(group, names.add(resource));
  }
  const isAlways = (group: string, resource: string): boolean =>
    always.some((rule) => rule.apiGroups?.includes(group) === true && rule.resources?.includes(resource) === true);
  const rules = [...groups]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([group, names]) => {
      const resources = [...names].filter((name) => !isAlways(group, name)).toSorted();
      return resources.length === 0 ? [] : [{ apiGroups: [group], resources, verbs: follow }];
    });
  return [
    ...always,
    ...rules,
    // Discovery and OpenAPI. Every authenticated user may read them, unless the cluster has been hardened.
    { nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/openapi/*'], verbs: ['get'] },
  ];
}

/**
 * Rights of the gateway's own credential. With them it sends SubjectAccessReviews to the cluster, to learn what
 * authorizers other than RBAC decide.
 */
export const reviewRules: readonly PolicyRule[] = [
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/**
 * Parses an entry of `--index-resources`: `pods`, `deployments.apps`, `*.apps` or `*`, each with or without a filter in
 * braces. Undefined for anything else.
 */
export function parseIndexResource(entry: string): { readonly group: string; readonly resource: string } | undefined {
  const form = /^(\*|[a-z0-9][-a-z0-9]*)(?:\.([a-z0-9][-a-z0-9.]*|\*))?(?:\{.*\})?$/.exec(entry.trim());
  if (form === null) return undefined;
  const [, resource = '', group] = form;
  return { resource, group: group ?? (resource === '*' ? '*' : '') };
}

/** Splits a list at its commas, except at those inside `{…}`. */
export function splitIndexResources(text: string): readonly string[] {
  return [...text.matchAll(/(?:[^,{]|\{[^}]*\}?)+/g)].map(([entry]) => entry.trim()).filter((entry) => entry !== '');
}
