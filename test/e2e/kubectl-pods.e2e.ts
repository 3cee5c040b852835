// Row A2, second half: every kubectl command that needs running pods, nodes or controllers behaves through the gateway as it does directly. carol
// is cluster-admin at the member, alice may edit team-a and read elsewhere.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startControlPlane } from '../controlplane/fixture.ts';
import type { ControlPlane } from '../controlplane/fixture.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import type { Scenario } from './matrix-objects.ts';
import { attaching, copying, executing, logging, makePods, reaching, refusing } from './matrix-pods.ts';
import { nodes, workloads } from './matrix-workloads.ts';
import { comparable, makeSide } from './sides.ts';
import type { ScenarioUser, Side } from './sides.ts';

const people: Readonly<Record<'alice' | 'carol', ScenarioUser>> = {
  alice: { name: 'alice', uid: 'alice-uid', groups: ['matrix-editors'], token: 'alice-at-the-gateway' },
  carol: { name: 'carol', uid: 'carol-uid', groups: ['matrix-admins'], token: 'carol-at-the-gateway' },
};
const namespaces = { alice: 'team-a', carol: 'matrix' } as const;

let plane: ControlPlane;
let gateway: GatewayProcess;
/** The same person on both ways to a cluster. */
const sides = new Map<string, readonly [direct: Side, through: Side]>();

before(async () => {
  // Two members in the same state, one for each side, so that names and counts are equal.
  plane = await startControlPlane({ members: ['m1', 'm2'], controllerManager: true, kwok: true, kubelet: true });
  gateway = await startGatewayProcess({ kubeconfigs: [plane.gatewayKubeconfig], users: Object.values(people) });
  const kubectl = plane.binaries['kubectl']!;
  for (const [name, user] of Object.entries(people)) {
    const folder = join(plane.dir, name);
    mkdirSync(folder);
    const direct = makeSide('direct', kubectl, plane.member('m1'), user, folder, undefined);
    sides.set(name, [direct, makeSide('gateway', kubectl, plane.member('m2'), user, folder, gateway)]);
  }
  const makeAll = async (side: Side): Promise<void> => {
    await side.member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'matrix' } });
    const account = ['wait', '-n', 'matrix', '--for=create', 'serviceaccount/default', '--timeout=30s'];
    assert.equal((await side.member.kubectl(account)).code, 0);
    for (const namespace of ['matrix', 'team-a']) await makePods(side, namespace);
  };
  await Promise.all(sides.get('carol')!.map(makeAll));
});

after(async () => {
  for (const side of [...sides.values()].flat()) side.end();
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

/** Runs the scenario on both ways at once and compares every command. */
function same(person: 'alice' | 'carol', what: string, make: () => Scenario): void {
  test(`A2: kubectl ${what} as ${person} is the same through the gateway as directly`, async (context) => {
    const [direct, through] = sides.get(person)!;
    const scenario = make();
    for (const side of [direct, through]) side.outcomes.length = 0;
    // Both to their end: a scenario still under way would disturb the next one.
    for (const result of await Promise.allSettled([scenario(direct), scenario(through)]))
      if (result.status === 'rejected') throw result.reason;
    assert.equal(through.outcomes.length, direct.outcomes.length);
    assert.ok(direct.outcomes.length > 0);
    for (const [index, expected] of direct.outcomes.entries()) {
      await context.test(expected.command, () => {
        assert.deepEqual(comparable(through, through.outcomes[index]!), comparable(direct, expected));
      });
    }
  });
}

for (const person of ['carol', 'alice'] as const) {
  const options = (): { namespace: string; kubectl: string } => ({
    namespace: namespaces[person],
    kubectl: plane.binaries['kubectl']!,
  });
  same(person, 'logs', () => logging(options()));
  same(person, 'exec', () => executing(options()));
  same(person, 'attach and debug', () => attaching(options()));
  same(person, 'cp and run', () => copying(options()));
  same(person, 'port-forward and proxy', () => reaching(options()));
  same(person, 'rollout, wait, watch, expose, autoscale and events', () => workloads(options().namespace));
}
same('carol', 'taint, cordon, drain and delete', () => nodes('matrix'));
same('alice', 'without rights', () => refusing({ namespace: 'matrix', kubectl: plane.binaries['kubectl']! }));
