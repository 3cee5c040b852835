// The set of objects in one cluster. Its parent Secret is written before anything is applied; objects that are no
// longer among the manifests are deleted at the end. Security: pruning happens only after all objects were applied
// without a failure. More than half of a set, or a Namespace or CustomResourceDefinition, is deleted only when a flag
// allows it.
import { namespaceOf } from './apply-job.ts';
import type { ApplyJob, ClusterKnowledge, ClusterRun, SetOptions } from './apply-job.ts';
import { deleteMember, listMembers, readSet, union, writeSet } from './apply-set.ts';
import type { ApplySet, SetContents, SetMember } from './apply-set.ts';
import type { Kinds } from './kinds.ts';
import { identityOf, objectName, phaseOf } from '../manifests/manifest.ts';
import { groupKindOf } from '../../../lib/objects/group-kind.ts';

/**
 * Writes the parent Secret so that it lists every kind that the set has or will have. This happens before members are
 * created, so that the parent lists every member's kind even when the run breaks off.
 * @throws SetProblem (rejects) when the parent cannot be read or written
 */
export async function beginSet({ job, client }: ClusterRun, { kinds }: ClusterKnowledge, set: ApplySet): Promise<void> {
  const before = await readSet(client, set);
  if (job.options.dryRun || job.stopping.aborted) return;
  const wanted = contentsOf(job, kinds, set);
  await writeSet(client, set, before === undefined ? wanted : union(before, wanted));
}

/** The kinds and namespaces of the objects in the manifests, which the set will have after this run. */
function contentsOf({ manifests, namespace }: ApplyJob, kinds: Kinds, set: ApplySet): SetContents {
  const within = manifests.flatMap((manifest) => {
    const isNamespaced = kinds.find(manifest.apiVersion, manifest.kind)?.namespaced ?? true;
    return isNamespaced ? [manifest.namespace === '' ? namespace : manifest.namespace] : [];
  });
  return { groupKinds: new Set(manifests.map(groupKindOf)), namespaces: new Set([set.namespace, ...within]) };
}

/**
 * Deletes the members of the set that the manifests no longer contain.
 * @returns why members were not deleted; undefined when all were deleted
 * @throws SetProblem, Unreachable (rejects)
 */
export async function pruneSet(
  run: ClusterRun,
  known: ClusterKnowledge,
  { set, prunes, allowsLargePrune }: SetOptions & { readonly set: ApplySet },
): Promise<string | undefined> {
  if (!prunes) return undefined;
  const { job, client, report, listener } = run;
  const wanted = contentsOf(job, known.kinds, set);
  const contents = (await readSet(client, set)) ?? wanted;
  const gone = await membersThatLeft(run, known.kinds, set, union(contents, wanted));
  const obstacle = allowsLargePrune ? undefined : brake(gone, known.membersBefore + gone.length);
  if (obstacle !== undefined) return obstacle;
  for (const member of gone) {
    if (job.stopping.aborted) return undefined;
    const name = objectName({ ...member.kind, name: member.name });
    const refused = await deleteMember(client, member, job.options.dryRun);
    if (refused !== undefined) return `${name} was not pruned: ${refused}`;
    report.deleted.push(name);
    listener.onDeleted(report, name);
  }
  if (!job.options.dryRun) await writeSet(client, set, keepUnserved(wanted, contents, known.kinds));
  return undefined;
}

/**
 * The members of the set that are none of the manifests' objects. A cluster can serve one object in two API groups,
 * such as Events in `v1` and `events.k8s.io`, so that it is listed twice, with the same UID: what a manifest names in
 * one of them has not left.
 */
async function membersThatLeft(
  { client, job }: ClusterRun,
  kinds: Kinds,
  set: ApplySet,
  contents: SetContents,
): Promise<readonly SetMember[]> {
  const kept = new Set(
    job.manifests.flatMap((manifest) => {
      const kind = kinds.find(manifest.apiVersion, manifest.kind);
      return kind === undefined ? [] : [identityOf(manifest, namespaceOf(job, kind, manifest))];
    }),
  );
  const members = await listMembers(client, kinds, set, contents);
  const isKept = ({ kind, namespace, name }: SetMember): boolean => kept.has(identityOf({ ...kind, name }, namespace));
  const uids = new Set(members.filter(isKept).map(({ uid }) => uid));
  return members.filter((member) => !isKept(member) && !uids.has(member.uid));
}

/**
 * Why these members are not deleted unless `--allow-large-prune` is given; undefined when they may be deleted.
 * @param before number of objects that the set had before this run
 */
function brake(gone: readonly SetMember[], before: number): string | undefined {
  const next = 'look at it with --dry-run, then allow it with --allow-large-prune';
  const holder = gone.find(({ kind }) => phaseOf(kind) < 2);
  if (holder !== undefined) {
    const name = objectName({ ...holder.kind, name: holder.name });
    return `not pruned: ${name} left the set, and with it everything in it would go; ${next}`;
  }
  if (gone.length * 2 <= before) return undefined;
  return `not pruned: ${gone.length} of ${before} objects left the set; ${next}`;
}

/**
 * Adds the kinds to `wanted` that the set had before and that the cluster does not serve now: they may be served again
 * later, and objects of them may still exist.
 */
function keepUnserved(wanted: SetContents, before: SetContents, kinds: Kinds): SetContents {
  const unserved = [...before.groupKinds].filter((groupKind) => kinds.findPreferred(groupKind) === undefined);
  return unserved.length === 0 ? wanted : union(wanted, { ...before, groupKinds: new Set(unserved) });
}
