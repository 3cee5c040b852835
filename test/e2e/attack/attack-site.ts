// A real hub with its aggregator, a gateway behind it, and a raw member that records every byte: what attacks through
// the hub start from. The aggregator repairs and refuses things by itself, so a test must say what reached the member,
// and not only what the client was told.
import type { ClientHttp2Session } from 'node:http2';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../../site/http2-client.ts';
import { answerEcho, startMember } from '../../site/member.ts';
import type { Member as RawMember, MemberRequest } from '../../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import type { Endpoint, RawAnswer, RawClient } from '../../site/raw-client.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { clusterSecret } from '../../hub/objects.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite, HubSiteOptions } from '../../hub/site.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRoleBinding, groupSubject, userSubject } from '../../site/rbac.ts';

/** How a caller comes to the gateway. */
export type Way = 'direct' | 'hub';
export const ways: readonly Way[] = ['direct', 'hub'];

/** Credential of the gateway at the raw member. */
export const rawCredential = 'credential-at-the-raw-member';

export interface AttackSite {
  readonly site: HubSite;
  /** Registered on the hub as `raw`, and as `based` with the base path `/k8s/clusters/c-1`. */
  readonly raw: RawMember;
  /** Where a way begins. */
  endpoint(way: Way): Endpoint;
  /** What a request by that way shows the raw member of its caller: waits for nothing. */
  ask(way: Way, bytes: string | Buffer): Promise<RawAnswer>;
  /**
   * Sends header lines by HTTP/1.1, HTTP/2, and as WebSocket and SPDY upgrades, which the member refuses with 403;
   * statuses in that order.
   */
  everyTransport(way: Way, lines: readonly string[]): Promise<readonly number[]>;
  /** Takes what the raw member was asked since the last time. */
  taken(): readonly MemberRequest[];
  open(way: Way): Promise<RawClient>;
  stop(): Promise<void>;
}

/** Path of a cluster's API as both ways have it. */
export const rawPath = clusterPath('raw');
export const pods = `${rawPath}/api/v1/namespaces/default/pods`;
export const exec = `${pods}/web/exec?command=sh`;

/** Header line of a hub person's token. */
export function bearer({ hub }: HubSite, name: keyof Member['users'] = 'alice'): string {
  return `Authorization: Bearer ${hub.users[name].token}`;
}

/** Answers everything, and refuses upgrades. */
export function answerAll(request: MemberRequest): void {
  if (request.values('upgrade').length > 0) request.reply(403, ['Content-Type: text/plain'], 'no');
  else answerEcho(request);
}

/** Starts them; resolves when the hub serves both raw clusters. Group `attackers` of the hub may use every cluster. */
export async function startAttackSite(options: HubSiteOptions = {}): Promise<AttackSite> {
  const authority = await makeTestAuthority('raw member');
  const raw = await startMember(authority, answerAll);
  const site = await startHubSite(options).catch((error: unknown) => {
    raw.close();
    throw error;
  });
  const { hub, gateway } = site;
  const registered = (name: string, basePath: string): object =>
    clusterSecret({
      name,
      url: `https://127.0.0.1:${raw.port}${basePath}`,
      caPem: raw.ca,
      gatewayToken: rawCredential,
    } as Member);
  await hub.apply(
    registered('raw', ''),
    registered('based', '/k8s/clusters/c-1'),
    clusterRoleBinding('attackers', 'portcullis-user', groupSubject('attackers'), userSubject('carol')),
  );
  const endpoint = (way: Way): Endpoint =>
    way === 'hub'
      ? { port: Number(new URL(hub.url).port), ca: hub.caPem }
      : { port: gateway.port, ca: site.authority.certPem };
  const sessions = new Map<Way, ClientHttp2Session>();
  const session = async (way: Way): Promise<ClientHttp2Session> => {
    const open = sessions.get(way);
    if (open !== undefined && !open.destroyed && !open.closed) return open;
    const opened = await openHttp2(endpoint(way));
    sessions.set(way, opened);
    return opened;
  };
  const attack: AttackSite = {
    site,
    raw,
    endpoint,
    open: (way) => openRaw(endpoint(way)),
    ask: (way, bytes) => exchange(endpoint(way), bytes),
    async everyTransport(way, lines) {
      const flat = lines.flatMap((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
      });
      const answers = [
        await attack.ask(way, requestBytes(`GET ${pods}`, lines)),
        await http2Exchange(await session(way), http2Headers('GET', pods, flat)),
        await attack.ask(way, requestBytes(`GET ${exec}`, [...lines, ...upgradeLines('websocket')])),
        await attack.ask(way, requestBytes(`POST ${exec}`, [...lines, ...upgradeLines('SPDY/3.1')])),
      ];
      return answers.map(({ status }) => status);
    },
    taken: () => raw.requests.splice(0),
    async stop() {
      for (const each of sessions.values()) each.destroy();
      await site.stop();
      raw.close();
    },
  };
  try {
    for (const way of ways) {
      for (const cluster of ['raw', 'based']) {
        await eventually(`${cluster} is served (${way})`, async () => {
          const answer = await attack.ask(way, requestBytes(`GET ${clusterPath(cluster)}/version`, [bearer(site)]));
          return answer.status === 200;
        });
      }
    }
  } catch (error) {
    await attack.stop();
    throw new Error(`${String(error)}\n${gateway.log().slice(-2000)}`, { cause: error });
  }
  raw.requests.splice(0);
  return attack;
}

/** Whom the raw member took a request for. */
export function identityOf({ values }: MemberRequest): {
  readonly user: readonly string[];
  readonly groups: readonly string[];
} {
  return { user: values('impersonate-user'), groups: values('impersonate-group') };
}
