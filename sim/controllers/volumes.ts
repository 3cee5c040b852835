// Binds PersistentVolumeClaims: each claim at once gets a PersistentVolume, which is created with the requested size.
// If the claim names a volume, the PersistentVolume has this name, and an existing one is used.
import type { Cluster } from '../call/cluster.ts';
import type { KubeObject } from '../model/types.ts';
import { createOwned, edit } from './objects.ts';

/** Binds a pending claim to a volume. */
export function reconcileClaim(cluster: Cluster, claim: KubeObject): void {
  if (claim['status']?.phase !== 'Pending' || claim.metadata.deletionTimestamp !== undefined) return;
  const { name, namespace, uid } = claim.metadata;
  const { accessModes, resources, storageClassName = 'standard', volumeMode } = claim['spec'] ?? {};
  const volumeName: string = claim['spec']?.volumeName || `pvc-${uid}`;
  const capacity = { storage: resources?.requests?.storage ?? '1Gi' };
  createOwned(cluster, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeName },
    spec: {
      accessModes,
      capacity,
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
      hostPath: { path: `/var/sim/${volumeName}`, type: '' },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName,
      volumeMode,
    },
    status: { phase: 'Bound' },
  });
  edit(cluster, '/persistentvolumes', cluster.store.get('/persistentvolumes', '', volumeName) ?? claim, (next) => {
    next['status'] = { phase: 'Bound' };
  });
  edit(cluster, '/persistentvolumeclaims', claim, (next) => {
    next['spec'] = { ...next['spec'], volumeName, storageClassName };
    next['status'] = { phase: 'Bound', accessModes, capacity };
  });
}
