// What workloads need of the store they live in.
import type { SimObjects } from '../api/objects.ts';

/** What this needs of a simulator: `simulator.store`. */
export type WorkloadStore = Pick<SimObjects, 'apply' | 'get' | 'list' | 'update' | 'remove' | 'subscribe'>;
