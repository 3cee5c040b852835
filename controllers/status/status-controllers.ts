// A controller that writes conditions into the status of the hub's objects of one kind, whenever one of the objects has
// changed or the state that the conditions describe.
import { isDeepStrictEqual } from 'node:util';
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { startReflector } from '../../kube/reflector/reflector.ts';
import type { ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import { conditionsOf, generationOf, withConditions, type Finding } from '../../kube/objects/conditions.ts';
import { makeObjectWriter } from '../../kube/objects/object-writer.ts';
import { isDeleting, type ResourceType } from '../../kube/objects/objects.ts';
import { makeQueue, type ControllerLog } from '../queue/logged-queue.ts';

/** One kind of objects whose status is written, and the conditions that the status gets. */
export interface StatusSubject {
  readonly kind: string;
  readonly resource: ResourceType;
  /** The conditions that an object should have now. */
  findings(object: ApiObject): readonly Finding[];
  /**
   * Calls the listener when the results of `findings` may have changed. Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
}

export interface StatusControllersOptions {
  readonly client: ApiClient;
  readonly log: ControllerLog;
  readonly subject: StatusSubject;
  readonly timing?: Partial<ReflectorTiming>;
}

const missingPollMs = 5_000;
/** Longest wait in milliseconds between attempts to list, so a newly granted right is noticed within this time. */
const maxBackoffMs = 5_000;
/**
 * Milliseconds to wait after a change before all objects are reconciled. Changes of the index come in bursts, and one
 * write of the status covers them all.
 */
const gatherMs = 500;

/** Starts the controller; the returned function stops it. */
export function startStatusControllers({ client, log, subject, timing }: StatusControllersOptions): () => void {
  const { kind, resource } = subject;
  const ended = new AbortController();
  const writer = makeObjectWriter(client, ended.signal);
  let gathering: NodeJS.Timeout | undefined;
  const objects = startReflector({
    client,
    resource,
    timing: { missingPollMs, maxBackoffMs, ...timing },
    onChange: (changes) => {
      for (const { object } of changes) queue.add(object.metadata.name);
    },
    onState: ({ fault }) => {
      if (fault !== undefined) log.warn({ fault: fault.message }, `${kind} objects of the hub cannot be read`);
    },
    onError: (error) => log.error({ err: error }, `an object of kind ${kind} could not be handled`),
  });
  const queue = makeQueue(kind, 'import', log, async (name) => {
    const object = objects.objects.get(name);
    if (object === undefined || isDeleting(object)) return 'done';
    const before = conditionsOf(object);
    const conditions = withConditions(before, subject.findings(object), generationOf(object));
    if (!isDeepStrictEqual(before, conditions))
      await writer.patch(resource, object, { status: { conditions } }, '/status');
    return 'done';
  });
  const unsubscribe = subject.onChange(() => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      for (const name of objects.objects.keys()) queue.add(name);
    }, gatherMs).unref();
  });
  return () => {
    ended.abort();
    unsubscribe();
    clearTimeout(gathering);
    queue.close();
    objects.close();
  };
}
