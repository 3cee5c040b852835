// Drives one process of the load generator (bench/load): its protocol is a line of JSON in, "ready" out, "go" in, a
// result out. Read the target's CPU between ready and go, so that handshakes and warm-up are not counted.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Client protocol of a lane. */
export type Protocol = 'h1' | 'h2';

/** Flat pairs, sent as they are. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** Connections that send the same request; mirrors `group` in load/main.go. */
export interface LoadGroup {
  readonly name: string;
  readonly connections: number;
  readonly method: string;
  readonly path: string;
  readonly headers: HeaderPairs;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly expectStatus?: number;
  /** Its latencies are counted once more, together with those of every other such group. */
  readonly pooled?: boolean;
  /** Upgrades each connection; a request is then a small message there and back. */
  readonly echo?: boolean;
  /** Every request on a connection of its own: only its TLS handshake, or a request too. */
  readonly fresh?: 'handshake' | 'request';
  /** Sent in turn in place of path and headers. */
  readonly variants?: readonly { readonly path: string; readonly headers: HeaderPairs }[];
}

/** What one load process does; mirrors `spec` in load/main.go. */
export interface LoadSpec {
  readonly mode: 'requests' | 'watch';
  readonly address: string;
  readonly caFile: string;
  readonly protocol: Protocol;
  readonly seconds?: number;
  readonly warmupSeconds?: number;
  readonly maxRequests?: number;
  /** Every connection reads no faster than this. */
  readonly readMbPerSecond?: number;
  readonly streamsPerConnection?: number;
  /** How long the events of open watches are timed, once `events` is called. */
  readonly eventSeconds?: number;
  /** HTTP/1.1 without TLS. */
  readonly plain?: boolean;
  readonly groups: readonly LoadGroup[];
}

/** What one group saw; latencies in milliseconds. */
export interface GroupResult {
  readonly name: string;
  readonly requests: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly reconnects: number;
  readonly firstError?: string;
  readonly bytes: number;
  readonly bodyLength: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface RequestsResult {
  readonly event: 'result';
  readonly seconds: number;
  readonly groups: readonly GroupResult[];
  /** Over all requests of the pooled groups; absent without any. */
  readonly pooled?: GroupResult;
  readonly cpuSeconds: number;
  /** CPU of the generator as a part of all cores of the machine. */
  readonly cpuShare: number;
}

export interface WatchResult {
  readonly event: 'result';
  readonly open: number;
  readonly connections: number;
  readonly errors: number;
  readonly firstError?: string;
}

/**
 * What all watches together saw while their events were timed; from the member's write to our reading of the line,
 * milliseconds.
 */
export interface EventsResult {
  readonly event: 'events';
  readonly events: number;
  readonly eventsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly open: number;
  readonly errors: number;
  readonly firstError?: string;
  readonly seconds: number;
  readonly cpuShare: number;
}

/** A load process that is connected and warm. */
export interface Load<Result> {
  /** Starts the measured part and resolves with its result; for watches, when all are open. */
  readonly go: () => Promise<Result>;
  /** Times the events of watches that are open, for `eventSeconds`. */
  readonly events: () => Promise<EventsResult>;
  /** Closes every connection. Safe to call twice. */
  readonly close: () => Promise<void>;
}

/**
 * Starts the generator and resolves when it is warm.
 * @throws Error with the generator's own words when it cannot connect
 */
export async function openLoad(binary: string, spec: LoadSpec & { mode: 'requests' }): Promise<Load<RequestsResult>>;
export async function openLoad(binary: string, spec: LoadSpec & { mode: 'watch' }): Promise<Load<WatchResult>>;
export async function openLoad(binary: string, spec: LoadSpec): Promise<Load<unknown>> {
  const child = spawn(binary, [], { stdio: ['pipe', 'pipe', 'pipe'] });
  const words: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => words.push(text));
  child.stdin.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      words.push(error.message);
      resolve();
    });
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (event: string): Promise<unknown> => {
    const line = await lines.next();
    if (line.done === true) {
      await ended;
      throw new Error(`load generator against ${spec.address} (${spec.protocol}): ${words.join('').trim() || 'ended'}`);
    }
    const value: unknown = JSON.parse(line.value);
    if ((value as { event?: unknown }).event !== event)
      throw new Error(`load generator: expected ${event}: ${line.value}`);
    return value;
  };
  const close = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  child.stdin.write(`${JSON.stringify(spec)}\n`);
  await next('ready');
  return {
    go: async () => {
      child.stdin.write('go\n');
      return await next('result');
    },
    events: async () => {
      child.stdin.write('go\n');
      return (await next('events')) as EventsResult;
    },
    close,
  };
}
