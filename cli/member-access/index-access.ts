// The rights that the index needs in a member: those of the user `portcullis:index`, whom the gateway impersonates.
// Secrets are readable only when they were chosen; a star among the resources chooses them, too.
import { usageFailure } from '../failure.ts';
import type { PolicyRule } from './policy-rule.ts';

const rbac = 'rbac.authorization.k8s.io';
const follow = ['list', 'watch'];

/**
 * Read of every indexed cluster, since rights and types are decided by them (search/sync/discover/selection.ts,
 * rightsTypes).
 */
const always: readonly PolicyRule[] = [
  // Its kube-system Namespace says which life of a cluster this is.
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [rbac], resources: ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'], verbs: follow },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: follow },
  { apiGroups: ['apiregistration.k8s.io'], resources: ['apiservices'], verbs: follow },
];

/**
 * As `--index-resources` of the gateway by default (search/sync/discover/selection.ts, defaultResources; a test
 * compares them).
 */
export const defaultIndexResources: readonly string[] = [
  'pods',
  'services',
  'configmaps',
  'nodes',
  'namespaces',
  'serviceaccounts',
  'persistentvolumes',
  'persistentvolumeclaims',
  'resourcequotas',
  'limitranges',
  'replicationcontrollers',
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'replicasets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'ingresses.networking.k8s.io',
  'networkpolicies.networking.k8s.io',
  'horizontalpodautoscalers.autoscaling',
  'poddisruptionbudgets.policy',
  'storageclasses.storage.k8s.io',
  'customresourcedefinitions.apiextensions.k8s.io',
  `roles.${rbac}`,
  `rolebindings.${rbac}`,
  `clusterroles.${rbac}`,
  `clusterrolebindings.${rbac}`,
];

/**
 * Of `portcullis:index`: rules for what is always read and for what is chosen. @param chosen undefined: the default
 * list
 */
export function indexRules(chosen: readonly string[] = defaultIndexResources): readonly PolicyRule[] {
  const groups = new Map<string, Set<string>>();
  for (const entry of chosen) {
    const { group, resource } = readResource(entry);
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
    // Discovery and OpenAPI, which everybody who is authenticated may read unless a cluster was hardened.
    { nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/openapi/*'], verbs: ['get'] },
  ];
}

/** Of the gateway's own credential: what a member's other authorizers decide is asked of the member itself. */
export const reviewRules: readonly PolicyRule[] = [
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/** `pods`, `deployments.apps`, `*.apps`, `*`, with or without a filter in braces. @throws Failure (usage) */
function readResource(entry: string): { readonly group: string; readonly resource: string } {
  const form = /^(\*|[a-z0-9][-a-z0-9]*)(?:\.([a-z0-9][-a-z0-9.]*|\*))?(?:\{.*\})?$/.exec(entry.trim());
  if (form === null) {
    throw usageFailure(
      `"${entry}" is no resource`,
      'Write RESOURCE or RESOURCE.GROUP, divided by commas, as --index-resources of the gateway.',
    );
  }
  const [, resource = '', group] = form;
  return { resource, group: group ?? (resource === '*' ? '*' : '') };
}

/** Divides a list at its commas, but not inside of `{…}`. */
export function splitIndexResources(text: string): readonly string[] {
  return [...text.matchAll(/(?:[^,{]|\{[^}]*\}?)+/g)].map(([entry]) => entry.trim()).filter((entry) => entry !== '');
}
