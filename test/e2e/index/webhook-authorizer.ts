// An authorizer of a kube-apiserver beside RBAC, of which no object of the cluster tells.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** What a kube-apiserver asks its webhook, as far as the tests look at it. */
export interface ReviewSpec {
  readonly user?: string;
  readonly resourceAttributes?: { readonly resource?: string; readonly verb?: string; readonly namespace?: string };
}

export interface WebhookAuthorizer {
  /** Flags of a kube-apiserver that asks it, too. */
  readonly apiserverArgs: string[];
  close(): void;
}

/**
 * Starts it.
 * @param folder where its configuration file is written
 * @param allows has no opinion where it says false
 */
export async function startWebhookAuthorizer(
  folder: string,
  allows: (spec: ReviewSpec) => boolean,
): Promise<WebhookAuthorizer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { apiVersion, kind, spec } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Review;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ apiVersion, kind, status: { allowed: allows(spec) } }));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const file = join(folder, 'webhook.kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'webhook', cluster: { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } }],
    users: [{ name: 'apiserver', user: {} }],
    contexts: [{ name: 'webhook', context: { cluster: 'webhook', user: 'apiserver' } }],
    'current-context': 'webhook',
  };
  writeFileSync(file, JSON.stringify(config));
  return {
    // A second mode adds to the fixture's RBAC.
    apiserverArgs: [
      '--authorization-mode=Webhook',
      `--authorization-webhook-config-file=${file}`,
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-authorized-ttl=1s',
      '--authorization-webhook-cache-unauthorized-ttl=1s',
    ],
    close: () => void server.close(),
  };
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: ReviewSpec;
}
