// A work queue whose failures go to the log, each in its own words.
import { GatewayError } from '../../cache/model/errors.ts';
import { HubRefusal, isConflict } from '../hub/hub-writer.ts';
import { makeWorkQueue, type Outcome, type WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** As much of a log as is written to. */
export interface ControllerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/**
 * @param kind of the objects whose names are the keys
 * @param what begins the messages, such as `import`
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
      // Somebody changed the object meanwhile: the next round reads it as it is now.
      if (isConflict(error)) return;
      if (error instanceof HubRefusal || error instanceof GatewayError)
        log.warn({ kind, name, fault: error.message }, `${what}: a write to the hub failed and is tried again`);
      else log.error({ kind, name, err: error }, `${what}: an object could not be handled and is tried again`);
    },
  });
}
