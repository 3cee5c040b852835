// The type of the functions that fill in default values when an object is written.
import type { Cluster } from '../call/cluster.ts';
import type { KubeObject } from '../model/types.ts';

/**
 * Fills in the defaults of an object's kind. Changes the object. `current` is the stored object before an update;
 * undefined on create.
 */
export type Defaulter = (object: KubeObject, cluster: Cluster, current: KubeObject | undefined) => void;
