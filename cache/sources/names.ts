// Names of the sources that watch a hub. They stand apart from the sources, so that the command line can list them
// without loading a gateway.

/** As in `--sources`, in the default order of precedence. */
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
