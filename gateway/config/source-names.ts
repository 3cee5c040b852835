// Names of all sources of clusters. Every command of the command line loads this file, so it must not import anything
// large.
import { hubSourceNames } from '../../cache/sources/names.ts';

/**
 * Names of all sources of clusters, such as `kubeconfig`. When two sources have a cluster of the same name, the source
 * that comes first keeps it. This is the order unless `--sources` gives another.
 */
export const sourceNames = ['kubeconfig', ...hubSourceNames] as const;
export type SourceName = (typeof sourceNames)[number];
