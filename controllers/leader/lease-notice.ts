// Says in the objects of a controller that nothing is done about them, while the controller's Lease cannot be used.
// There is no leader then who could say it, so every replica does; all write the same. Easy to get wrong: only this
// replica may be unable to use the Lease, and another one lead. So nothing is written about an object before it has
// waited for a while, and nothing about one that a leader has looked at.
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { startReflector } from '../../kube/reflector/reflector.ts';
import { conditionsOf, findCondition, generationOf, withConditions } from '../../kube/objects/conditions.ts';
import { makeObjectWriter } from '../../kube/objects/object-writer.ts';
import { isDeleting, type ResourceType } from '../../kube/objects/objects.ts';

/** Objects that wait for the leader. */
export interface AwaitedObjects {
  readonly type: ResourceType;
  /** Type of a condition that the leader gives each object that it has looked at. */
  readonly condition: string;
  /**
   * Starts to find out which of the objects the controller is responsible for; by default it is for all of them.
   * `close` of the result ends that.
   */
  readonly choose?: () => { isChosen(object: ApiObject): boolean; close(): void };
}

/** The reason of the condition that is written. */
export const leaseReason = 'LeaseUnavailable';

export interface LeaseNoticeOptions {
  readonly client: ApiClient;
  readonly awaited: AwaitedObjects;
  /** What is written: why the Lease cannot be used. */
  readonly message: string;
  /** An object is written to when it has waited for this long, in milliseconds, and at most for twice this. */
  readonly patienceMs: number;
  readonly onError: (error: unknown) => void;
}

/** Begins to look after the objects. The function that it returns ends that. */
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
    const { resourceVersion } = object.metadata;
    await writer.patch(type, object, { metadata: { resourceVersion }, status: { conditions } }, '/status');
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

/** Whether no leader has looked at this generation of the object, and it does not say why yet. */
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
