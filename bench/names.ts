// Names that the measured proxies and the API server must agree on.

/** Name of the cluster in paths, kubeconfigs and contexts. */
export const clusterName = 'bench';

/** The groups of every user. RBAC in the cluster lets the first group read what the scenarios request. */
export const userGroups = ['bench-readers', 'bench-team'] as const;
