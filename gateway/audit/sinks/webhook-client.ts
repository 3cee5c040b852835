// Sends batches of audit events as kube-apiserver does: it posts an EventList to the URL in `server` of a kubeconfig. A
// call fails after a timeout when the webhook accepts the connection but never answers.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { readWebhookKubeconfig } from '../../../cache/hub/hub-connection.ts';
import type { HubConnection } from '../../../kube/client/connection.ts';
import { makeHubTransport } from '../../../kube/client/hub-transport.ts';
import type { HubTransport } from '../../../kube/client/hub-transport.ts';
import type { Credential } from '../../../model/records.ts';
import { WebhookRefusal } from './webhook.ts';

/** Sends events to one webhook. `send` rejects when the webhook did not accept them. */
export interface WebhookClient {
  send(lines: readonly string[], signal: AbortSignal): Promise<void>;
  close(): void;
}

/** How long one call of the webhook may take, as in kube-apiserver. After this time the call fails. */
const defaultTimeoutMs = 30_000;
/**
 * The first fields of every line of the audit log. They are cut out when the line becomes an item of an EventList,
 * because items must not have them.
 */
const typeMeta = '"kind":"Event","apiVersion":"audit.k8s.io/v1",';

/**
 * Reads the kubeconfig, and reads it again when the file changes. `onProblem` is called with a message when a changed
 * file cannot be used, and with undefined when the file can be used again.
 * @throws ConfigurationError (rejects) when the file cannot be used at the start
 */
export async function makeWebhookClient(
  file: string,
  onProblem: (problem: string | undefined) => void,
  timeoutMs: number = defaultTimeoutMs,
): Promise<WebhookClient> {
  const connection = await readWebhookKubeconfig(file, { onProblem });
  let transport: HubTransport | undefined;
  const agentFor = (certificate: Credential['clientCertificate']): HubTransport['short'] => {
    const access = connection.current();
    if (transport === undefined || !transport.serves(access, certificate)) {
      transport?.retire();
      transport = makeHubTransport(access, certificate);
    }
    return transport.short;
  };
  return {
    async send(lines, signal) {
      const credential = await connection.current().credential.current();
      const isTls = connection.current().endpoint.scheme === 'https';
      const options = requestOptions(connection, credential, eventList(lines));
      const agent = isTls ? { agent: agentFor(credential.clientCertificate) } : {};
      const { promise: timedOut, reject } = Promise.withResolvers<never>();
      const ending = new AbortController();
      const timer = setTimeout(() => {
        reject(new Error(`the audit webhook did not answer within ${timeoutMs / 1000} s`));
        ending.abort();
      }, timeoutMs).unref();
      try {
        const combined = AbortSignal.any([signal, ending.signal]);
        const answer = post(
          isTls ? httpsRequest : httpRequest,
          { ...options.head, ...agent, signal: combined },
          options.body,
        );
        const status = await Promise.race([answer, timedOut]);
        if (status === 401) connection.current().credential.invalidate();
        if (status < 200 || status > 299) throw new WebhookRefusal(status);
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      transport?.destroy();
      connection.close();
    },
  };
}

/** Turns lines of the audit log into the JSON of an audit.k8s.io/v1 EventList. */
export function eventList(lines: readonly string[]): Buffer {
  const items = lines.map((line) => (line.startsWith(typeMeta, 1) ? `{${line.slice(typeMeta.length + 1)}` : line));
  return Buffer.from(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items.join(',')}]}`);
}

function requestOptions(
  connection: HubConnection,
  { authorization }: Credential,
  body: Buffer,
): { readonly head: RequestOptions; readonly body: Buffer } {
  const { endpoint } = connection.current();
  const head = {
    method: 'POST',
    host: endpoint.host,
    port: endpoint.port,
    path: endpoint.basePath === '' ? '/' : endpoint.basePath,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      'user-agent': 'portcullis-audit',
      'content-length': String(body.length),
      ...(authorization === undefined ? {} : { authorization }),
    },
  };
  return { head, body };
}

/** Sends the body; resolves with the HTTP status when the whole answer has been read. */
function post(
  request: typeof httpsRequest | typeof httpRequest,
  options: RequestOptions,
  body: Buffer,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer: IncomingMessage) => {
      answer.on('error', reject);
      answer.on('end', () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
