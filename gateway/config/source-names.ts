// Names of all sources of clusters. Every command of the command line loads this file, so it must not import anything
// large.
import { hubSourceNames } from '../../cache/sources/names.ts';

/**
 * Every source of clusters. Without `--sources` they are used in this order: when two sources have a cluster of the
 * same name, the earlier one keeps it.
 */
export const sourceNames = ['kubeconfig', ...hubSourceNames] as const;
export type SourceName = (typeof sourceNames)[number];
