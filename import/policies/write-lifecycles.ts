// Writes the PediaClusterLifecycles of one ClusterImportPolicy: creates, changes and deletes them until they are as the
// policy wants, several at a time. One whose source object is gone is deleted; its PediaCluster goes with it, by its
// owner reference.
import { textAt } from '../../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject, ApiObjects } from '../../kube/types.ts';
import { HubRefusal, isConflict, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import { controllerOf, isDeleting } from '../../kube/objects/objects.ts';
import { isPolicy, lifecycles } from '../hub/objects.ts';
import { pathOf, type Choice } from './choose-sources.ts';
import { lifecycleObject, type LifecycleSpec } from './lifecycle-object.ts';

/** The writes that failed, each as a message. */
export interface WriteFaults {
  /**
   * Messages about PediaClusterLifecycles that could not be created or changed. `removed` has those that could not be
   * deleted.
   */
  readonly kept: readonly string[];
  readonly removed: readonly string[];
  /** Messages about source objects whose name is that of a PediaClusterLifecycle that is not this policy's. */
  readonly lost: readonly string[];
}

/** How many PediaClusterLifecycles are written at the same time. */
const atOnce = 8;

/**
 * Writes the PediaClusterLifecycles of a policy. @param specFor returns the spec of the lifecycle for a source object
 */
export async function writeLifecycles(
  parts: { readonly writer: ObjectWriter; readonly lifecycles: () => ApiObjects },
  policy: ApiObject,
  { named, undecided }: Choice,
  specFor: (source: ApiObject) => LifecycleSpec,
): Promise<WriteFaults> {
  const kept: string[] = [];
  const removed: string[] = [];
  const lost: string[] = [];
  const present = parts.lifecycles();
  await forEach(named, async ([name, source]) => {
    const lifecycle = present.get(name);
    if (lifecycle !== undefined && !isOwnedBy(policy, lifecycle)) {
      lost.push(`${pathOf(source)}: the name "${name}" belongs to a lifecycle ${whose(policy, lifecycle)}`);
      return;
    }
    await attempt(kept, `${pathOf(source)}: lifecycle "${name}"`, () =>
      ensure(parts.writer, policy, lifecycle, name, specFor(source)),
    );
  });
  await forEach(present, async ([name, lifecycle]) => {
    if (named.has(name) || isDeleting(lifecycle) || !isOwnedBy(policy, lifecycle)) return;
    if (undecided.has(sourceKeyOf(lifecycle))) return;
    await attempt(removed, `lifecycle "${name}"`, () => parts.writer.remove(lifecycles, lifecycle));
  });
  return { kept, removed, lost };
}

/**
 * Calls `act` for all items, several at a time. If a call fails, rejects with its error once all running calls have
 * ended.
 */
async function forEach<Item>(items: Iterable<Item>, act: (item: Item) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await act(next.value);
  };
  const results = await Promise.allSettled(Array.from({ length: atOnce }, worker));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/**
 * Returns the `namespace/name` of the source object for which this policy has made a PediaClusterLifecycle; undefined
 * for a lifecycle that is not the policy's, or is being deleted.
 */
export function sourceOfOwned(policy: ApiObject, lifecycle: ApiObject | undefined): string | undefined {
  if (lifecycle === undefined || isDeleting(lifecycle) || !isOwnedBy(policy, lifecycle)) return undefined;
  return sourceKeyOf(lifecycle);
}

/** Returns the `namespace/name` of the source object that a PediaClusterLifecycle was created for. */
function sourceKeyOf(lifecycle: ApiObject): string {
  const namespace = textAt(lifecycle, 'spec', 'source', 'namespace');
  const name = textAt(lifecycle, 'spec', 'source', 'name');
  return namespace === '' ? name : `${namespace}/${name}`;
}

async function ensure(
  writer: ObjectWriter,
  policy: ApiObject,
  present: ApiObject | undefined,
  name: string,
  spec: LifecycleSpec,
): Promise<void> {
  if (present === undefined) {
    // A conflict means that the PediaClusterLifecycle exists already and that its watch event has not arrived yet. That
    // event causes the ClusterImportPolicy to be reconciled again.
    await writer.create(lifecycles, lifecycleObject(name, policy, spec)).catch((error: unknown) => {
      if (!isConflict(error)) throw error;
    });
    return;
  }
  if (isDeleting(present)) return;
  const written = { references: [], ...(present['spec'] as object) };
  if (isDeepStrictEqual(written, { references: [], ...spec })) return;
  await writer.patch(lifecycles, present, {
    metadata: { resourceVersion: present.metadata.resourceVersion },
    spec: { references: null, ...spec },
  });
}

async function attempt(failures: string[], what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof HubRefusal)) throw error;
    failures.push(`${what}: ${error.message}`);
  }
}

/**
 * Whether this ClusterImportPolicy is the controlling owner. Compared by UID, since an earlier policy, which was
 * deleted, may have had the same name.
 */
function isOwnedBy(policy: ApiObject, lifecycle: ApiObject): boolean {
  const owner = controllerOf(lifecycle);
  return owner !== undefined && isPolicy(owner) && owner.uid === policy.metadata.uid;
}

/** Text for messages about a PediaClusterLifecycle that this policy does not own: who owns it, such as `of NAME`. */
function whose(policy: ApiObject, lifecycle: ApiObject): string {
  const owner = controllerOf(lifecycle);
  if (owner === undefined) return 'without a controlling owner; delete that lifecycle, or take another name';
  if (!isPolicy(owner)) return `of ${owner.kind} ${owner.name}`;
  return owner.name === policy.metadata.name ? `of an earlier policy ${owner.name}` : `of ${owner.name}`;
}
