// A controller that writes conditions into the status of the hub's objects of one kind. It runs whenever an object
// changes, or the state that the conditions describe.
import { isDeepStrictEqual } from 'node:util';
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import type { ReflectorTiming } from '../../kube/reflector/reflector-types.ts';
import { conditionsOf, generationOf, withConditions, type Finding } from '../../kube/objects/conditions.ts';
import { isDeleting, type ResourceType } from '../../kube/objects/objects.ts';
import { Controller } from '../controller.ts';
import type { ControllerLog } from '../queue/logged-queue.ts';

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

/**
 * Milliseconds to wait after a change before all objects are reconciled. Changes of the index come in bursts, and one
 * write of the status covers them all.
 */
const gatherMs = 500;

/** Starts the controller; the returned function stops it. */
export function startStatusControllers({ client, log, subject, timing }: StatusControllersOptions): () => void {
  const { kind, resource } = subject;
  const controller = new Controller({ client, log, what: 'import', timing });
  const { writer } = controller;
  let gathering: NodeJS.Timeout | undefined;
  const objects = controller.follow(resource, { onEach: ({ object }) => queue.add(object.metadata.name) });
  const queue = controller.queue(kind, async (name) => {
    const object = objects.objects.get(name);
    if (object === undefined || isDeleting(object)) return 'done';
    const before = conditionsOf(object);
    const conditions = withConditions(before, subject.findings(object), generationOf(object));
    if (!isDeepStrictEqual(before, conditions)) await writer.patchStatus(resource, object, { conditions });
    return 'done';
  });
  controller.atClose(
    subject.onChange(() => {
      gathering ??= setTimeout(() => {
        gathering = undefined;
        for (const name of objects.objects.keys()) queue.add(name);
      }, gatherMs).unref();
    }),
  );
  controller.atClose(() => clearTimeout(gathering));
  return () => controller.close();
}
