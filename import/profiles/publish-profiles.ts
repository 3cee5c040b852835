// Publishes on the hub a ClusterProfile for each cluster, so that other programs find the clusters and reach them
// through the gateway. Profiles of others, and those of another gateway, are never touched.
import type { ApiClient } from '../../kube/types.ts';
import type { ClusterStore } from '../../model/store.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import { Controller } from '../../controllers/controller.ts';
import type { ControllerLog } from '../../controllers/queue/logged-queue.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { clusterProfiles, isPublishedBy, newProfile, profilePatch, statusPatch } from './profile-object.ts';
import type { Publisher } from './profile-object.ts';

export interface ProfilesOptions {
  readonly client: ApiClient;
  readonly store: Pick<ClusterStore, 'get' | 'list' | 'subscribe'>;
  /**
   * Whether all sources (hub, kubeconfig files) have been read. Before that, no profile is deleted for want of a
   * cluster.
   */
  readonly areClustersKnown: () => boolean;
  readonly publisher: Publisher;
  readonly log: ControllerLog;
}

/**
 * Every so many milliseconds all profiles are compared with what they should say, since no event tells of a changed
 * certificate authority or of sources that have been read.
 */
const lookMs = 10_000;

const nameTaken = 'profiles: another ClusterProfile has the name of this cluster and is left alone';

/** Starts publishing; the returned function stops it. The profiles stay, for the replica that becomes leader next. */
export function startProfiles({ client, store, areClustersKnown, publisher, log }: ProfilesOptions): () => void {
  const { namespace } = publisher;
  const controller = new Controller({ client, log, what: 'profiles' });
  const { writer } = controller;
  const reported = new Set<string>();
  const profiles = controller.follow(
    { ...clusterProfiles, namespace },
    {
      onEach: ({ object }) => queue.add(object.metadata.name),
      onState: ({ phase, synced }) => {
        if (synced && phase === 'watching') lookAtAll();
      },
    },
  );

  const queue = controller.queue('ClusterProfile', async (name): Promise<Outcome> => {
    const { phase, synced } = profiles.state();
    if (!synced || phase === 'missing') return 'done';
    const profile = profiles.objects.get(`${namespace}/${name}`);
    const record = store.get(name);
    if (profile !== undefined && !isPublishedBy(publisher, profile)) {
      if (record !== undefined && !reported.has(name)) log.warn({ namespace, name }, nameTaken);
      reported.add(name);
      return 'done';
    }
    reported.delete(name);
    if (record === undefined) {
      if (profile !== undefined && !isDeleting(profile) && areClustersKnown())
        await writer.remove(clusterProfiles, profile);
      return 'done';
    }
    if (profile !== undefined && isDeleting(profile)) return 'done';
    const patch = profile && profilePatch(record, profile);
    const present =
      profile === undefined
        ? await writer.create(clusterProfiles, newProfile(publisher, record))
        : patch === undefined
          ? profile
          : await writer.patch(clusterProfiles, profile, patch);
    const status = statusPatch(publisher, record, present);
    if (status !== undefined) await writer.patchStatus(clusterProfiles, present, status);
    return 'done';
  });

  function lookAtAll(): void {
    for (const { spec } of store.list()) queue.add(spec.name);
    for (const { metadata } of profiles.objects.values()) queue.add(metadata.name);
  }

  controller.atClose(store.subscribe(({ record }) => queue.add(record.spec.name)));
  controller.every(lookMs, lookAtAll);
  return () => controller.close();
}
