// The kubectl matrix through the hub itself. What the aggregator changes on the way (a path with encoded slashes is
// decoded) is not asked for here.
import { clusterPath } from '../../hub/site.ts';
import { matrixThrough } from './hub-matrix.ts';

matrixThrough('through the hub', async ({ hub }, person) => ({
  user: hub.users[person],
  endpoint: { url: hub.url, caFile: hub.caFile, path: clusterPath('m2') },
}));
