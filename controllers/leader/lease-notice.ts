// While the Lease of a controller cannot be used, writes a condition into the objects of the controller that says so.
// There may be no leader then, so every replica writes the condition; all write the same text. Easy to get wrong:
// perhaps only this replica cannot use the Lease, and another replica leads. So an object gets the condition only after
// it has waited for a while, and not if a leader has handled it.
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { startReflector } from '../../kube/reflector/reflector.ts';
import { conditionsOf, findCondition, generationOf, withConditions } from '../../kube/objects/conditions.ts';
import { makeObjectWriter } from '../../kube/objects/object-writer.ts';
import { isDeleting, type ResourceType } from '../../kube/objects/objects.ts';

/** The objects that the leader would handle. */
export interface AwaitedObjects {
  readonly type: ResourceType;
  /** Type of the condition that the leader writes into each object that it has handled. */
  readonly condition: string;
  /**
   * Returns a filter for the objects that the controller is responsible for; by default these are all objects. `close`
   * of the result stops the watches that the filter needs.
   */
  readonly choose?: () => { isChosen(object: ApiObject): boolean; close(): void };
}

/** The reason of the condition that is written. */
export const leaseReason = 'LeaseUnavailable';

export interface LeaseNoticeOptions {
  readonly client: ApiClient;
  readonly awaited: AwaitedObjects;
  /** Message of the condition: why the Lease cannot be used. */
  readonly message: string;
  /** An object gets the condition after it has waited for between one and two times this many milliseconds. */
  readonly patienceMs: number;
  readonly onError: (error: unknown) => void;
}

/** Starts to watch the objects and to write the condition into those that wait. The returned function stops both. */
export function startLeaseNotice({ client, awaited, message, patienceMs, onError }: LeaseNoticeOptions): () => void {
  const { type, condition } = awaited;
  const ended = new AbortController();
  const writer = makeObjectWriter(client, ended.signal);
  const choice = awaited.choose?.();
  const objects = startReflector({ client, resource: type, onError });
  let waited = new Set<string>();
  const write = async (object: ApiObject): Promise<void> => {
    const finding = { type: condition, status: 'False', reason: leaseReason, message } as const;
    const conditions = withConditions(conditionsOf(object), [finding], generationOf(object));
    await writer.patchStatus(type, object, { conditions });
  };
  const look = (): void => {
    const waiting = [...objects.objects.values()].filter(
      (object) => isWaiting(object, condition, message) && choice?.isChosen(object) !== false,
    );
    for (const object of waiting.filter((each) => waited.has(keyOf(each))))
      write(object).catch((error: unknown) => {
        if (!ended.signal.aborted) onError(error);
      });
    waited = new Set(waiting.map(keyOf));
  };
  const timer = setInterval(look, patienceMs).unref();
  return () => {
    ended.abort();
    clearInterval(timer);
    objects.close();
    choice?.close();
  };
}

/**
 * Whether no leader has handled this generation of the object, and the object does not have the condition with this
 * message yet.
 */
function isWaiting(object: ApiObject, type: string, message: string): boolean {
  if (isDeleting(object)) return false;
  const found = findCondition(conditionsOf(object), type);
  if (found === undefined) return true;
  if (found.observedGeneration !== undefined && found.observedGeneration !== generationOf(object)) return true;
  return found.reason === leaseReason && found.message !== message;
}

function keyOf(object: ApiObject): string {
  return `${object.metadata.uid} ${generationOf(object)}`;
}
