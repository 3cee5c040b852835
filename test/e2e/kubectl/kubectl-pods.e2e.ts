// Every kubectl command that needs running pods, nodes or controllers behaves through the gateway as it does directly.
// carol is cluster-admin at the member, alice may edit team-a and read elsewhere. And Clusterpedia's one end-to-end
// test, whose pods need a controller.
// Landing tier: exec, attach, cp, logs and port-forward as directly at the cluster.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startControlPlane } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture-types.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { reviewRights } from '../index/index-objects.ts';
import type { Scenario } from './matrix-objects.ts';
import { attaching, copying, executing, logging, makePods, reaching, refusing } from './matrix-pods.ts';
import { nodes, workloads } from './matrix-workloads.ts';
import { eventually } from '../../site/polling.ts';
import { comparable, makeSide } from './sides.ts';
import type { ScenarioUser, Side } from './sides.ts';

const run = promisify(execFile);
const program = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
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
  test(`kubectl ${what} as ${person} is the same through the gateway as directly`, async (context) => {
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

/** Lines of a table without the columns named. */
function columnsBut(text: string, dropped: readonly string[]): readonly string[] {
  const [header = '', ...lines] = text.trimEnd().split('\n');
  const starts = [...header.matchAll(/\S+(?: \S+)*/g)].map(({ 0: name, index }) => ({ name, index }));
  const kept = (line: string): string =>
    starts
      .flatMap(({ name, index }, i) => (dropped.includes(name) ? [] : [line.slice(index, starts[i + 1]?.index).trim()]))
      .join('|');
  return [header, ...lines].map(kept);
}

test('a Deployment of ten replicas in each cluster is printed from the index, wide, as the cluster prints it (CP-165)', async () => {
  const generate = ['generate', 'member-access', '--index', '--gateway-service-account', 'portcullis/gateway'];
  const { stdout: access } = await run(process.execPath, [program, ...generate]);
  const container = { name: 'c', image: 'registry.example.org/c:1' };
  const labels = { app: 'ten' };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'ten', namespace: 'ten' },
    spec: {
      replicas: 10,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
  for (const member of plane.members) {
    assert.equal((await member.kubectl(['apply', '-f', '-'], { stdin: access })).code, 0);
    await member.apply(...reviewRights(gatewayUser), namespaceNamed('ten'), deployment);
  }
  const dropped = ['CLUSTER', 'AGE'];
  for (const member of plane.members) {
    const rolled = ['rollout', 'status', 'deployment/ten', '-n', 'ten', '--timeout=60s'];
    assert.equal((await member.kubectl(rolled)).code, 0);
    const server = `${gateway.url}/apis/clusterpedia.io/v1beta1/resources/clusters/${member.name}`;
    const flags = ['--server', server, '--certificate-authority', gateway.caFile, '--token', people.carol.token];
    await eventually(`${member.name} is indexed`, async () => {
      const own = await member.kubectl(['get', 'pods', '-n', 'ten', '-o', 'wide']);
      const { stdout } = await run(plane.binaries['kubectl']!, [...flags, 'get', 'pod', '-n', 'ten', '-o', 'wide'], {
        env: { PATH: process.env['PATH'], HOME: plane.dir },
      });
      assert.match(stdout, /^CLUSTER/);
      assert.equal(stdout.trimEnd().split('\n').length, 11);
      assert.deepEqual(columnsBut(stdout, dropped), columnsBut(own.stdout, dropped));
      return true;
    });
  }
});

function namespaceNamed(name: string): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}
