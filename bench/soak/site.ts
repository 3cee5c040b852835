// The setup of the soak test: one real API server with a kubelet, which the gateway knows as two clusters, one reached
// directly and one through a proxy that causes faults. The gateway counts as idle only when it has also closed the
// connections that it keeps for reuse. So the test waits for their idle timeout, which the time scale shortens.
import { join } from 'node:path';

import type { StreamServer } from '../../test/clients/stream-client.ts';
import { startControlPlane } from '../../test/controlplane/fixture.ts';
import type { Member } from '../../test/controlplane/fixture.ts';
import { gatewayUser } from '../../test/controlplane/fixture-types.ts';
import { sumMetric } from '../../test/controlplane/requests.ts';
import { clusterAt, replaceFile, writeContexts } from '../../test/e2e/kubectl/contexts.ts';
import type { TestContext } from '../../test/e2e/kubectl/contexts.ts';
import { boxPod } from '../../test/e2e/kubectl/pods.ts';
import { eventually } from '../../test/site/polling.ts';
import { startFaultProxy } from '../../test/faults/proxy.ts';
import type { FaultProxy } from '../../test/faults/proxy.ts';
import { startWitnessedGateway } from '../../test/faults/witnessed.ts';
import type { WitnessedGateway } from '../../test/faults/witnessed.ts';
import { tokenLine } from '../../test/gateway-process.ts';
import type { TestUser } from '../../test/gateway-process.ts';

const userCount = 20;
/**
 * Factor for the gateway's timeouts. With this one, idle connections are closed after half a minute. A smaller factor
 * would make connect and probe timeouts too short, because the machine is busy with the clients of the test.
 */
const timeScale = '0.5';

export interface SoakSite {
  readonly member: Member;
  readonly gateway: WitnessedGateway;
  readonly proxy: FaultProxy;
  /**
   * All users. Each request names its user in its query, so that the audit log shows whether the API server saw the
   * right one.
   */
  readonly users: readonly TestUser[];
  serverOf(user: TestUser): StreamServer;
  /**
   * Replaces one line of the gateway's token file, whose user sends no requests. The gateway reads the file again, but
   * all users that send requests stay the same.
   */
  rotateTokens(): void;
  /**
   * Writes the kubeconfig again with a changed label. The gateway replaces its cluster records but keeps its
   * connections.
   */
  rotateContexts(): void;
  /** Resolves when no request is open and no connection to the API server is kept. */
  idle(): Promise<void>;
  openStreams(): Promise<number>;
  /**
   * Returns, from the API server's audit log, the requests that the gateway sent as another user than the one named in
   * the query.
   */
  strangers(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function startSoakSite(): Promise<SoakSite> {
  const plane = await startControlPlane({ members: ['m1'], kubelet: true });
  const member = plane.member('m1');
  const proxy = await startFaultProxy(Number(new URL(member.url).port));
  const users = Array.from({ length: userCount }, (_, i): TestUser => {
    return { token: `soak-${i}-token`, name: `soak-${i}`, groups: ['soakers'] };
  });
  await member.apply(boxPod('box', 'default'), {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'soakers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'soakers' }],
  });
  const ready = await member.kubectl(['wait', '--for=condition=Ready', 'pod/box', '--timeout=60s']);
  if (ready.code !== 0) throw new Error(ready.stderr);
  const kubeconfig = join(plane.dir, 'soak.kubeconfig');
  let rotations = 0;
  const contexts = (): readonly TestContext[] =>
    [member.url, proxy.url].map((url, i) => ({
      name: i === 0 ? 'straight' : 'faulty',
      cluster: clusterAt(url, member.caPem) as TestContext['cluster'],
      user: { token: member.gatewayToken },
      labels: { rotation: String(rotations) },
    }));
  writeContexts(kubeconfig, contexts());
  const gateway = await startWitnessedGateway({
    kubeconfigs: [kubeconfig],
    users,
    env: { PORTCULLIS_TEST_TIME_SCALE: timeScale },
    config: { logLevel: 'error' },
  });
  const metric = async (name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> =>
    sumMetric(await (await fetch(`${gateway.opsUrl}/metrics`)).text(), name, labels);
  const openStreams = (): Promise<number> => metric('portcullis_longrunning_requests');
  const site: SoakSite = {
    member,
    gateway,
    proxy,
    users,
    serverOf: ({ token }) => ({
      url: gateway.url,
      caPem: gateway.caPem,
      headers: { authorization: `Bearer ${token}` },
    }),
    rotateTokens() {
      rotations++;
      const extra = { token: `rotated-${rotations}`, name: `rotated-${rotations}` };
      replaceFile(gateway.tokenFile, `${[...users, extra].map(tokenLine).join('\n')}\n`);
    },
    rotateContexts() {
      rotations++;
      writeContexts(kubeconfig, contexts());
    },
    async idle() {
      const states = ['http1-active', 'http2-sessions', 'http2-streams', 'pending', 'upgraded'];
      await eventually(
        'the gateway is idle',
        async () => {
          const held = await Promise.all(states.map((state) => metric('portcullis_upstream_connections', { state })));
          return held.every((count) => count === 0) && (await openStreams()) === 0;
        },
        { timeoutMs: 120_000, everyMs: 500 },
      );
      // Connections that are kept for short requests have an idle timeout of half a minute. The clients have closed
      // their own connections already.
      await new Promise((resolve) => setTimeout(resolve, 31_000));
    },
    openStreams,
    async strangers() {
      const found: string[] = [];
      for (const { user, impersonatedUser, requestURI } of await member.audit()) {
        const expected = /[?&]soak=([a-z0-9-]+)/.exec(requestURI)?.[1];
        if (user.username !== gatewayUser || expected === undefined) continue;
        if (impersonatedUser?.username !== expected) found.push(`${requestURI} as ${impersonatedUser?.username}`);
      }
      return found;
    },
    async stop() {
      await gateway.stop('SIGKILL');
      proxy.close();
      await plane.stop();
    },
  };
  for (const name of ['straight', 'faulty'])
    await eventually(
      `${name} is available`,
      async () =>
        (await metric('portcullis_cluster_condition', { cluster: name, type: 'Available', status: 'True' })) === 1,
    );
  return site;
}
