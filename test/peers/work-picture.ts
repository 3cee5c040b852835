// What one cluster and the hub show of some works: status, records and objects, without what no two clusters can have
// in common. Two pictures of the same works by different agents are compared field by field.
import { appliedWorkPath, read, workPath, type Json } from '../e2e/distribute/works-site.ts';
import type { Member } from '../controlplane/fixture.ts';

/** One of the two clusters that execute the same works. */
export interface Side {
  readonly hub: Member;
  readonly member: Member;
  readonly hubHash: string;
}

/** What a picture shows. */
export interface Shown {
  /** Names of ManifestWorks. */
  readonly works: readonly string[];
  /** Paths of objects in the cluster. */
  readonly objects: readonly string[];
  /** Whether records are shown. Default true. */
  readonly hasRecords?: boolean;
}

/**
 * @param isCollected whether objects whose AppliedManifestWork is gone count as gone, as a garbage collector would see
 *   to. OCM's agent may write an object once more while its work goes.
 */
export async function takePicture(
  { hub, member, hubHash }: Side,
  { works, objects, hasRecords = true }: Shown,
  isCollected = false,
): Promise<Json> {
  const picture: Json = { works: {}, records: {}, objects: {} };
  for (const name of works) {
    picture.works[name] = shownWork(await read(hub, workPath(name, member.name)));
    if (hasRecords) picture.records[name] = shownRecord(await read(member, appliedWorkPath(`${hubHash}-${name}`)));
  }
  for (const path of objects) {
    const object = await read(member, path);
    const isGone = isCollected && (await hasLostOwners(member, object));
    picture.objects[path] = shownObject(isGone ? undefined : object);
  }
  return picture;
}

async function hasLostOwners(member: Member, object: Json): Promise<boolean> {
  const owners: readonly Json[] = object?.metadata.ownerReferences ?? [];
  for (const { name } of owners) if ((await read(member, appliedWorkPath(name))) !== undefined) return false;
  return owners.length > 0;
}

/** Whether no work is being deleted, and the conditions of each speak of its present generation. */
export async function isSettled({ hub, member }: Side, { works }: Shown): Promise<boolean> {
  for (const name of works) {
    const work = await read(hub, workPath(name, member.name));
    if (work === undefined) continue;
    if (work.metadata.deletionTimestamp !== undefined) return false;
    for (const type of ['Applied', 'Available']) {
      const found = work.status?.conditions?.find((each: Json) => each.type === type);
      if (found?.observedGeneration !== work.metadata.generation) return false;
    }
  }
  return true;
}

/** Every field that is not the same, as `path: theirs, ours`. */
export function differences(theirs: Json, ours: Json, path = ''): readonly string[] {
  if (JSON.stringify(theirs) === JSON.stringify(ours)) return [];
  // The agent writes an object once more when the write of a work's status before it met a conflict, and again and
  // again when a work has it twice.
  if (/\/(?:deprecated\.daemonset\.template\.)?generation$/.test(path) && Number(theirs) > Number(ours)) return [];
  const isOpen = (value: Json): boolean => typeof value === 'object' && value !== null;
  if (!isOpen(theirs) || !isOpen(ours)) return [`${path}: ${JSON.stringify(theirs)}, ${JSON.stringify(ours)}`];
  const keys = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].toSorted();
  return keys.flatMap((key) => differences(theirs[key], ours[key], `${path}/${key}`));
}

function shownWork(work: Json): Json {
  if (work === undefined) return 'none';
  const { metadata, status } = work;
  const manifests = status?.resourceStatus?.manifests ?? [];
  return {
    finalizers: metadata.finalizers,
    deleting: metadata.deletionTimestamp !== undefined,
    conditions: shownConditions(status?.conditions?.filter((each: Json) => !isOurAddition(each))),
    manifests: manifests.map(({ resourceMeta, conditions, statusFeedback }: Json) => ({
      resourceMeta,
      conditions: shownConditions(conditions),
      values: statusFeedback?.values ?? [],
    })),
  };
}

/** The gateway tells whether objects are ready, where no rule of the work does; the agent tells nothing then. */
function isOurAddition({ type, reason }: Json): boolean {
  return ['Progressing', 'Degraded'].includes(type) && reason !== 'ConditionRulesAggregated';
}

function shownConditions(conditions: readonly Json[] = []): Json {
  const shown = conditions.map(({ type, status, reason, message, observedGeneration }) => [
    type,
    { status, reason, message: shortened(message), observedGeneration },
  ]);
  return sorted(Object.fromEntries(shown));
}

/** After a refusal the gateway adds the cluster's own words, which name the account and the right that it lacks. */
function shortened(message: string): string {
  return message.replace(/(will try again in 1m0s).*$/s, '$1');
}

function shownRecord(record: Json): Json {
  if (record === undefined) return 'none';
  const { metadata, spec, status } = record;
  return sorted({
    name: metadata.name,
    labels: metadata.labels,
    finalizers: metadata.finalizers,
    deleting: metadata.deletionTimestamp !== undefined,
    hubHash: spec.hubHash,
    manifestWorkName: spec.manifestWorkName,
    resources: (status?.appliedResources ?? []).filter(isMade).map((named: Json) => ({ ...named, uid: '' })),
  });
}

/** The gateway names an object in the record before it makes it, without a UID; the agent afterwards. */
function isMade({ uid }: Json): boolean {
  return uid !== '';
}

const hashAnnotation = 'open-cluster-management.io/config-spec-hash';

function shownObject(object: Json): Json {
  if (object === undefined) return 'none';
  const { metadata, ...rest } = structuredClone(object);
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _time, managedFields: _fields, ...kept } = metadata;
  for (const owner of kept.ownerReferences ?? []) delete owner.uid;
  // The hash is opaque, and each agent has its own.
  if (kept.annotations?.[hashAnnotation] !== undefined) kept.annotations[hashAnnotation] = 'a hash';
  // The agent's library marks Services with a hash of its own.
  delete kept.annotations?.['operator.openshift.io/spec-hash'];
  if (Object.keys(kept.annotations ?? {}).length === 0) delete kept.annotations;
  // Each cluster gives its own addresses.
  for (const field of ['clusterIP', 'clusterIPs']) if (rest.spec?.[field] !== undefined) rest.spec[field] = 'given';
  return sorted({ metadata: kept, ...rest });
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
