// The resources that the index has by default. The gateway lists and watches them, and a command prints the RBAC rules
// that let it read them.
import { rbacGroup } from './objects/api-names.ts';
/** The resources that are indexed by default: common workload, configuration and RBAC kinds, but no Secrets. */
export const defaultResources: readonly string[] = [
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
  `roles.${rbacGroup}`,
  `rolebindings.${rbacGroup}`,
  `clusterroles.${rbacGroup}`,
  `clusterrolebindings.${rbacGroup}`,
];
