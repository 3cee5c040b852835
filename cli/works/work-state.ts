// Summarizes the conditions of a ManifestWork in one word and one sentence. Security: messages come from clusters; the
// table that prints them makes control characters visible.
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import type { Work } from './hub-works.ts';

/**
 * The state of a ManifestWork; if several hold, the first in this list is shown. `Blocked`: the gateway cannot or must
 * not execute ManifestWorks in the cluster. `Waiting`: the present spec has not been executed yet.
 */
export type WorkState =
  | 'Deleting'
  | 'Blocked'
  | 'Waiting'
  | 'Failed'
  | 'Complete'
  | 'NotAvailable'
  | 'Degraded'
  | 'Progressing'
  | 'Ready';

/** One ManifestWork as `portcullis works list` shows it. */
export interface WorkSummary {
  readonly cluster: string;
  readonly name: string;
  readonly state: WorkState;
  /**
   * Status of the conditions Applied, Available, Progressing and Degraded: True, False or Unknown. A condition about an
   * earlier spec counts as Unknown.
   */
  readonly applied: string;
  readonly available: string;
  readonly progressing: string;
  readonly degraded: string;
  readonly generation: number;
  /** Creation time of the ManifestWork in RFC 3339; '' when unknown. */
  readonly created: string;
  readonly message: string;
}

interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

const ownPrefix = 'gateway.portcullis.io/';

export function summaryOf(work: Work): WorkSummary {
  const { namespace, name, generation = 0, creationTimestamp } = work.metadata;
  const statusOf = (type: string): string => currentCondition(work, type)?.status ?? 'Unknown';
  const [state, message] = stateOf(work);
  return {
    cluster: namespace,
    name,
    state,
    applied: statusOf('Applied'),
    available: statusOf('Available'),
    progressing: statusOf('Progressing'),
    degraded: statusOf('Degraded'),
    generation,
    created: typeof creationTimestamp === 'string' ? creationTimestamp : '',
    message,
  };
}

function stateOf(work: Work): readonly [WorkState, string] {
  const held = currentCondition(work, `${ownPrefix}PruneHeld`);
  const heldMessage = held?.status === 'True' ? held.message : '';
  const obstacle = ['Reached', 'Executed']
    .map((type) => anyCondition(work, `${ownPrefix}${type}`))
    .find((condition) => condition?.status === 'False');
  if (obstacle !== undefined) return [isDeleting(work) ? 'Deleting' : 'Blocked', obstacle.message];
  if (isDeleting(work)) return ['Deleting', 'objects of the work are being deleted'];
  const applied = currentCondition(work, 'Applied');
  if (applied === undefined) return ['Waiting', 'the present spec was not executed yet'];
  if (applied.status !== 'True') return ['Failed', failedManifest(work) ?? applied.message];
  if (currentCondition(work, 'Complete')?.status === 'True') return ['Complete', heldMessage];
  const available = currentCondition(work, 'Available');
  if (available?.status !== 'True')
    return ['NotAvailable', available?.message ?? 'nothing is known of its objects yet'];
  for (const type of ['Degraded', 'Progressing'] as const) {
    const condition = currentCondition(work, type);
    if (condition?.status === 'True') return [type, heldMessage === '' ? condition.message : heldMessage];
  }
  return ['Ready', heldMessage];
}

/**
 * The message about the first manifest that was not applied, after kind and name of its object; undefined when there is
 * no such manifest.
 */
function failedManifest({ status }: Work): string | undefined {
  const resources = recordAt(status, 'resourceStatus')['manifests'];
  for (const entry of Array.isArray(resources) ? resources.filter(isJsonObject) : []) {
    const applied = conditionsIn(entry).find(({ type }) => type === 'Applied');
    if (applied?.['status'] !== 'False') continue;
    const { kind, name } = recordAt(entry, 'resourceMeta');
    const message = String(applied['message'] ?? '').replace(/^Failed to apply manifest: /, '');
    return `${String(kind)}/${String(name)}: ${message}`;
  }
  return undefined;
}

function isDeleting({ metadata }: Work): boolean {
  return metadata['deletionTimestamp'] !== undefined;
}

/** Returns the condition of a type; undefined when there is none, or when it is about an earlier spec. */
function currentCondition(work: Work, type: string): Condition | undefined {
  const found = conditionsIn(work['status']).find((each) => each['type'] === type);
  const seen = found?.['observedGeneration'];
  return found === undefined || (seen !== undefined && seen !== work.metadata.generation) ? undefined : textsIn(found);
}

function anyCondition(work: Work, type: string): Condition | undefined {
  const found = conditionsIn(work['status']).find((each) => each['type'] === type);
  return found === undefined ? undefined : textsIn(found);
}

function textsIn({ status, reason, message }: JsonObject): Condition {
  return { status: String(status ?? ''), reason: String(reason ?? ''), message: String(message ?? '') };
}

function conditionsIn(holder: unknown): readonly JsonObject[] {
  const conditions = isJsonObject(holder) ? holder['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
}

function recordAt(value: unknown, field: string): JsonObject {
  const found = isJsonObject(value) ? value[field] : undefined;
  return isJsonObject(found) ? found : {};
}
