// An authorizer of a kube-apiserver beside RBAC, of which no object of the cluster tells.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { newServer, sendJson } from '../../pretend/server.ts';
import { kubeconfigOf } from '../../pretend/kubeconfig.ts';

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
  const server = await newServer(async (request, response) => {
    const { apiVersion, kind, spec } = (await json(request)) as Review;
    sendJson(response, 200, { apiVersion, kind, status: { allowed: allows(spec) } });
  });
  const file = join(folder, 'webhook.kubeconfig');
  writeFileSync(file, JSON.stringify(kubeconfigOf({ server: server.url })));
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
