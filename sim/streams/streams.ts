// The handlers for logs, exec, attach and port-forward of one simulated API server. They share the simulated
// containers, so that a later exec sees the files that `kubectl cp` has written.
import type { StreamHooks } from './stream-hooks.ts';
import type { KubeObject } from '../model/types.ts';
import { createClock, type Clock } from './clock.ts';
import { createContainers } from './shell/containers.ts';
import { serveLog } from './log.ts';
import { serveUpgrade } from './upgrade.ts';

/** The options of the handlers, all with defaults. */
export interface StreamOptions {
  readonly clock?: Clock;
  /** Average time between two log lines of a container, in milliseconds. Default 2 s. */
  readonly logPeriodMs?: number;
  /** Called when the command of a container to which a client was attached (`kubectl run -it`) has ended. */
  readonly onContainerExit?: (pod: KubeObject, container: string, exitCode: number) => void;
}

/** Makes the handlers of one simulated API server. */
export function createStreams(options: StreamOptions = {}): StreamHooks {
  const clock = options.clock ?? createClock();
  const logPeriodMs = options.logPeriodMs ?? 2_000;
  const containers = createContainers();
  return {
    serveLog: (request) => void serveLog(request, { clock, periodMs: logPeriodMs }).catch(() => request.end()),
    serveUpgrade: (request) => serveUpgrade(request, { ...options, containers, clock, logPeriodMs }),
  };
}
