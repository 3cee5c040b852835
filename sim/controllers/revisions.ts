// Maintains ControllerRevisions. They hold earlier pod templates of StatefulSets and DaemonSets, to which a rollout can
// be undone. When the owner returns to an earlier template, the ControllerRevision of this template gets a new, higher
// number.
import type { Cluster } from '../call/cluster.ts';
import { canonical } from '../store/store.ts';
import type { KubeObject } from '../model/types.ts';
import { createOwned, edit, hashText, ownedBy, ownedObjects, removeOwned } from './objects.ts';

const key = 'apps/controllerrevisions';

/**
 * The ControllerRevision for the owner's present pod template; it is created when there is none. Its name ends with the
 * hash that pods get as a label.
 */
export function currentRevision(cluster: Cluster, owner: KubeObject): { readonly name: string; readonly hash: string } {
  const data = { spec: { template: { ...owner['spec'].template, $patch: 'replace' } } };
  const revisions = ownedObjects(cluster, key, owner);
  const highest = Math.max(0, ...revisions.map((entry) => Number(entry['revision'])));
  const found = revisions.find((entry) => canonical(entry['data']) === canonical(data));
  if (found !== undefined) {
    if (found['revision'] < highest) edit(cluster, key, found, (next) => void (next['revision'] = highest + 1));
    return { name: found.metadata.name, hash: found.metadata.labels?.['controller-revision-hash'] ?? '' };
  }
  const hash = hashText(data);
  const name = `${owner.metadata.name}-${hash}`;
  createOwned(cluster, {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name,
      namespace: owner.metadata.namespace,
      labels: { ...owner['spec'].selector?.matchLabels, 'controller-revision-hash': hash },
      ownerReferences: [ownedBy(owner)],
    },
    data,
    revision: highest + 1,
  });
  const limit: number = owner['spec'].revisionHistoryLimit ?? 10;
  const old = revisions.toSorted((a, b) => b['revision'] - a['revision']).slice(limit);
  for (const entry of old) removeOwned(cluster, key, entry);
  return { name, hash };
}
