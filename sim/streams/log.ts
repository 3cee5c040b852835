// Answers `pods/log`: applies PodLogOptions to the simulated log of a container, and sends new lines while following.
import { isTrue } from '../model/request-info.ts';
import type { LogRequest } from './stream-hooks.ts';
import type { KubeObject } from '../model/types.ts';
import type { Clock } from './clock.ts';
import { containerRun, keptLines, lineCount, lineTime, logLine, type ContainerRun, type LogLine } from './log-lines.ts';
import { scriptedOutput } from './scripted-log.ts';

/** The clock and the line rate of a simulated container log. */
export interface LogOptions {
  readonly clock: Clock;
  /** Average time between two lines, in milliseconds. Default 2 s. */
  readonly periodMs?: number;
}

/** The supported PodLogOptions (core/v1) of one request. `sinceMs` is in Unix milliseconds. */
interface Wanted {
  readonly isFollowing: boolean;
  readonly hasTimestamps: boolean;
  readonly tailLines: number;
  readonly sinceMs: number;
  readonly limitBytes: number;
}

const defaultPeriodMs = 2_000;

/** Why the log cannot be read, for a 400 answer; undefined when it can be read. */
export function logFault(pod: KubeObject, container: string, query: URLSearchParams): string | undefined {
  for (const name of ['tailLines', 'sinceSeconds', 'limitBytes']) {
    const text = query.get(name);
    if (text !== null && !/^\d+$/.test(text)) return `invalid ${name}: ${JSON.stringify(text)} is not a number`;
  }
  if (query.has('sinceTime') && Number.isNaN(Date.parse(query.get('sinceTime') ?? ''))) return 'invalid sinceTime';
  if (query.has('sinceTime') && query.has('sinceSeconds'))
    return 'at most one of `sinceTime` or `sinceSeconds` may be specified';
  const isPrevious = isTrue(query.get('previous'));
  if (isPrevious && containerRun(pod, container, true) === undefined) {
    return `previous terminated container "${container}" in pod "${pod.metadata.name}" not found`;
  }
  return undefined;
}

/** Writes the log. With `follow`, writes new lines until the client disconnects or `limitBytes` is reached. */
export async function serveLog(request: LogRequest, options: LogOptions): Promise<void> {
  const { pod, container, query } = request;
  const periodMs = options.periodMs ?? defaultPeriodMs;
  const wanted = readOptions(query, options.clock.now());
  const run = containerRun(pod, container, isTrue(query.get('previous')));
  if (run === undefined) {
    request.end();
    return;
  }
  let isGone = false;
  let stop = (): void => undefined;
  request.onClose(() => {
    isGone = true;
    stop();
  });
  const output = await scriptedOutput(pod, container);
  if (isGone) return;
  let leftBytes = wanted.limitBytes;
  const write = (line: LogLine): boolean => {
    const stamp = wanted.hasTimestamps ? `${new Date(line.atMs).toISOString().slice(0, 23)}000000Z ` : '';
    const bytes = Buffer.from(`${stamp}${line.text}\n`).subarray(0, leftBytes);
    leftBytes -= bytes.length;
    if (bytes.length > 0) request.write(bytes);
    return leftBytes > 0;
  };
  const count = output === undefined ? lineCount(run, options.clock.now(), periodMs) : output.length;
  // Every line of a command's output has the time of the container's start. Made-up lines have times spread over the
  // whole run.
  const lineAt = (index: number): LogLine =>
    output === undefined ? logLine(run, index, periodMs) : { atMs: run.startedAtMs, text: output[index] ?? '' };
  const timeAt = (index: number): number => (output === undefined ? lineTime(run, index, periodMs) : run.startedAtMs);
  for (let index = firstLine(count, wanted, timeAt); index < count; index++) if (!write(lineAt(index))) break;
  if (!wanted.isFollowing || run.finishedAtMs !== undefined || leftBytes <= 0) {
    request.end();
    return;
  }
  if (output !== undefined) return;
  stop = followLines(run, count, { ...options, periodMs }, (line) => {
    if (write(line)) return;
    stop();
    request.end();
  });
}

/**
 * Calls `onLine` for each new line of a run at the time of the line, beginning with line number `from`. Returns a
 * function after whose call no more lines come.
 */
export function followLines(
  run: ContainerRun,
  from: number,
  options: LogOptions,
  onLine: (line: LogLine) => void,
): () => void {
  const periodMs = options.periodMs ?? defaultPeriodMs;
  let index = from;
  let isStopped = false;
  let cancel = (): void => undefined;
  const schedule = (): void => {
    const delayMs = Math.max(0, lineTime(run, index, periodMs) - options.clock.now());
    cancel = options.clock.after(delayMs, () => {
      onLine(logLine(run, index, periodMs));
      index += 1;
      if (!isStopped) schedule();
    });
  };
  schedule();
  return () => {
    isStopped = true;
    cancel();
  };
}

function firstLine(count: number, wanted: Wanted, timeAt: (index: number) => number): number {
  let first = Math.max(0, count - keptLines);
  while (first < count && timeAt(first) < wanted.sinceMs) first += 1;
  return Math.max(first, count - wanted.tailLines);
}

function readOptions(query: URLSearchParams, nowMs: number): Wanted {
  const number = (name: string): number | undefined => (query.has(name) ? Number(query.get(name)) : undefined);
  const sinceSeconds = number('sinceSeconds');
  const sinceTime = query.get('sinceTime');
  return {
    isFollowing: isTrue(query.get('follow')),
    hasTimestamps: isTrue(query.get('timestamps')),
    tailLines: number('tailLines') ?? Infinity,
    sinceMs:
      sinceSeconds !== undefined ? nowMs - sinceSeconds * 1000 : sinceTime === null ? -Infinity : Date.parse(sinceTime),
    limitBytes: number('limitBytes') ?? Infinity,
  };
}
