// What fills in the defaults of one kind.
import type { Cluster } from '../cluster.ts';
import type { KubeObject } from '../types.ts';

/** Fills an object in place; `current` is undefined on create. */
export type Defaulter = (object: KubeObject, cluster: Cluster, current: KubeObject | undefined) => void;
