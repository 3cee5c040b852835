// Names of all sources of clusters. This file must not import anything large: every command of the command line loads
// it.
import { hubSourceNames } from '../../cache/sources/names.ts';

/**
 * Names of all sources of clusters, such as `kubeconfig`. When two sources have a cluster of the same name, the source
 * that comes first here keeps the name, unless `--sources` gives another order.
 */
export const sourceNames = ['kubeconfig', ...hubSourceNames] as const;
export type SourceName = (typeof sourceNames)[number];
