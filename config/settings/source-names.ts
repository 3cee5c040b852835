// Names of all sources of clusters. This file must not import anything large: every command of the command line loads
// it.
import { hubSourceNames } from '../../cache/sources/names.ts';

/**
 * Names of all sources of clusters, such as `kubeconfig`. Of two new and equally old clusters with the same name,
 * that of the source that comes first here gets it, unless `--sources` gives another order.
 */
export const sourceNames = ['kubeconfig', ...hubSourceNames] as const;
export type SourceName = (typeof sourceNames)[number];
