// Finds weaknesses between the gateway and its hub: in the settings, and in what the gateway's account may read on the
// hub. Nothing is written: a SelfSubjectAccessReview is sent by POST, but the hub only answers it and stores nothing.
import type { ApiClient } from '../../kube/types.ts';
import type { HubConfig } from '../../config/sections/hub-config.ts';
import type { CheckResult, Weakness } from './weakness.ts';

const timeoutMs = 10_000;

/** Finds settings about the hub that are weak. */
export function hubWeaknesses(hub: HubConfig): readonly Weakness[] {
  const found: Weakness[] = [];
  if (hub.allowExec.length > 0) {
    found.push({
      name: 'HubExecPlugins',
      severity: 'high',
      where: '--allow-exec',
      what: `whoever may write cluster Secrets in the hub has these run on the gateway, and what they answer sent to an address of their choice: ${hub.allowExec.join('; ')}`,
      fix: 'Remove the flag; store tokens or certificates in the Secrets.',
    });
  }
  if (hub.memberAddresses.allowed.length > 0) {
    found.push({
      name: 'LocalMemberAddresses',
      severity: 'medium',
      where: '--allow-member-addresses',
      what: "objects of the hub may send the gateway to addresses that are refused otherwise: its own machine's services, or a cloud's metadata",
      fix: 'Remove the flag, or name single addresses (docs/how-to/member-addresses.md).',
    });
  }
  if (hub.authorizeVerb === 'http') {
    found.push({
      name: 'HttpVerbs',
      severity: 'medium',
      where: '--authorize-verb',
      what: 'the hub is asked about HTTP methods: whoever may "get" may list and watch, too, and open a shell by WebSocket',
      fix: 'Use --authorize-verb=real (the default) and grant list, watch and create where they are meant.',
    });
  }
  if (hub.works?.acceptUnstamped === true) {
    found.push({
      name: 'UnstampedWorks',
      severity: 'high',
      where: '--works-accept-unstamped',
      what: 'whoever may write ManifestWorks can have them executed as accounts that they have no right to, wherever the admission policies did not ask',
      fix: 'Install charts/portcullis/files/works-*.yaml on a hub with Kubernetes 1.36 or newer, and remove the flag (docs/how-to/distribute.md#as-whom).',
    });
  }
  return found;
}

/**
 * Asks the hub whether the gateway's account may list all Secrets, or may do everything.
 * @throws GatewayError (rejects) HUB_UNAVAILABLE when the hub does not answer
 */
export async function askHub(client: Pick<ApiClient, 'request' | 'url'>): Promise<CheckResult> {
  const where = `hub ${client.url}`;
  const allowed: string[] = [];
  for (const [verb, group, resource] of [
    ['list', '', 'secrets'],
    ['*', '*', '*'],
  ] as const) {
    const answer = await client.request({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb, group, resource } },
      },
      timeoutMs,
    });
    if (answer.status !== 201)
      return { weaknesses: [], unread: [{ where, what: `does not tell the gateway its rights (${answer.status})` }] };
    const { status } = JSON.parse(answer.body.toString('utf8')) as { status?: { allowed?: boolean } };
    if (status?.allowed === true) allowed.push(resource);
  }
  if (allowed.includes('*')) {
    return {
      unread: [],
      weaknesses: [
        {
          name: 'OverprivilegedHubAccount',
          severity: 'high',
          where,
          what: "the gateway's account may do anything in the hub",
          fix: 'Run it as the ServiceAccount of the chart (charts/portcullis), which may read clusters and ask for reviews.',
        },
      ],
    };
  }
  if (allowed.length === 0) return { weaknesses: [], unread: [] };
  return {
    unread: [],
    weaknesses: [
      {
        name: 'ClusterWideSecrets',
        severity: 'medium',
        where,
        what: "the gateway's account may list the Secrets of every namespace of the hub; whoever takes the gateway has them all",
        fix: 'Name the namespaces with --secret-namespaces and bind the Role there (the chart does), and leave out --sources that are not used.',
      },
    ],
  };
}
