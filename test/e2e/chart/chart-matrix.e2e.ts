// The kubectl matrix through the hub, with the process, files and ServiceAccount that the chart renders. The roles that
// people get here must be the chart's own, or the matrix proves nothing about them.
import { startChartSite } from '../../chart/site.ts';
import { clusterSecret, secretNamespace } from '../../hub/objects.ts';
import { clusterPath } from '../../hub/site.ts';
import { matrixThrough } from '../hub/hub-matrix.ts';
import type { MatrixSite } from '../hub/hub-matrix.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRoleBinding, userSubject } from '../../site/rbac.ts';

matrixThrough(
  "through the hub with the chart's process",
  async ({ hub }, person) => ({
    user: hub.users[person],
    endpoint: { url: hub.url, caFile: hub.caFile, path: clusterPath('m2') },
  }),
  async (options): Promise<MatrixSite> => {
    const site = await startChartSite({
      ...options,
      namespaces: [secretNamespace],
      sets: ['sources={cluster-gateway}', 'shutdown.delaySeconds=1,shutdown.graceSeconds=5'],
    });
    const { hub, plane } = site;
    for (const role of ['portcullis-clusters-view', 'portcullis-clusters-use']) {
      await hub.apply(clusterRoleBinding(`alice-${role}`, role, userSubject('alice')));
    }
    await hub.apply(clusterSecret(plane.member('m2')));
    await eventually(
      'm2 behind the hub',
      async () => (await hub.request('GET', `${clusterPath('m2')}/readyz`)).status === 200,
    );
    return site;
  },
);
