// The names of the sources that read clusters from a hub. They are in a file without imports, so that the command line
// can list them without loading the sources.

/** The names that `--sources` accepts, in the default order of precedence. */
export const hubSourceNames = [
  'ocm',
  'cluster-gateway',
  'karmada',
  'cluster-api',
  'vcluster',
  'argocd',
  'pediacluster',
] as const;
export type HubSourceName = (typeof hubSourceNames)[number];
