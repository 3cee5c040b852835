// Applies one object in one cluster by server-side apply (KEP-555), and explains a refusal in words.
import { parseExact } from '../../../lib/json/exact-json.ts';
import { patchCall } from '../../../kube/objects/object-calls.ts';
import type { ApiAnswer } from '../../../kube/types.ts';
import { isJsonObject, objectsAt, type JsonObject } from '../../../lib/objects/json-object.ts';
import { partOfLabel } from './apply-set.ts';
import { comparable } from '../manifests/object-diff.ts';
import type { ServedKind } from './kinds.ts';
import { pathOf } from '../../../kube/paths.ts';
import { readStatus } from '../../../kube/status.ts';
import type { Manifest } from '../manifests/manifest.ts';
import { refusal } from './member-client.ts';
import type { MemberClient } from './member-client.ts';
import { withoutSecrets } from '../manifests/secret-values.ts';

/** The name under which `metadata.managedFields` records the fields that this program applies. */
export const fieldManager = 'portcullis';

/** Options for applying objects. */
export interface ApplyOptions {
  /** True to ask the cluster what would happen, without changing anything. */
  readonly dryRun: boolean;
  /** True to take over fields that other field managers own. */
  readonly force: boolean;
  /** True to read whole objects, so that the contents before and after the apply can be compared. */
  readonly compares: boolean;
  /** Id of the set that the objects belong to; undefined when `--set` is not given. */
  readonly setId: string | undefined;
}

/** The result of applying one object. `configured`: the object existed and the apply changed it. */
export type ObjectResult =
  | {
      readonly outcome: 'created' | 'configured' | 'unchanged';
      /**
       * The object before the apply (undefined when there was none) and after it. Both are complete only with the
       * option `compares`; otherwise they may hold nothing but metadata.
       */
      readonly before: JsonObject | undefined;
      readonly after: JsonObject;
    }
  | { readonly outcome: 'failed'; readonly reason: string };

/**
 * What is known of an object before the apply: its content; `absent` when there was none; `unknown` when the user may
 * not read it.
 */
export type Before = JsonObject | 'absent' | 'unknown';

const metadataOnly = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

/** Reads an object before it is applied. @throws Unreachable (rejects) when the cluster cannot be reached */
export async function readBefore(client: MemberClient, path: string, { compares }: ApplyOptions): Promise<Before> {
  const answer = await client.ask({ method: 'GET', path, ...(!compares && { accept: metadataOnly }) });
  if (answer.status === 404) return 'absent';
  const object: unknown = answer.status === 200 ? parseExact(answer.body) : undefined;
  return isJsonObject(object) ? object : 'unknown';
}

/**
 * Applies one object.
 * @param namespace namespace of the object; '' when its kind is cluster-scoped
 * @throws Unreachable (rejects) when the cluster cannot be reached
 */
export async function applyObject(
  client: MemberClient,
  { manifest, kind, namespace, before }: ObjectToApply,
  options: ApplyOptions,
): Promise<ObjectResult> {
  const obstacle = obstacleIn(before, options.setId);
  if (obstacle !== undefined) return { outcome: 'failed', reason: obstacle };
  const { force, dryRun } = options;
  const call = patchCall(pathOf(kind, namespace, manifest.name), {
    ...{ type: 'apply', fieldManager, force, dryRun },
    body: Buffer.from(manifest.body),
  });
  const answer = await client.ask({ ...call, ...(!options.compares && { accept: metadataOnly }) });
  if (answer.status !== 200 && answer.status !== 201) return { outcome: 'failed', reason: reasonOf(answer, manifest) };
  const after = parseExact(answer.body) as JsonObject;
  const existing = typeof before === 'string' ? undefined : before;
  return { outcome: outcomeOf(answer, existing, after, options), before: existing, after };
}

/**
 * An object to apply, with the kind under which the cluster serves it, and what is known of the object before the
 * apply.
 */
export interface ObjectToApply {
  readonly manifest: Manifest;
  readonly kind: ServedKind;
  readonly namespace: string;
  readonly before: Before;
}

