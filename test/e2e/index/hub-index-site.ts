// A hub, members that its objects register, and a gateway with an index over them: what the tests of options and of
// collections start from. alice may read everything in the members. bob may ask the gateway the same, and has no rights
// in any member.
import assert from 'node:assert/strict';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import type { GatewayOptions } from '../../gateway-process.ts';
import { bindPerson } from '../../hub/objects.ts';
import { startHubSite, type HubSite } from '../../hub/site.ts';
import { eventually } from '../../site/polling.ts';
import { hubSide } from '../hub/hub-sides.ts';
import { ask, type RawAnswer } from '../kubectl/kubectl-as.ts';
import type { Side } from '../kubectl/sides.ts';
import { reviewRights } from './index-objects.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';

export const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
export const proxy = `${index}/proxy`;

export interface HubIndexSite {
  readonly site: HubSite;
  /** kubectl at the index, as somebody of the hub. */
  readonly alice: Side;
  readonly bob: Side;
  /** An answer of the gateway to alice, or to somebody else. */
  ask(path: string, who?: 'alice' | 'bob'): Promise<RawAnswer>;
  stop(): Promise<void>;
}

/** @param path where alice's and bob's kubectl goes on the gateway */
export async function startHubIndexSite(options: {
  readonly objects: (plane: ControlPlane) => readonly object[];
  readonly gateway: Partial<GatewayOptions>;
  readonly path: string;
}): Promise<HubIndexSite> {
  const search = [
    { apiGroups: ['search.portcullis.io'], resources: ['*'], verbs: ['*'] },
    { apiGroups: ['clusterpedia.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
  ];
  const site = await startHubSite({
    members: ['m1', 'm2'],
    groups: [],
    objects: (plane) => [
      ...['alice', 'bob'].flatMap((user) => grantedClusterRole(`test-search-${user}`, search, userSubject(user))),
      bindPerson('bob', 'portcullis-user'),
      ...options.objects(plane),
    ],
    gateway: options.gateway,
  });
  const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] }];
  for (const member of site.members) {
    await member.apply(
      ...grantedClusterRole('test-index', everything, userSubject('portcullis:index')),
      ...grantedClusterRole('test-alice', everything, userSubject('alice')),
      ...reviewRights(gatewayUser),
    );
  }
  const endpoint = { url: site.gateway.url, caFile: site.gateway.caFile, path: options.path };
  const [alice, bob] = [hubSide(site, 'alice', endpoint), hubSide(site, 'bob', endpoint)];
  return {
    site,
    alice,
    bob,
    ask: (path, who = 'alice') => ask(site.gateway, site.hub.users[who].token, 'GET', path),
    async stop() {
      for (const side of [alice, bob]) side.end();
      await site.stop();
    },
  };
}

/** Lines that kubectl prints for a person, sorted; none where it says that nothing was found. */
export async function lines(side: Side, ...args: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await side.run(args, { silent: true });
  assert.equal(code, 0, stderr);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .toSorted();
}

/** Waits until kubectl prints exactly these lines. */
export async function prints(side: Side, args: readonly string[], wanted: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  await eventually(
    `${args.join(' ')} prints ${wanted.join()}`,
    async () => {
      const { code, stdout } = await side.run(args, { silent: true });
      last =
        code === 0
          ? stdout
              .split('\n')
              .filter((line) => line !== '')
              .toSorted()
          : [`exit ${code}`];
      return last.join() === wanted.toSorted().join();
    },
    { timeoutMs: 60_000, everyMs: 250 },
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; it printed ${last.join()}`, { cause: error });
  });
}

/** Replaces annotations of a hub object; null removes one. */
export async function annotate(
  hub: Member,
  path: string,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  const merge = { 'content-type': 'application/merge-patch+json' };
  const { status, body } = await hub.request('PATCH', path, { metadata: { annotations } }, merge);
  assert.equal(status, 200, body);
}
