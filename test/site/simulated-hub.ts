// A hub of the simulator that a gateway reads its clusters from. The gateway goes there as an administrator, so rights
// of callers are granted apart where a test is about them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSimulator } from '../../sim/server.ts';
import type { Simulator } from '../../sim/server.ts';
import { kubeconfigText } from './site.ts';
import { clusterRoleBinding, userSubject } from './rbac.ts';

/** A hub with one namespace and one user, the administrator of `admin-token`. */
export async function startAdminHub(namespace: string): Promise<Simulator> {
  return await startSimulator({
    name: 'hub',
    controllers: false,
    tokens: { 'admin-token': { name: 'admin', groups: ['system:authenticated'] } },
    seed: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      clusterRoleBinding('admin', 'cluster-admin', userSubject('admin')),
    ] as never,
  });
}

/** Writes the kubeconfig by which the gateway finds the hub; gives the file. */
export function writeHubKubeconfig(folder: string, hub: Simulator): string {
  const file = join(folder, 'hub.kubeconfig');
  const context = { name: 'hub', server: hub.url, ca: hub.caPem, token: hub.adminToken };
  const text = kubeconfigText([context]);
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(text) as object), 'current-context': 'hub' }));
  return file;
}
