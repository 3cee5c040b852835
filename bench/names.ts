// Names that the gateway under test and the simulated member must agree on.

/** Name of the member in paths, kubeconfigs and context names. */
export const clusterName = 'bench';

/** Groups of every user; the member grants the first of them what the scenarios read. */
export const userGroups = ['bench-readers', 'bench-team'] as const;
