// The type of the access to simulated objects through which workloads are created and changed.
import type { SimObjects } from '../api/objects.ts';

/** The functions of `simulator.store` that workloads need. */
export type WorkloadStore = Pick<SimObjects, 'apply' | 'get' | 'list' | 'update' | 'remove' | 'subscribe'>;
