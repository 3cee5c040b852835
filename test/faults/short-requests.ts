// Short requests at a rate, with what a Kubernetes client repeats by itself and nothing more. Go's transport repeats a
// GET only on a kept connection that was lost before the first byte of an answer, and a client repeats what was
// answered with Retry-After; anything else is a failure.
import { Agent, request as httpsRequest } from 'node:https';
import type { StreamServer } from '../clients/stream-client.ts';

/** What became of one request. */
export interface ShortRequest {
  readonly startedMs: number;
  readonly tookMs: number;
  /** Status, or what went wrong. */
  readonly outcome: number | string;
  readonly repeated: number;
}

export interface ShortRequests {
  stop(): Promise<readonly ShortRequest[]>;
}

interface Attempt {
  readonly outcome: number | string;
  readonly mayRepeat: boolean;
}

/** Starts them by the clock; `path` gets the request's number. */
export function startShortRequests(
  server: StreamServer,
  perSecond: number,
  path: (number: number) => string,
): ShortRequests {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, ca: server.caPem });
  const running: Promise<ShortRequest>[] = [];
  const firstMs = performance.now();
  const once = (target: string): Promise<Attempt> =>
    new Promise((resolve) => {
      let hasAnswer = false;
      const request = httpsRequest(server.url + target, { agent, headers: server.headers }, (response) => {
        hasAnswer = true;
        const { statusCode = 0, headers } = response;
        response.on('error', (error) => resolve({ outcome: `cut: ${error.message}`, mayRepeat: false }));
        response.on('end', () => resolve({ outcome: statusCode, mayRepeat: headers['retry-after'] !== undefined }));
        response.resume();
      });
      request.on('error', (error) => {
        if (!hasAnswer) resolve({ outcome: error.message, mayRepeat: request.reusedSocket });
      });
      request.end();
    });
  const ask = async (target: string): Promise<ShortRequest> => {
    const startedMs = performance.now();
    for (let repeated = 0; ; repeated++) {
      const { outcome, mayRepeat } = await once(target);
      if (!mayRepeat || repeated === 5) return { startedMs, tookMs: performance.now() - startedMs, outcome, repeated };
    }
  };
  const timer = setInterval(() => {
    const due = ((performance.now() - firstMs) / 1000) * perSecond;
    while (running.length < due) running.push(ask(path(running.length)));
  }, 5);
  return {
    async stop() {
      clearInterval(timer);
      const all = await Promise.all(running);
      agent.destroy();
      return all;
    },
  };
}
