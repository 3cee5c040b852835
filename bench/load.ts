// Runs one process of the load generator (bench/load). The process reads a line of JSON, prints "ready" when it is
// connected, waits for the line "go" and prints a result. The CPU time of the measured program must be read between
// "ready" and "go", so that handshakes and warm-up are not counted.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** HTTP version between client and proxy. */
export type Protocol = 'h1' | 'h2';

/** HTTP headers as pairs of name and value; they are sent unchanged. */
export type HeaderPairs = readonly (readonly [name: string, value: string])[];

/** A group of connections that send the same request. The fields must match `group` in load/main.go. */
export interface LoadGroup {
  readonly name: string;
  readonly connections: number;
  readonly method: string;
  readonly path: string;
  readonly headers: HeaderPairs;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly expectStatus?: number;
  /**
   * True to add the latencies of this group to the field `pooled` of the result, which covers all groups that set this.
   */
  readonly pooled?: boolean;
  /**
   * True to upgrade each connection. Each request is then a small message on the upgraded connection that the server
   * sends back.
   */
  readonly echo?: boolean;
  /**
   * When set, every request opens a new connection: `handshake` does only the TLS handshake, `request` sends the
   * request too.
   */
  readonly fresh?: 'handshake' | 'request';
  /** When set, each connection sends these requests one after the other, in place of `path` and `headers`. */
  readonly variants?: readonly { readonly path: string; readonly headers: HeaderPairs }[];
}

/** The work of one process of the load generator. The fields must match `spec` in load/main.go. */
export interface LoadSpec {
  readonly mode: 'requests' | 'watch';
  readonly address: string;
  readonly caFile: string;
  readonly protocol: Protocol;
  readonly seconds?: number;
  readonly warmupSeconds?: number;
  readonly maxRequests?: number;
  /** When set, each connection reads at most this many megabytes per second. */
  readonly readMbPerSecond?: number;
  readonly streamsPerConnection?: number;
  /** For how many seconds the method `events` measures the events of open watches. */
  readonly eventSeconds?: number;
  /** True for HTTP/1.1 without TLS, for programs that have no TLS for clients. */
  readonly plain?: boolean;
  readonly groups: readonly LoadGroup[];
}

/** The result of one group of connections. Latencies are in milliseconds. */
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
  /** The result over all groups that set `pooled`; undefined when no group does. */
  readonly pooled?: GroupResult;
  readonly cpuSeconds: number;
  /** CPU time that the load generator used, as a share of all cores of the machine, from 0 to 1. */
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
 * The result over all watches while their events were measured. Latencies are in milliseconds, from the API server's
 * write of an event until the client has read its line.
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

/** A process of the load generator that is connected and warmed up. */
export interface Load<Result> {
  /** Starts the measurement; resolves with its result. For watches, it opens them and resolves when all are open. */
  readonly go: () => Promise<Result>;
  /** Measures the events of the open watches for `eventSeconds` seconds; resolves with the result. */
  readonly events: () => Promise<EventsResult>;
  /** Closes every connection and ends the process. May be called twice. */
  readonly close: () => Promise<void>;
}

/**
 * Starts the load generator; resolves when it is connected and warmed up.
 * @throws Error (rejects) with the generator's own message when it cannot connect
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
