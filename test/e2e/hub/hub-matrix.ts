// The kubectl matrix by one way through a hub's gateway, compared command by command with the same user straight at a
// member in the same state. The direct side must be the very identity that the hub knows, uid and groups included.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { reading, watching, writing } from '../kubectl/matrix-objects.ts';
import type { Scenario } from '../kubectl/matrix-objects.ts';
import { attaching, copying, executing, logging, makePods, reaching, refusing } from '../kubectl/matrix-pods.ts';
import { nodes, workloads } from '../kubectl/matrix-workloads.ts';
import { comparable, makeSide } from '../kubectl/sides.ts';
import type { Endpoint, ScenarioUser, Side } from '../kubectl/sides.ts';

type Person = 'alice' | 'carol';

/** How a person of the hub gets to the member `m2`. */
export interface Way {
  readonly user: ScenarioUser;
  readonly endpoint: Endpoint;
}

const namespaces = { alice: 'team-a', carol: 'matrix' } as const;

/** What the matrix needs of a hub with the members `m1` and `m2`. */
export type MatrixSite = Pick<HubSite, 'plane' | 'hub' | 'gateway' | 'stop'>;

const everything = { members: ['m1', 'm2'], controllerManager: true, kwok: true, kubelet: true } as const;

/**
 * Defines the tests of one way.
 * @param start starts the hub, members and gateway
 */
export function matrixThrough(
  title: string,
  wayOf: (site: MatrixSite, person: Person) => Promise<Way>,
  start: (options: typeof everything) => Promise<MatrixSite> = startHubSite,
): void {
  let site: MatrixSite;
  const sides = new Map<Person, readonly [direct: Side, through: Side]>();

  before(async () => {
    site = await start(everything);
    const { plane } = site;
    for (const person of ['alice', 'carol'] as const) {
      const { user, endpoint } = await wayOf(site, person);
      const folder = join(plane.dir, `matrix-${person}`);
      mkdirSync(folder);
      const kubectl = plane.binaries['kubectl']!;
      sides.set(person, [
        makeSide('direct', kubectl, plane.member('m1'), user, folder, undefined),
        makeSide('gateway', kubectl, plane.member('m2'), user, folder, endpoint),
      ]);
    }
  });

  after(async () => {
    for (const side of [...sides.values()].flat()) side.end();
    await site?.stop();
  });

  // The scenarios without pods come first: they make and delete the namespace, and its events are theirs alone.
  let prepared: Promise<unknown> | undefined;
  const preparePods = (): Promise<unknown> =>
    Promise.all(
      sides.get('carol')!.map(async (side) => {
        await side.member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'matrix' } });
        const account = ['wait', '-n', 'matrix', '--for=create', 'serviceaccount/default', '--timeout=30s'];
        assert.equal((await side.member.kubectl(account)).code, 0);
        for (const namespace of ['matrix', 'team-a']) await makePods(side, namespace);
      }),
    );

  const same = (person: Person, what: string, make: () => Scenario, needsPods = true): void => {
    test(`kubectl ${what} as ${person} is the same ${title} as directly`, async (context) => {
      const [direct, through] = sides.get(person)!;
      if (needsPods) await (prepared ??= preparePods());
      const scenario = make();
      for (const side of [direct, through]) side.outcomes.length = 0;
      // Both to their end: a scenario still under way would disturb the next one.
      for (const result of await Promise.allSettled([scenario(direct), scenario(through)])) {
        if (result.status === 'rejected') throw result.reason;
      }
      assert.equal(through.outcomes.length, direct.outcomes.length);
      assert.ok(direct.outcomes.length > 0);
      for (const [index, expected] of direct.outcomes.entries()) {
        await context.test(expected.command, () => {
          assert.deepEqual(comparable(through, through.outcomes[index]!), comparable(direct, expected));
        });
      }
    });
  };

  for (const [name, scenario] of Object.entries({ reading, writing, watching })) {
    same('carol', name, () => scenario, false);
  }
  for (const person of ['carol', 'alice'] as const) {
    const options = (): { namespace: string; kubectl: string } => ({
      namespace: namespaces[person],
      kubectl: site.plane.binaries['kubectl']!,
    });
    same(person, 'logs', () => logging(options()));
    same(person, 'exec', () => executing(options()));
    same(person, 'attach and debug', () => attaching(options()));
    same(person, 'cp and run', () => copying(options()));
    same(person, 'port-forward and proxy', () => reaching(options()));
    same(person, 'rollout, wait, watch, expose, autoscale and events', () => workloads(options().namespace));
  }
  same('carol', 'taint, cordon, drain and delete', () => nodes('matrix'));
  same('alice', 'without rights', () => refusing({ namespace: 'matrix', kubectl: site.plane.binaries['kubectl']! }));
}
