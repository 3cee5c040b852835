// Sends the requests of `apply`, `delete` and `works diff` to one cluster through the gateway, over a few connections
// that stay open. Each has a timeout, and failed ones are sent again. Every request here may be sent twice without
// harm: reads, server-side apply, and deletes that name the UID of the object.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../connection/gateway-connection.ts';
import { statusMessage } from '../../connection/explain.ts';
import { clusterServer } from '../../connection/gateway-url.ts';
import { keepingAgent, open, send } from '../../connection/http.ts';
import type { JsonObject } from '../../../lib/objects/json-object.ts';
import { UnusableName } from '../../../kube/paths.ts';
import type { Call } from '../../connection/http.ts';
import type { ApiAnswer } from '../../../kube/types.ts';
import type { Failure } from '../../terminal/failure.ts';
import { parseExact } from '../../../lib/json/exact-json.ts';

/** An error in one cluster. Its message is shown to the person who runs the command. */
export class Failed extends Error {}

/** The cluster or the gateway gave no usable answer, so nothing is known about the state of the requested object. */
export class Unreachable extends Failed {
  /** The server's `Retry-After` in milliseconds; 0 when it sent none. */
  readonly retryAfterMs: number;
  constructor(message: string, options: ErrorOptions & Pick<ApiAnswer, 'retryAfterMs'> = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

/** A client for one cluster, for the commands that work on many clusters. */
export interface MemberClient {
  /**
   * Sends a request, up to six times while the cluster cannot be reached or says that it is busy.
   * @throws Unreachable (rejects) when every attempt failed, or when the run is being stopped
   */
  ask(call: Call): Promise<ApiAnswer>;
  /**
   * Opens a watch and yields its events, until the server ends the watch or the signal is aborted.
   * @throws Unreachable when the watch is refused or breaks off
   */
  events(path: string, signal: AbortSignal): AsyncIterable<JsonObject>;
  close(): void;
}

/** Timeout and pauses of requests to one cluster. */
export interface ClientLimits {
  /** Timeout of one request in milliseconds. */
  readonly timeoutMs: number;
  /** Milliseconds of pause before the second attempt; the pause doubles before each further attempt. */
  readonly firstPauseMs: number;
}

/** The timeouts that the commands use; tests use shorter ones. */
export const clientLimits: ClientLimits = { timeoutMs: 30_000, firstPauseMs: 500 };

/**
 * How often a request is sent at most. All attempts and pauses together take longer than the time for which the gateway
 * refuses requests to a cluster that failed before, so a cluster that recovers is reached.
 */
const tries = 6;
/** Milliseconds after which no further attempt of a request begins, so that a cluster that never answers fails soon. */
const longestTryingMs = 45_000;
/** Longest pause in milliseconds before a next attempt; a longer Retry-After of a server is cut to this. */
const longestPauseMs = 10_000;
const maxBytes = 64 * 1024 * 1024;
/** Maximum number of concurrent requests to one cluster. */
const connections = 8;

/**
 * Makes a client for one cluster behind the gateway.
 * @param stopping when aborted, no further attempt of a request begins
 */
export function makeMemberClient(
  gateway: Connection,
  cluster: string,
  stopping: AbortSignal,
  limits: ClientLimits = clientLimits,
): MemberClient {
  const connection = { ...gateway, root: clusterServer(gateway.root, cluster) };
  const agent = keepingAgent(connection, connections);
  const once = async (call: Call): Promise<ApiAnswer | Unreachable> => {
    try {
      const answer = await send(connection, call, { timeoutMs: limits.timeoutMs, maxBytes }, agent);
      const { retryAfterMs } = answer;
      return isBusy(answer) ? new Unreachable(refusal(answer), { retryAfterMs }) : answer;
    } catch (error) {
      const { message } = error as Failure;
      return new Unreachable(message.replaceAll(connection.root, 'the cluster'), { cause: error });
    }
  };
  return {
    async ask(call) {
      const startedMs = performance.now();
      for (let tried = 1; ; tried++) {
        const result = await once(call);
        if (!(result instanceof Unreachable)) {
          // 401: the credential is no longer valid, so all further requests would fail too.
          if (result.status === 401) throw new Unreachable(refusal(result));
          return result;
        }
        const isLast = tried === tries || performance.now() - startedMs > longestTryingMs;
        if (isLast || stopping.aborted) throw result;
        await sleep(pauseMs(result, tried, limits), undefined, { signal: stopping }).catch(() => {
          throw result;
        });
      }
    },
    events: (path, signal) => watchEvents(connection, path, signal),
    close: () => agent.destroy(),
  };
}

/**
 * The message of an error in one cluster. Any other error than {@link Failed} comes from an answer that cannot be read;
 * such an answer must not end the work in other clusters.
 */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof Failed || error instanceof UnusableName ? message : `its answers make no sense: ${message}`;
}

/**
 * Whether a request should be sent again: 429 and 503 mean that a server is overloaded, 502 and 504 that the gateway
 * cannot reach the cluster.
 */
function isBusy({ status }: ApiAnswer): boolean {
  return status === 429 || (status >= 502 && status <= 504);
}

/** The message of a refusal with its status code: `not found (404)`. */
export function refusal({ status, body }: ApiAnswer): string {
  return `${statusMessage(body) ?? 'the cluster refused'} (${status})`;
}

function pauseMs({ retryAfterMs }: Unreachable, tried: number, { firstPauseMs }: ClientLimits): number {
  const own = firstPauseMs * 2 ** (tried - 1) * (0.75 + Math.random() / 2);
  return Math.min(longestPauseMs, Math.max(own, retryAfterMs));
}

async function* watchEvents(connection: Connection, path: string, signal: AbortSignal): AsyncIterable<JsonObject> {
  const { promise, resolve, reject } = Promise.withResolvers<NodeJS.ReadableStream>();
  const call = open(connection, { method: 'GET', path }, { signal }, (answer) => {
    if (answer.statusCode === 200) resolve(answer);
    else reject(new Unreachable(`the watch was refused (${answer.statusCode})`));
  });
  call.on('error', reject);
  call.end();
  try {
    let rest = '';
    for await (const chunk of (await promise).setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield parseExact(line) as JsonObject;
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof Unreachable ? error : new Unreachable('the watch broke off', { cause: error });
  } finally {
    call.destroy();
  }
}
