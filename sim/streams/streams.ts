// The stream half of one simulator behind the hooks the server calls: logs, exec, attach, port-forward, with the
// containers they share. There is one instance for a simulator, so that the next exec sees what `kubectl cp` put in.
import type { StreamHooks } from './stream-hooks.ts';
import type { KubeObject } from '../types.ts';
import { createClock, type Clock } from './clock.ts';
import { createContainers } from './shell/containers.ts';
import { serveLog } from './log.ts';
import { serveUpgrade } from './upgrade.ts';

/** Settings; all have defaults. */
export interface StreamOptions {
  readonly clock?: Clock;
  /** Average time between two log lines of a container, default 2 s. */
  readonly logPeriodMs?: number;
  /** A container with an attached client (`kubectl run -it`) ended: the status of its pod changes. */
  readonly onContainerExit?: (pod: KubeObject, container: string, exitCode: number) => void;
}

/** Makes the hooks of one simulator. */
export function createStreams(options: StreamOptions = {}): StreamHooks {
  const clock = options.clock ?? createClock();
  const logPeriodMs = options.logPeriodMs ?? 2_000;
  const containers = createContainers({ now: clock.now });
  return {
    serveLog: (request) => void serveLog(request, { clock, periodMs: logPeriodMs }).catch(() => request.end()),
    serveUpgrade: (request) => serveUpgrade(request, { ...options, containers, clock, logPeriodMs }),
  };
}
