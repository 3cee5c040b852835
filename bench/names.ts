// Names that the measured proxies and the API server must agree on.

/** Name of the cluster in paths, kubeconfigs and contexts. */
export const clusterName = 'bench';

/** The groups of every user. RBAC of the API server grants the first group what the scenarios read. */
export const userGroups = ['bench-readers', 'bench-team'] as const;
