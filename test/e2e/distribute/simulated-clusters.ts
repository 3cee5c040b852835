// Simulated clusters that are registered on a real hub and whose works the gateway executes: as many as a test needs.
import type { Member } from '../../controlplane/fixture.ts';
import { loadKubernetesSpec } from '../../../sim/schema/spec.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../../sim/server.ts';
import type { JsonObject } from '../../../sim/model/types.ts';
import { chosen, definition, executorAccess, registerCluster } from './works-site.ts';

const spec = loadKubernetesSpec();

/**
 * Starts clusters `sim-1`, `sim-2` and so on, with AppliedManifestWorks, namespace `ns1` and the default executor.
 * @param before so many were started before, which have the first numbers
 */
export async function startSimulatedClusters(
  count: number,
  options: SimulatorOptions = {},
  before = 0,
): Promise<readonly Simulator[]> {
  const seed = [
    definition('appliedmanifestworks'),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns1' } },
    ...executorAccess(),
  ] as JsonObject[];
  return await Promise.all(
    Array.from({ length: count }, (_, index) =>
      startSimulator({ name: `sim-${before + index + 1}`, spec, seed, ...options }),
    ),
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
