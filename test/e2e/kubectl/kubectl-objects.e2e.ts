// Every kubectl command that needs no running pod behaves through the gateway as it does directly.
// Landing tier: kubectl, command by command as directly at the cluster.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { reading, watching, writing } from './matrix-objects.ts';
import { comparable, makeSide } from './sides.ts';
import type { ScenarioUser, Side } from './sides.ts';

const carol: ScenarioUser = {
  name: 'carol',
  uid: 'carol-uid',
  groups: ['matrix-admins'],
  token: 'carol-at-the-gateway',
};
let plane: ControlPlane;
let gateway: GatewayProcess;
let direct: Side;
let through: Side;

before(async () => {
  // Two members in the same state, one for each side, so that names and counts are equal.
  plane = await startControlPlane({ members: ['m1', 'm2'], controllerManager: true });
  gateway = await startGatewayProcess({ kubeconfigs: [plane.gatewayKubeconfig], users: [carol] });
  const kubectl = plane.binaries['kubectl']!;
  direct = makeSide('direct', kubectl, plane.member('m1'), carol, plane.dir, undefined);
  through = makeSide('gateway', kubectl, plane.member('m2'), carol, plane.dir, gateway);
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

for (const [name, scenario] of Object.entries({ reading, writing, watching })) {
  test(`kubectl ${name} is the same through the gateway as directly`, async (context) => {
    for (const side of [direct, through]) side.outcomes.length = 0;
    await Promise.all([scenario(direct), scenario(through)]);
    assert.equal(through.outcomes.length, direct.outcomes.length);
    for (let i = 0; i < direct.outcomes.length; i++) {
      const expected = direct.outcomes[i]!;
      await context.test(expected.command, () => {
        assert.deepEqual(comparable(through, through.outcomes[i]!), comparable(direct, expected));
      });
    }
  });
}
