// A webhook for audit events that does what a test says, and the kubeconfig that leads to it. One that "never answers"
// must take the connection and the request, since a closed port is another fault.
import { json } from 'node:stream/consumers';
import { newServer } from '../pretend/server.ts';
import { kubeconfigOf } from '../pretend/kubeconfig.ts';

/** The part of an event that tests look at. */
export interface AuditedEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly objectRef?: { readonly name?: string; readonly resource?: string };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One batch as it came. */
export interface ReceivedBatch {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly kind: string;
  readonly apiVersion: string;
  readonly items: readonly AuditedEvent[];
}

/** A running webhook. */
export interface TestWebhook {
  /** What it answers: a status, or nothing at all. */
  behaviour: number | 'silent';
  /** Batches that were answered 200. */
  readonly taken: ReceivedBatch[];
  /** Batches that came, whatever was answered. */
  readonly received: ReceivedBatch[];
  /** Events of all batches that were taken. */
  events(): readonly AuditedEvent[];
  readonly port: number;
  close(): Promise<void>;
}

/** @param tls PEM of a certificate for 127.0.0.1; none serves plain HTTP */
export async function startWebhook(tls?: { readonly cert: string; readonly key: string }): Promise<TestWebhook> {
  const server = await newServer(async (request, response) => {
    const list = (await json(request)) as Omit<ReceivedBatch, 'path' | 'authorization'>;
    const batch = { ...list, path: request.url ?? '', authorization: request.headers.authorization };
    webhook.received.push(batch);
    if (webhook.behaviour === 'silent') return;
    if (webhook.behaviour === 200) webhook.taken.push(batch);
    response.writeHead(webhook.behaviour).end();
  }, tls);
  const webhook: TestWebhook = {
    behaviour: 200,
    taken: [],
    received: [],
    events: () => webhook.taken.flatMap(({ items }) => items),
    port: server.port,
    close: server.close,
  };
  return webhook;
}

/** A kubeconfig with one context. */
export function webhookKubeconfig(server: string, cluster: object = {}, user: object = {}): string {
  return JSON.stringify(kubeconfigOf({ server, ...cluster }, user));
}
