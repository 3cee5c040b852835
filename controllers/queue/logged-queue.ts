// Makes work queues whose failures are written to the log.
import { GatewayError } from '../../model/errors.ts';
import { HubRefusal, isConflict } from '../../kube/objects/object-writer.ts';
import { makeWorkQueue, type Outcome, type WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** The methods of the logger that controllers need. */
export interface ControllerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * Makes a queue whose keys are names of objects.
 * @param kind kind of these objects, as it appears in the log
 * @param what text with which the log messages begin, such as `import`
 */
export function makeQueue(
  kind: string,
  what: string,
  log: ControllerLog,
  reconcile: (name: string) => Promise<Outcome>,
  options: Partial<WorkQueueOptions> = {},
): WorkQueue {
  return makeWorkQueue({
    ...options,
    reconcile,
    onError(name, error) {
      // 409: somebody else changed the object at the same time. This is not logged, because the key is retried and then
      // reads the changed object.
      if (isConflict(error)) return;
      if (error instanceof HubRefusal || error instanceof GatewayError)
        log.warn({ kind, name, fault: error.message }, `${what}: a write to the hub failed and is tried again`);
      else log.error({ kind, name, err: error }, `${what}: an object could not be handled and is tried again`);
    },
  });
}