/**
 * The reason why an object must not be applied: it is being deleted, or it belongs to another set. Undefined when it
 * may be applied.
 */
function obstacleIn(before: Before, setId: string | undefined): string | undefined {
  const metadata = metadataOf(typeof before === 'string' ? undefined : before);
  if (metadata['deletionTimestamp'] !== undefined) return 'is being deleted; run again when it is gone';
  const labels = isJsonObject(metadata['labels']) ? metadata['labels'] : {};
  const owner = labels[partOfLabel];
  if (owner === undefined || owner === setId) return undefined;
  // Without --set, server-side apply would remove the label of the set. Then no set would ever prune the object.
  const next = setId === undefined ? 'give its --set NAME' : 'leave the object out';
  return `belongs to ${setId === undefined ? 'a' : 'another'} set; ${next}, or remove its label ${partOfLabel}`;
}

function outcomeOf(
  { status }: ApiAnswer,
  before: JsonObject | undefined,
  after: JsonObject,
  { dryRun }: ApplyOptions,
): 'created' | 'configured' | 'unchanged' {
  if (status === 201) return 'created';
  if (before === undefined) return 'configured';
  // A dry run stores nothing, so the resourceVersion stays the same whatever would change. The contents are compared
  // instead.
  const isSame = dryRun ? comparable(before) === comparable(after) : isUntouched(metadataOf(before), metadataOf(after));
  return isSame ? 'unchanged' : 'configured';
}

/**
 * Whether an apply changed nothing. Even then the resourceVersion may be new, because a controller wrote the object in
 * between. Each entry in managedFields has the time of its writer's last change. When the entry of this program is
 * unchanged, and older than the entry of another writer, that other writer made the change.
 */
function isUntouched(before: JsonObject, after: JsonObject): boolean {
  if (before['resourceVersion'] === after['resourceVersion']) return true;
  const [own, others] = entriesIn(after);
  const isSame = own !== undefined && JSON.stringify(own) === JSON.stringify(entriesIn(before)[0]);
  return isSame && others.some(({ time }) => String(time) > String(own['time']));
}

/** The entry of this program in `metadata.managedFields`, and the entries of other writers. */
function entriesIn({
  managedFields,
}: JsonObject): readonly [own: JsonObject | undefined, others: readonly JsonObject[]] {
  const entries = Array.isArray(managedFields) ? managedFields.filter(isJsonObject) : [];
  const isOwn = ({ manager, operation }: JsonObject): boolean => manager === fieldManager && operation === 'Apply';
  return [entries.find(isOwn), entries.filter((entry) => !isOwn(entry))];
}

function metadataOf(object: JsonObject | undefined): JsonObject {
  return isJsonObject(object?.['metadata']) ? object['metadata'] : {};
}

/**
 * Why a cluster refused an object, as text. A conflict of server-side apply is described by the other field manager and
 * the field.
 */
function reasonOf(answer: ApiAnswer, manifest: Manifest): string {
  const conflicts = answer.status === 409 ? conflictsIn(answer.body) : [];
  if (conflicts.length === 0) return withoutSecrets(refusal(answer), manifest);
  return `conflict: ${conflicts.join('; ')}; --force-conflicts takes fields over`;
}

/**
 * Returns the conflicts of server-side apply that a `metav1.Status` lists, such as `"kubectl-edit" manages
 * .spec.replicas`.
 */
function conflictsIn(body: Buffer): readonly string[] {
  const causes = objectsAt(readStatus(body).details, 'causes');
  const fields = new Map<string, string[]>();
  for (const { reason, field, message } of causes) {
    if (reason !== 'FieldManagerConflict') continue;
    const manager = /conflicts? with "([^"]+)"/.exec(String(message))?.[1] ?? 'somebody else';
    fields.set(manager, [...(fields.get(manager) ?? []), String(field)]);
  }
  return [...fields].map(([manager, names]) => `"${manager}" manages ${names.join(', ')}`);
}
