// A simulated API server for one test, with a small HTTPS client. The client keeps connections open, so the client is
// closed before the server.
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { loadKubernetesSpec } from './schema/spec.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from './server.ts';
import type { JsonObject } from './model/types.ts';

const spec = loadKubernetesSpec();

/** An answer whose body was read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The body, parsed as JSON. Throws when it is not JSON. */
  readonly json: any;
}

/** What a test sends: method, body, headers and token. */
export interface Ask {
  readonly method?: string;
  readonly body?: unknown;
  /** The headers by name. With a body, Content-Type defaults to application/json. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** The bearer token. Default: the administrator's token. '' sends none. */
  readonly token?: string;
}

/** A simulated API server and a client for it. */
export interface Bench {
  readonly sim: Simulator;
  /** Sends a request, by default as the administrator, and reads the whole answer. */
  ask(path: string, ask?: Ask): Promise<Answer>;
  /** Opens a watch at this path; the path must contain `watch=true`. */
  watch(path: string, ask?: Ask): Promise<WatchStream>;
}

/** A watch that a test reads event by event. */
export interface WatchStream {
  readonly headers: IncomingMessage['headers'];
  /** The next event; undefined when the watch has ended. */
  next(): Promise<JsonObject | undefined>;
  close(): void;
}

/** Starts a simulated API server that ends with the test. Controllers run only if `controllers` is given. */
export async function simulate(t: TestContext, options: SimulatorOptions = {}): Promise<Bench> {
  const sim = await startSimulator({ spec, controllers: false, ...options });
  const agent = new Agent({ keepAlive: true });
  t.after(async () => {
    agent.destroy();
    await sim.close();
  });
  const send = (
    path: string,
    { method = 'GET', body, headers = {}, token = sim.adminToken }: Ask = {},
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const text =
        body === undefined
          ? undefined
          : typeof body === 'string' || Buffer.isBuffer(body)
            ? body
            : JSON.stringify(body);
      const options: RequestOptions = {
        agent,
        host: '127.0.0.1',
        port: sim.port,
        path,
        method,
        ca: sim.caPem,
        headers: {
          ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
          ...(text === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
          ...headers,
        },
      };
      httpsRequest(options, resolve).on('error', reject).end(text);
    });
  return {
    sim,
    async ask(path, ask) {
      const answer = await send(path, ask);
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString('utf8');
      return {
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        text,
        get json() {
          return JSON.parse(text);
        },
      };
    },
    async watch(path, ask) {
      const answer = await send(path, ask);
      const lines = linesOf(answer);
      return {
        headers: answer.headers,
        async next() {
          const line = await lines.next();
          return line.done === true ? undefined : (JSON.parse(line.value) as JsonObject);
        },
        close: () => void answer.destroy(),
      };
    },
  };
}

async function* linesOf(stream: IncomingMessage): AsyncGenerator<string, undefined> {
  let rest = '';
  try {
    for await (const chunk of stream) {
      rest += (chunk as Buffer).toString('utf8');
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch {
    // Reading fails when the test has closed the watch; the watch then counts as ended.
  }
  return undefined;
}

/** A ConfigMap for a request body. */
export function configMap(
  name: string,
  data: Record<string, string> = { a: 'b' },
  labels?: Record<string, string>,
): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...(labels && { labels }) }, data };
}

/** A Pod for a request body. */
export function pod(name: string, more: JsonObject = {}): JsonObject {
  const containers = [{ name: 'c', image: 'nginx:1' }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec: { containers, ...more } };
}
