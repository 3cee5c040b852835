// Asks one cluster through the gateway, again and again over a few kept connections. Every request here may be repeated
// without harm: reads, server-side apply, and deletes that name the UID of what they delete.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../connection/gateway-connection.ts';
import { explainConnection, statusMessage } from '../../connection/explain.ts';
import { clusterServer } from '../../connection/gateway-url.ts';
import { keepingAgent, open, send } from '../../connection/http.ts';
import { isJsonObject } from '../../../lib/objects/json-object.ts';
import type { Answer, Question } from '../../connection/http.ts';
import type { JsonObject } from '../../../lib/objects/json-object.ts';
import { Failure } from '../../failure.ts';

/** Something went wrong in one cluster; the message says what. */
export class Failed extends Error {}

/** The cluster, or the gateway before it, did not give an answer that says anything about the object asked for. */
export class Unreachable extends Failed {}

/** One cluster, as the commands about many clusters ask it. */
export interface MemberClient {
  /**
   * Sends a request, up to six times while the cluster cannot be reached or says that it is busy.
   * @throws Unreachable (rejects) when that did not help, or when the run is being stopped
   */
  ask(question: Question): Promise<Answer>;
  /**
   * The events of a watch, until it ends by itself or the signal ends it.
   * @throws Unreachable when the watch is refused or breaks off
   */
  events(path: string, signal: AbortSignal): AsyncIterable<JsonObject>;
  close(): void;
}

/** What bounds the requests to one cluster. */
export interface ClientLimits {
  /** Milliseconds for one request. */
  readonly timeoutMs: number;
  /** Milliseconds before the second try; doubled for each further one. */
  readonly firstPauseMs: number;
}

/** Limits of the commands; tests use shorter ones. */
export const clientLimits: ClientLimits = { timeoutMs: 30_000, firstPauseMs: 500 };

/** With the pauses between them, longer than the gateway keeps requests from a cluster that failed. */
const tries = 6;
/** No further try is begun after this long, so that a cluster that never answers is given up soon. */
const longestTryingMs = 45_000;
/** Longest time that is waited because a server asked for it. */
const longestPauseMs = 10_000;
const maxBytes = 64 * 1024 * 1024;
/** Requests that run at the same time in one cluster. */
const connections = 8;

/** @param stopping when aborted, no further try is begun */
export function makeMemberClient(
  gateway: Connection,
  cluster: string,
  stopping: AbortSignal,
  limits: ClientLimits = clientLimits,
): MemberClient {
  const connection = { ...gateway, root: clusterServer(gateway.root, cluster) };
  const agent = keepingAgent(connection, connections);
  const once = async (question: Question): Promise<Answer | Unreachable> => {
    try {
      const answer = await send(connection, question, { timeoutMs: limits.timeoutMs, maxBytes }, agent);
      return isBusy(answer) ? new Unreachable(refusal(answer), { cause: answer }) : answer;
    } catch (error) {
      const failure = error instanceof Failure ? error : explainConnection(error, connection, limits.timeoutMs);
      return new Unreachable(failure.message.replaceAll(connection.root, 'the cluster'), { cause: error });
    }
  };
  return {
    async ask(question) {
      const startedMs = performance.now();
      for (let tried = 1; ; tried++) {
        const result = await once(question);
        if (!(result instanceof Unreachable)) {
          // The credential has ended, so that no object would be answered any more.
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
 * What an error says about a cluster. Any error counts for its cluster alone: answers that make no sense must not end
 * the work in others.
 */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof Failed ? message : `its answers make no sense: ${message}`;
}

/**
 * Whoever has too much to do says 429 or 503. A gateway that cannot reach the cluster says 502 or 504.
 */
function isBusy({ status }: Answer): boolean {
  return status === 429 || (status >= 502 && status <= 504);
}

/** What a server said, with its code: `not found (404)`. */
export function refusal({ status, body }: Answer): string {
  return `${statusMessage(body) ?? 'the cluster refused'} (${status})`;
}

function pauseMs({ cause }: Unreachable, tried: number, { firstPauseMs }: ClientLimits): number {
  const wantedS = isJsonObject(cause) && typeof cause['retryAfterS'] === 'number' ? cause['retryAfterS'] : 0;
  const own = firstPauseMs * 2 ** (tried - 1) * (0.75 + Math.random() / 2);
  return Math.min(longestPauseMs, Math.max(own, wantedS * 1000));
}

async function* watchEvents(connection: Connection, path: string, signal: AbortSignal): AsyncIterable<JsonObject> {
  const { promise, resolve, reject } = Promise.withResolvers<NodeJS.ReadableStream>();
  const call = open(
    connection,
    { method: 'GET', path, headers: { accept: 'application/json' } },
    { signal },
    (answer) => {
      if (answer.statusCode === 200) resolve(answer);
      else reject(new Unreachable(`the watch was refused (${answer.statusCode})`));
    },
  );
  call.on('error', reject);
  call.end();
  try {
    let rest = '';
    for await (const chunk of (await promise).setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as JsonObject;
    }
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof Unreachable ? error : new Unreachable('the watch broke off', { cause: error });
  } finally {
    call.destroy();
  }
}
