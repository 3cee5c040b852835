// Names of all sources of clusters. The command line loads this file for every verb, so it imports nothing heavy.
import { hubSourceNames } from '../../cache/sources/names.ts';

/** Every source of clusters, in the order that decides who keeps a name when `--sources` says nothing. */
export const sourceNames = ['kubeconfig', ...hubSourceNames] as const;
export type SourceName = (typeof sourceNames)[number];
