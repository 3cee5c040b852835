// Simulated clusters that are registered on a real hub and whose works the gateway executes: as many as a test needs.
import type { Member } from '../../controlplane/fixture.ts';
import { loadKubernetesSpec } from '../../../sim/schema/spec.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../../sim/server.ts';
import type { JsonObject } from '../../../sim/types.ts';
import { chosen, definition, registerCluster } from './works-site.ts';

/** Starts clusters `sim-1`, `sim-2` and so on, each with the CRD of AppliedManifestWorks and a namespace `ns1`. */
export async function startSimulatedClusters(
  count: number,
  options: SimulatorOptions = {},
): Promise<readonly Simulator[]> {
  const spec = loadKubernetesSpec();
  const seed = [
    definition('appliedmanifestworks') as JsonObject,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns1' } },
  ];
  return await Promise.all(
    Array.from({ length: count }, (_, index) => startSimulator({ name: `sim-${index + 1}`, spec, seed, ...options })),
  );
}

/** Registers them on the hub with the labels, and has the gateway execute their works. */
export async function registerSimulated(
  hub: Member,
  simulators: readonly Pick<Simulator, 'name' | 'url' | 'caPem' | 'adminToken'>[],
  labels: object = {},
): Promise<void> {
  for (const { name, url, caPem, adminToken } of simulators)
    await registerCluster(hub, { name, url, caPem, gatewayToken: adminToken }, { labels, annotations: chosen });
}
