// Names of the sources that watch a hub, apart from the sources themselves: the command line lists them and must not
// load a gateway for that.

/** As in `--sources`, in the order of precedence where nothing else is said. */
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
