// The nodes of a simulated cluster. Each has the condition Ready, because kubectl would otherwise show the status
// Unknown.
import { timestamp, type JsonObject } from '../model/types.ts';

const conditions: readonly (readonly [type: string, status: string, reason: string, message: string])[] = [
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
];

/**
 * Makes a Node that is ready. `n`, counted from 1, decides addresses and zone; node 1 has the label of a control plane
 * node.
 */
export function simulatedNode(name: string, n: number, version: string, now: Date): JsonObject {
  const at = timestamp(now);
  const capacity = { cpu: '8', memory: '32Gi', pods: '110', 'ephemeral-storage': '100Gi' };
  const zone = `zone-${String.fromCodePoint(96 + ((n - 1) % 3) + 1)}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'beta.kubernetes.io/arch': 'amd64',
        'beta.kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/zone': zone,
        ...(n === 1 ? { 'node-role.kubernetes.io/control-plane': '' } : {}),
      },
    },
    spec: { podCIDR: `10.244.${n}.0/24`, podCIDRs: [`10.244.${n}.0/24`] },
    status: {
      addresses: [
        { type: 'InternalIP', address: `172.18.0.${n + 1}` },
        { type: 'Hostname', address: name },
      ],
      allocatable: capacity,
      capacity,
      conditions: conditions.map(([type, status, reason, message]) => ({
        type,
        status,
        lastHeartbeatTime: at,
        lastTransitionTime: at,
        reason,
        message,
      })),
      nodeInfo: {
        architecture: 'amd64',
        bootID: '',
        containerRuntimeVersion: 'sim://1.0.0',
        kernelVersion: '6.12.0',
        kubeletVersion: version,
        kubeProxyVersion: '',
        machineID: '',
        operatingSystem: 'linux',
        osImage: 'Simulated Linux',
        systemUUID: '',
      },
    },
  };
}
